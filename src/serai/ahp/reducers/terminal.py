"""The terminal channel's reducer."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from serai.ahp import actions as a
from serai.ahp.reducers.live import GrowingText, Handlers, LiveState
from serai.ahp.types import (
    Number,
    TerminalCommandPart,
    TerminalContentPart,
    TerminalState,
    TerminalUnclassifiedPart,
)

__all__ = ["LiveTerminal"]


class LiveTerminal(LiveState[TerminalState]):
    """A terminal's state, changed in place. Only the last part of its content grows."""

    __slots__ = ("_state", "_tail")

    handlers: ClassVar = Handlers()

    def __init__(self, state: TerminalState) -> None:
        self._state = replace(state, content=state.content.copy())
        # The text of the last part, once it has grown.
        self._tail: GrowingText | None = None

    @property
    def head(self) -> TerminalState:
        """The state but for output that is still growing: to look at, not to change or keep."""
        return self._state

    def snapshot(self) -> TerminalState:
        """The state as a value of its own."""
        content = self._state.content.copy()
        if self._tail is not None:
            content[-1] = _with_text(content[-1], str(self._tail))
        return replace(self._state, content=content)

    def _push(self, part: TerminalContentPart) -> None:
        self._settle()
        self._state.content.append(part)

    def _settle(self) -> None:
        if self._tail is not None:
            self._state.content[-1] = _with_text(self._state.content[-1], str(self._tail))
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

    @handlers.on(a.TerminalResizedAction)
    def _resized(self, action: a.TerminalResizedAction, _now: Number) -> None:
        self._state.cols = action.cols
        self._state.rows = action.rows

    @handlers.on(a.TerminalClaimedAction)
    def _claimed(self, action: a.TerminalClaimedAction, _now: Number) -> None:
        self._state.claim = action.claim

    @handlers.on(a.TerminalTitleChangedAction)
    def _title(self, action: a.TerminalTitleChangedAction, _now: Number) -> None:
        self._state.title = action.title

    @handlers.on(a.TerminalCwdChangedAction)
    def _cwd(self, action: a.TerminalCwdChangedAction, _now: Number) -> None:
        self._state.cwd = action.cwd

    @handlers.on(a.TerminalExitedAction)
    def _exited(self, action: a.TerminalExitedAction, _now: Number) -> None:
        self._state.exit_code = action.exit_code

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
    """The text that more data would go to, if the last part takes any."""
    match content[-1:]:
        case [TerminalCommandPart(is_complete=False, output=text) | TerminalUnclassifiedPart(value=text)]:
            return text
        case _:
            return None


def _with_text(part: TerminalContentPart, text: str) -> TerminalContentPart:
    match part:
        case TerminalCommandPart():
            return replace(part, output=text)
        case TerminalUnclassifiedPart():
            return replace(part, value=text)
        case _:
            return part
