"""The reducers of every channel but the session channel."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from serai.ahp import actions as a
from serai.ahp.reducers.live import GrowingText, Handlers, LiveState, SimpleLive, merged, placed, without
from serai.ahp.types import (
    ChangesetState,
    ChangesetStatus,
    Number,
    ResourceWatchState,
    RootState,
    TerminalCommandPart,
    TerminalContentPart,
    TerminalState,
    TerminalUnclassifiedPart,
)


class LiveRoot(SimpleLive[RootState]):
    """The root state, changed in place."""

    __slots__ = ()

    handlers: ClassVar = Handlers()
    handlers.puts(a.RootAgentsChangedAction, "agents")
    handlers.puts(a.RootActiveSessionsChangedAction, "active_sessions")
    handlers.puts(a.RootTerminalsChangedAction, "terminals")

    @handlers.on(a.RootConfigChangedAction)
    def _config(self, action: a.RootConfigChangedAction, _now: Number) -> None:
        if self._state.config is not None:
            self._state.config = merged(self._state.config, action)


class LiveChangeset(SimpleLive[ChangesetState]):
    """A changeset's state, changed in place."""

    __slots__ = ()

    handlers: ClassVar = Handlers()
    handlers.puts(a.ChangesetOperationsChangedAction, "operations")

    @handlers.on(a.ChangesetStatusChangedAction)
    def _status(self, action: a.ChangesetStatusChangedAction, _now: Number) -> None:
        self._state.status = action.status
        self._state.error = action.error if action.status == ChangesetStatus.ERROR else None

    @handlers.on(a.ChangesetFileSetAction)
    def _file_set(self, action: a.ChangesetFileSetAction, _now: Number) -> None:
        self._state.files = placed(self._state.files, action.file)

    @handlers.on(a.ChangesetFileRemovedAction)
    def _file_removed(self, action: a.ChangesetFileRemovedAction, _now: Number) -> None:
        self._state.files = without(self._state.files, action.file_id)

    @handlers.on(a.ChangesetClearedAction)
    def _cleared(self, _action: a.ChangesetClearedAction, _now: Number) -> None:
        self._state.files = []


class LiveResourceWatch(SimpleLive[ResourceWatchState]):
    """A watch's state. No action changes it."""

    __slots__ = ()

    handlers: ClassVar = Handlers()


class LiveTerminal(LiveState[TerminalState]):
    """A terminal's state, changed in place. Only the last part of its content grows."""

    __slots__ = ("_tail",)

    handlers: ClassVar = Handlers()
    handlers.puts(a.TerminalResizedAction, "cols", "rows")
    handlers.puts(a.TerminalClaimedAction, "claim")
    handlers.puts(a.TerminalTitleChangedAction, "title")
    handlers.puts(a.TerminalCwdChangedAction, "cwd")
    handlers.puts(a.TerminalExitedAction, "exit_code")

    def __init__(self, state: TerminalState) -> None:
        self._state = replace(state, content=state.content.copy())
        # The text of the last part, once it has grown.
        self._tail: GrowingText | None = None

    def snapshot(self) -> TerminalState:
        """Return the state as a separate value."""
        content = self._state.content.copy()
        if self._tail is not None:
            content[-1] = with_text(content[-1], str(self._tail))
        return replace(self._state, content=content)

    def _push(self, part: TerminalContentPart) -> None:
        self._settle()
        self._state.content.append(part)

    def _settle(self) -> None:
        if self._tail is not None:
            self._state.content[-1] = with_text(self._state.content[-1], str(self._tail))
            self._tail = None

    @handlers.on(a.TerminalDataAction)
    def _data(self, action: a.TerminalDataAction, _now: Number) -> None:
        if self._tail is None:
            text = _growing_text(self._state.content)
            if text is None:
                self._push(TerminalUnclassifiedPart(value=action.data))
                return
            self._tail = GrowingText(text)
        self._tail.append(action.data)

    @handlers.on(a.TerminalClearedAction)
    def _cleared(self, _action: a.TerminalClearedAction, _now: Number) -> None:
        self._state.content = []
        self._tail = None

    @handlers.on(a.TerminalCommandDetectionAvailableAction)
    def _detection(self, _action: a.TerminalCommandDetectionAvailableAction, _now: Number) -> None:
        self._state.supports_command_detection = True

    @handlers.on(a.TerminalCommandExecutedAction)
    def _command_executed(self, action: a.TerminalCommandExecutedAction, _now: Number) -> None:
        self._push(
            TerminalCommandPart(
                command_id=action.command_id,
                command_line=action.command_line,
                output="",
                timestamp=action.timestamp,
                is_complete=False,
            )
        )
        self._state.supports_command_detection = True

    @handlers.on(a.TerminalCommandFinishedAction)
    def _command_finished(self, action: a.TerminalCommandFinishedAction, _now: Number) -> None:
        self._settle()
        self._state.content = [
            replace(part, is_complete=True, exit_code=action.exit_code, duration_ms=action.duration_ms)
            if isinstance(part, TerminalCommandPart) and part.command_id == action.command_id
            else part
            for part in self._state.content
        ]


def _growing_text(content: list[TerminalContentPart]) -> str | None:
    """Return the text that more data is added to, if the last part takes any."""
    match content[-1:]:
        case [TerminalCommandPart(is_complete=False, output=text) | TerminalUnclassifiedPart(value=text)]:
            return text
        case _:
            return None


def with_text(part: TerminalContentPart, text: str) -> TerminalContentPart:
    """Return the part with another text. A part of an unknown kind stays as it is."""
    match part:
        case TerminalCommandPart():
            return replace(part, output=text)
        case TerminalUnclassifiedPart():
            return replace(part, value=text)
        case _:
            return part
