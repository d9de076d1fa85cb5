"""Combines the customisations of a session, and finds the smallest actions from one list to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace as with_fields
from typing import TypeAlias

from msgspec.structs import replace

from serai.ahp.actions import (
    SessionCustomizationRemovedAction,
    SessionCustomizationsChangedAction,
    SessionCustomizationUpdatedAction,
)
from serai.ahp.types import Customization
from serai.ahp.wire import Unknown
from serai.customizations.containers import Customizations

CustomizationAction: TypeAlias = (
    SessionCustomizationsChangedAction | SessionCustomizationUpdatedAction | SessionCustomizationRemovedAction
)


def combined(
    found: Customizations, published: Sequence[Customizations], toggles: Mapping[str, bool]
) -> Customizations:
    """Combine what was found with what is published, as people switched it. Of equal ids the first counts.

    What is switched off is not `enabled`, and what is not enabled is not `runnable`.

    Args:
        found: The customisations of the folder and the home.
        published: The plugins that the active client publishes, one container each.
        toggles: The choices of people, by container id. Unknown ids have no effect.
    """
    containers = _by_id(found.containers)
    definitions = list(found.definitions)
    for item in published:
        for container_id, container in _by_id(item.containers).items():
            if container_id not in containers:
                containers[container_id] = container
                definitions += item.definitions
    for container_id, wish in toggles.items():
        if (container := containers.get(container_id)) and not isinstance(container, Unknown):
            is_on = wish and container_id not in found.locked
            containers[container_id] = replace(container, enabled=is_on)
    on = {key for key, container in containers.items() if getattr(container, "enabled", False)}
    marked = (
        item if item.container in on else with_fields(item, enabled=False, runnable=False)
        for item in definitions
    )
    return Customizations(list(containers.values()), tuple(marked), found.locked)


def difference(
    before: Sequence[Customization] | None, after: Sequence[Customization]
) -> list[CustomizationAction]:
    """Return the actions that turn one list into the other: each change, or the whole if the order changes.

    Args:
        before: The list in the session's state; `None` when it has none yet.
        after: The wanted list, in this order.
    """
    if list(before or ()) == list(after):
        return []
    old, new = _by_id(before or ()), _by_id(after)
    kept = [container_id for container_id in old if container_id in new]
    added = [container_id for container_id in new if container_id not in old]
    is_whole = len(new) < len(after) or len(old) < len(before or ())  # ids are not unique, or unknown
    if before is None or is_whole or list(new) != kept + added:
        return [SessionCustomizationsChangedAction(customizations=list(after))]
    removed = [SessionCustomizationRemovedAction(id=each) for each in old if each not in new]
    changed = [each for each in new if new[each] != old.get(each)]
    return [*removed, *(SessionCustomizationUpdatedAction(customization=new[each]) for each in changed)]


def _by_id(containers: Sequence[Customization]) -> dict[str, Customization]:
    return {container.id: container for container in containers if not isinstance(container, Unknown)}
