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
from serai.ahp.reducers import customizations as reducer
from serai.ahp.types import Customization
from serai.ahp.wire import Unknown, encode

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
        locked: Containers that nobody can switch on; see `Found.locked`.
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
    """The actions that make one list into the other: what is shorter on the wire, each change or the whole.

    Args:
        before: What the session's state has; `None` when it has no list yet.
        after: What it is to have, in this order.
    """
    if before is not None and list(before) == list(after):
        return []
    whole: list[CustomizationAction] = [SessionCustomizationsChangedAction(customizations=list(after))]
    if before is None:
        return whole if after else []
    steps = _steps(before, after)
    if _applied(before, steps) != list(after):
        return whole  # the order is another one, or ids are not unique
    return steps if len(encode(steps)) < len(encode(whole)) else whole


def _steps(before: Sequence[Customization], after: Sequence[Customization]) -> list[CustomizationAction]:
    old = {container.id: container for container in before if not isinstance(container, Unknown)}
    kept = {container.id for container in after if not isinstance(container, Unknown)}
    steps: list[CustomizationAction] = [
        SessionCustomizationRemovedAction(id=container_id) for container_id in old if container_id not in kept
    ]
    for container in after:
        known = None if isinstance(container, Unknown) else old.get(container.id)
        if container != known:
            steps += _update(known, container)
    return steps


def _update(before: Customization | None, after: Customization) -> list[CustomizationAction]:
    """Take children away one by one when that is all that has changed and is shorter; else send all."""
    update: list[CustomizationAction] = [SessionCustomizationUpdatedAction(customization=after)]
    if before is None or isinstance(before, Unknown) or isinstance(after, Unknown):
        return update
    left = {child.id for child in after.children or [] if not isinstance(child, Unknown)}
    removed: list[CustomizationAction] = [
        SessionCustomizationRemovedAction(id=child.id)
        for child in before.children or []
        if not isinstance(child, Unknown) and child.id not in left
    ]
    if not removed or _applied([before], removed) != [after]:
        return update
    return removed if len(encode(removed)) < len(encode(update)) else update


def _applied(before: Sequence[Customization], steps: list[CustomizationAction]) -> list[Customization]:
    now = list(before)
    for step in steps:
        match step:
            case SessionCustomizationRemovedAction():
                now = reducer.remove(now, step.id)
            case SessionCustomizationUpdatedAction():
                now = reducer.update(now, step.customization)
            case SessionCustomizationsChangedAction():
                now = list(step.customizations)
    return now
