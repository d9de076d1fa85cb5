"""The reducers of the root, changeset and resource-watch channels: their parts are replaced, never grown."""

from __future__ import annotations

from typing import ClassVar

from serai.ahp import actions as a
from serai.ahp.reducers.live import Handlers, SimpleLive, merged
from serai.ahp.types import ChangesetState, ChangesetStatus, Number, ResourceWatchState, RootState

__all__ = ["LiveChangeset", "LiveResourceWatch", "LiveRoot"]


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


class LiveChangeset(SimpleLive[ChangesetState]):
    """A changeset's state, changed in place."""

    __slots__ = ()

    handlers: ClassVar = Handlers()

    @handlers.on(a.ChangesetStatusChangedAction)
    def _status(self, action: a.ChangesetStatusChangedAction, _now: Number) -> None:
        self._state.status = action.status
        self._state.error = action.error if action.status == ChangesetStatus.ERROR else None

    @handlers.on(a.ChangesetFileSetAction)
    def _file_set(self, action: a.ChangesetFileSetAction, _now: Number) -> None:
        files = self._state.files
        if any(file.id == action.file.id for file in files):
            self._state.files = [action.file if file.id == action.file.id else file for file in files]
        else:
            self._state.files = [*files, action.file]

    @handlers.on(a.ChangesetFileRemovedAction)
    def _file_removed(self, action: a.ChangesetFileRemovedAction, _now: Number) -> None:
        self._state.files = [file for file in self._state.files if file.id != action.file_id]

    @handlers.on(a.ChangesetOperationsChangedAction)
    def _operations(self, action: a.ChangesetOperationsChangedAction, _now: Number) -> None:
        self._state.operations = action.operations

    @handlers.on(a.ChangesetClearedAction)
    def _cleared(self, _action: a.ChangesetClearedAction, _now: Number) -> None:
        self._state.files = []


class LiveResourceWatch(SimpleLive[ResourceWatchState]):
    """A watch's state. No action changes it."""

    __slots__ = ()

    handlers: ClassVar = Handlers()
