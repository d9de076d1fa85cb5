"""Switches of a session, and the smallest actions from one list of customisations to another."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from serai.ahp.actions import (
    SessionCustomizationRemovedAction,
    SessionCustomizationsChangedAction,
    SessionCustomizationUpdatedAction,
)
from serai.ahp.types import Customization
from serai.ahp.wire import Unknown

__all__ = ["CustomizationAction", "difference", "with_toggles"]

CustomizationAction: TypeAlias = (
    SessionCustomizationsChangedAction | SessionCustomizationUpdatedAction | SessionCustomizationRemovedAction
)


def with_toggles(
    customizations: Sequence[Customization], toggles: Mapping[str, bool], locked: Collection[str] = ()
) -> list[Customization]:
    """The customisations as a session has switched them.

    Args:
        customizations: As they were found.
        toggles: What people chose, by the container's id. Ids that are not there count for nothing.
        locked: Containers that nobody can switch on; see `Customizations.locked`.
    """
    switched: list[Customization] = []
    for container in customizations:
        wish = None if isinstance(container, Unknown) else toggles.get(container.id)
        if isinstance(container, Unknown) or wish in {None, container.enabled}:
            switched.append(container)
        else:
            switched.append(replace(container, enabled=wish and container.id not in locked))
    return switched


def difference(
    before: Sequence[Customization] | None, after: Sequence[Customization]
) -> list[CustomizationAction]:
    """The actions that make one list into the other: each change, or the whole where its order changes.

    Args:
        before: What the session's state has; `None` when it has no list yet.
        after: What it is to have, in this order.
    """
    if list(before or ()) == list(after):
        return []
    old, new = _by_id(before or ()), _by_id(after)
    kept = [container_id for container_id in old if container_id in new]
    added = [container_id for container_id in new if container_id not in old]
    is_whole = len(new) < len(after) or len(old) < len(before or ())  # ids are not unique, or unknown
    if before is None or is_whole or list(new) != kept + added:
        return [SessionCustomizationsChangedAction(customizations=list(after))]
    gone = [container_id for container_id in old if container_id not in new]
    return [
        *(SessionCustomizationRemovedAction(id=container_id) for container_id in gone),
        *(
            SessionCustomizationUpdatedAction(customization=new[each])
            for each in new
            if new[each] != old.get(each)
        ),
    ]


def _by_id(containers: Sequence[Customization]) -> dict[str, Customization]:
    return {container.id: container for container in containers if not isinstance(container, Unknown)}
