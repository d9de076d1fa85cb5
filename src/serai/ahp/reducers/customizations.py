"""The tree of customisations: containers, and what is in them."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec.structs import replace

from serai.ahp.types import ChildCustomization, Customization
from serai.ahp.wire import Unknown, UnknownType

T = TypeVar("T", Customization, ChildCustomization)


def toggle(containers: list[Customization], container_id: str, *, enabled: bool) -> list[Customization]:
    """Switch a container on or off; children have no switch of their own."""
    position = _find(containers, container_id)
    if position is None:
        return containers
    return _replaced(containers, position, _with(containers[position], enabled=enabled))


def update(containers: list[Customization], container: Customization) -> list[Customization]:
    """Put a container where the one with its id is, or at the end."""
    container_id = _id(container)
    position = _find(containers, container_id) if container_id is not None else None
    return [*containers, container] if position is None else _replaced(containers, position, container)


def remove(containers: list[Customization], removed_id: str) -> list[Customization]:
    """Take out the container with that id; failing that, the child with that id of each container."""
    position = _find(containers, removed_id)
    if position is not None:
        return containers[:position] + containers[position + 1 :]
    return [_without_child(container, removed_id) for container in containers]


def _without_child(container: Customization, child_id: str) -> Customization:
    if isinstance(container, Unknown) or container.children is None:
        return container
    position = _find(container.children, child_id)
    if position is None:
        return container
    return replace(container, children=container.children[:position] + container.children[position + 1 :])


def _id(item: Customization | ChildCustomization) -> Any:
    return item.raw.get("id") if isinstance(item, Unknown) else item.id


def _find(items: list[T], item_id: Any) -> int | None:
    return next((position for position, item in enumerate(items) if _id(item) == item_id), None)


def _replaced(items: list[Customization], position: int, item: Customization) -> list[Customization]:
    return [*items[:position], item, *items[position + 1 :]]


def _with(container: Customization, *, enabled: bool) -> Customization:
    if isinstance(container, Unknown):
        return UnknownType(extra={**container.raw, "enabled": enabled})
    return replace(container, enabled=enabled)
