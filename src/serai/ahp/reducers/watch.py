"""The resource-watch channel's reducer: changes pass through, and the state stays what is watched."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from serai.ahp.reducers.live import Handlers, LiveState
from serai.ahp.types import ResourceWatchState

__all__ = ["LiveResourceWatch"]


class LiveResourceWatch(LiveState[ResourceWatchState]):
    """A watch's state. No action changes it."""

    __slots__ = ("_state",)

    handlers: ClassVar = Handlers()

    def __init__(self, state: ResourceWatchState) -> None:
        self._state = replace(state)

    def snapshot(self) -> ResourceWatchState:
        """The state as a value of its own."""
        return replace(self._state)
