"""The root channel's reducer."""

from __future__ import annotations

from typing import ClassVar

from serai.ahp import actions as a
from serai.ahp.reducers.config import merged
from serai.ahp.reducers.live import Handlers, SimpleLive
from serai.ahp.types import Number, RootState

__all__ = ["LiveRoot"]


class LiveRoot(SimpleLive[RootState]):
    """The root state, changed in place."""

    __slots__ = ()

    handlers: ClassVar = Handlers()

    @handlers.on(a.RootAgentsChangedAction)
    def _agents(self, action: a.RootAgentsChangedAction, _now: Number) -> None:
        self._state.agents = action.agents

    @handlers.on(a.RootActiveSessionsChangedAction)
    def _active_sessions(self, action: a.RootActiveSessionsChangedAction, _now: Number) -> None:
        self._state.active_sessions = action.active_sessions

    @handlers.on(a.RootTerminalsChangedAction)
    def _terminals(self, action: a.RootTerminalsChangedAction, _now: Number) -> None:
        self._state.terminals = action.terminals

    @handlers.on(a.RootConfigChangedAction)
    def _config(self, action: a.RootConfigChangedAction, _now: Number) -> None:
        if self._state.config is not None:
            self._state.config = merged(self._state.config, action)
