"""Settings, of a session or of the host."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from serai.ahp.actions import RootConfigChangedAction, SessionConfigChangedAction
from serai.ahp.types import RootConfigState, SessionConfigState

__all__ = ["merged"]

C = TypeVar("C", RootConfigState, SessionConfigState)


def merged(config: C, action: RootConfigChangedAction | SessionConfigChangedAction) -> C:
    """The settings after a change: the new values over the old ones, or instead of them."""
    values = action.config if action.replace else {**config.values, **action.config}
    return replace(config, values=values)
