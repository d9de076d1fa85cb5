"""Changes to the tree of customisations: containers and their children."""

from __future__ import annotations

from msgspec.structs import replace

from serai.ahp.reducers.live import find, placed, without
from serai.ahp.types import Customization
from serai.ahp.wire import Unknown, UnknownType


def toggle(containers: list[Customization], container_id: str, *, enabled: bool) -> list[Customization]:
    """Enable or disable a container. Children cannot be switched separately."""
    position = find(containers, container_id)
    return (
        containers if position is None else placed(containers, _with(containers[position], enabled=enabled))
    )


def remove(containers: list[Customization], removed_id: str) -> list[Customization]:
    """Remove the container with an id; if there is none, the child with that id in each container."""
    if find(containers, removed_id) is not None:
        return without(containers, removed_id)
    return [
        container
        if isinstance(container, Unknown) or find(container.children or (), removed_id) is None
        else replace(container, children=without(container.children, removed_id))
        for container in containers
    ]


def _with(container: Customization, *, enabled: bool) -> Customization:
    if isinstance(container, Unknown):
        return UnknownType(extra={**container.raw, "enabled": enabled})
    return replace(container, enabled=enabled)
