"""The resource-watch channel's reducer: changes pass through, and the state stays what is watched."""

from __future__ import annotations

from typing import ClassVar

from serai.ahp.reducers.live import Handlers, SimpleLive
from serai.ahp.types import ResourceWatchState

__all__ = ["LiveResourceWatch"]


class LiveResourceWatch(SimpleLive[ResourceWatchState]):
    """A watch's state. No action changes it."""

    __slots__ = ()

    handlers: ClassVar = Handlers()
