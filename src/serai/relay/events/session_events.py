"""The observable events of a session: a view of its AHP actions, the same for every harness.

    view = SessionEvents(session.live.snapshot())
    for event in view.happened(action, number, at): …

The session itself may be ahead of what is committed. So the view has a state of its own, to which it applies
the committed actions. An event follows from the state before an action and the state after it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from serai import contract as c
from serai.ahp import actions as a, types as t
from serai.ahp.extensions import SESSION_COST
from serai.ahp.reducers import LiveSession
from serai.changes.diff import unified
from serai.host.session.core import is_paused, status_of
from serai.store.contract import BlobRow


def status_events(
    status: c.AgentStatus, previous: c.AgentStatus | None, reason: str | None = None
) -> list[c.AgentSessionEvent]:
    """Return the events of one change of status: the general one, and the one named after the status."""
    kinds: Any = (c.StatusChanged, c.EVENT_TYPES.get(f"status.{status.value}"))
    return [kind(status=status, previous_status=previous, reason=reason) for kind in kinds if kind]


class SessionEvents:
    """The observable state of one session.

    Args:
        state: The state of the session. Its completed turns are not used.
        forked_from: The session of which this one is a fork.
    """

    def __init__(self, state: t.SessionState, *, forked_from: str | None = None) -> None:
        self._live = LiveSession(replace(state, turns=[]))
        self._forked_from = forked_from
        self._called: dict[str, datetime] = {}
        """The reported tool calls of the turn, with the time at which each began."""
        self._commands: dict[str, tuple[str, datetime]] = {}
        """The running commands with their start, by their terminal, or by the id of a detected command."""
        self._ended: set[str] = set()
        """The terminals whose command has ended."""

    @property
    def status(self) -> c.AgentStatus:
        """The session's status."""
        return status_of(self._live)

    def happened(
        self, action: a.StateAction, number: int, at: datetime, blobs: Iterable[BlobRow] = ()
    ) -> list[c.AgentSessionEvent]:
        """Return the events that an action of the session makes observable, the change of status last.

        Args:
            action: The committed action.
            number: Its number in the journal.
            at: The time of the commit.
            blobs: Content that was committed lately: files before and after an edit.
        """
        live, turn = self._live, self._live.turn
        before, was_paused = self.status, is_paused(live)
        calls: list[t.ToolCallBase] = []
        if turn is not None and isinstance(action, a.ToolCallActionBase):
            calls = _open(turn.calls(action.tool_call_id))
        if isinstance(action, a.SessionTruncatedAction):
            action = replace(action, turn_id=None)  # the earlier turns are not known here
        live.apply(action, 0)
        told: list[c.AgentSessionEvent] = []
        now = live.turn.id if live.turn is not None else None
        if turn is not None and turn.id != now:  # the turn has ended, and so have its open calls
            told += [_failed(one, "skipped") for one in _open(turn.calls())]
            live.head.turns.clear()
            self._called.clear()
        if calls and isinstance(action, a.ToolCallActionBase):
            told += self._events_of_call(action, calls[-1], number, at, blobs)
        elif was_paused and not is_paused(live):
            told.append(c.SessionResumed(session_id=live.head.summary.resource))
        else:
            told += self._events_of_action(action, number, at)
        if self.status != before:
            told += status_events(self.status, before, _reason(action))
        return told

    def _events_of_action(
        self, action: a.StateAction, number: int, at: datetime
    ) -> list[c.AgentSessionEvent]:
        match action:
            case a.SessionTurnStartedAction(turn_id=turn_id, user_message=message):
                return _chunk(turn_id, "user", message.text, number, at)
            case a.SessionDeltaAction(part_id=part_id, content=content):
                return _chunk(part_id, "agent", content, number, at)
            case a.SessionReasoningAction(part_id=part_id, content=content):
                return _chunk(part_id, "agent", content, number, at, kind="reasoning")
            case a.SessionResponsePartAction(turn_id=turn_id, part=part):
                return _part(turn_id, part, number, at)
            case a.SessionUsageAction(usage=usage):
                return [_usage(usage)]
            case a.SessionErrorAction(error=error) | a.SessionCreationFailedAction(error=error):
                return [c.ErrorReported(error=error.message, code=error.error_type)]
            case a.SessionReadyAction():
                own, parent = self._live.head.summary.resource, self._forked_from
                if parent is not None:
                    return [c.SessionForked(session_id=own, parent_session_id=parent)]
                return [c.SessionStarted(session_id=own)]
            case _:
                return []

    # -- tool calls ----------------------------------------------------------------------------------------

    def _events_of_call(
        self,
        action: a.ToolCallActionBase,
        before: t.ToolCallBase,
        number: int,
        at: datetime,
        blobs: Iterable[BlobRow],
    ) -> list[c.AgentSessionEvent]:
        """Return the events of a call that was open before the action."""
        turn, call_id, told = self._live.turn, action.tool_call_id, list[c.AgentSessionEvent]()
        after = turn.calls(call_id)[-1] if turn is not None else None
        match action:
            case a.SessionToolCallReadyAction(tool_input=given) if call_id not in self._called:
                self._called[call_id] = at
                return [c.ToolCalled(run=call_id, tool=before.tool_name, input=_input(given))]
            case a.SessionToolCallContentChangedAction(content=content):
                return self._shown_content(before, content, at)
            case a.SessionToolCallCompleteAction(result=result):
                changes = (_file_change(one, blobs) for one in result.content or ())
                told += [change for change in changes if change is not None]
            case _:
                pass
        match after:
            case t.ToolCallCancelledState(reason=reason):
                told.append(_failed(before, reason or "denied"))
            case t.ToolCallCompletedState():
                text = _text(after.content)
                if text:
                    told += _chunk(call_id, "tool", text, number, at)
                told.append(self._ended_call(after, text, at))
            case _:
                pass
        return told

    def _shown_content(
        self, call: t.ToolCallBase, content: Iterable[t.ToolResultContent], at: datetime
    ) -> list[c.AgentSessionEvent]:
        told: list[c.AgentSessionEvent] = []
        for one in content:
            if isinstance(one, t.ToolResultTerminalContent):
                told += self.command_started(one.resource, one.title, at)
        text = _text(content)
        shown = _text(call.content) if isinstance(call, t.ToolCallRunningState) else ""
        if new := text.removeprefix(shown):
            told.append(c.ToolOutput(run=call.tool_call_id, tool=call.tool_name, output=new))
        return told

    def _ended_call(self, call: t.ToolCallCompletedState, text: str, at: datetime) -> c.AgentSessionEvent:
        if not call.success:
            return _failed(call, call.error.message if call.error else text or "failed")
        since = self._called.get(call.tool_call_id)
        return c.ToolCompleted(
            run=call.tool_call_id,
            tool=call.tool_name,
            output=(text if call.structured_content is None else call.structured_content) or None,
            duration_ms=None if since is None else _ms(since, at),
        )

    # -- terminals -----------------------------------------------------------------------------------------

    def command_started(
        self, key: str, line: str, at: datetime, cwd: str | None = None
    ) -> list[c.AgentSessionEvent]:
        """Report once that a command runs: in a terminal of its own, or one that was detected in a shell."""
        if key in self._commands or key in self._ended:
            return []
        self._commands[key] = line, at
        return [c.CommandStarted(command=line, cwd=cwd)]

    def command_ended(self, key: str, exit_code: float | None, at: datetime) -> list[c.AgentSessionEvent]:
        """Report that a command has ended."""
        if key not in self._commands:
            return []
        line, started_at = self._commands.pop(key)
        self._ended.add(key)
        code = None if exit_code is None else int(exit_code)
        if code:
            error = f"it ended with the exit code {code}"
            return [c.CommandFailed(command=line, error=error, exit_code=code)]
        return [c.CommandCompleted(command=line, exit_code=code, duration_ms=_ms(started_at, at))]

    def in_terminal(
        self, uri: str, action: a.StateAction, state: t.TerminalState, at: datetime
    ) -> list[c.AgentSessionEvent]:
        """Return the events that an action of a terminal makes observable. The session holds the terminal."""
        claim, told = state.claim, list[c.AgentSessionEvent]()
        if isinstance(claim, t.TerminalSessionClaim) and claim.turn_id is not None:
            told = self.command_started(uri, state.title, at, state.cwd)
        match action:
            case a.TerminalDataAction(data=data):
                told.append(c.TerminalOutput(stream="combined", text=data))
            case a.TerminalExitedAction(exit_code=code):
                told += self.command_ended(uri, code, at)
            case a.TerminalCommandExecutedAction(command_id=command_id, command_line=line):
                told += self.command_started(f"{uri}#{command_id}", line, at, state.cwd)
            case a.TerminalCommandFinishedAction(command_id=command_id, exit_code=code):
                told += self.command_ended(f"{uri}#{command_id}", code, at)
            case _:
                pass
        return told


def _reason(action: a.StateAction) -> str | None:
    """Return why a status has changed, where the action says so."""
    match action:
        case a.SessionErrorAction(error=error) | a.SessionCreationFailedAction(error=error):
            return error.error_type
        case a.SessionTurnCancelledAction():
            return "cancelled"
        case _:
            return None


def _part(turn_id: str, part: t.ResponsePart, number: int, at: datetime) -> list[c.AgentSessionEvent]:
    match part:
        case t.MarkdownResponsePart(id=part_id, content=content) if content:
            return _chunk(part_id, "agent", content, number, at)
        case t.ReasoningResponsePart(id=part_id, content=content) if content:
            return _chunk(part_id, "agent", content, number, at, kind="reasoning")
        case t.SystemNotificationResponsePart(content=content):
            text = content if isinstance(content, str) else content.markdown
            return [*_chunk(turn_id, "system", text, number, at), c.LogWritten(level="info", message=text)]
        case _:
            return []


def _chunk(
    part: str,
    role: Literal["agent", "user", "system", "tool"],
    text: str,
    number: int,
    at: datetime,
    **metadata: Any,
) -> list[c.AgentSessionEvent]:
    chunk = c.TranscriptChunk(id=part, at=at, role=role, content=text, sequence=number, metadata=metadata)
    return [c.TranscriptChunkAdded(chunk=chunk)]


def _usage(usage: t.UsageInfo) -> c.UsageUpdated:
    meta = usage.meta or {}
    cost = meta.get(SESSION_COST, {})
    counted = [usage.input_tokens, usage.output_tokens]
    tokens = None if counted == [None, None] else int(sum(one or 0 for one in counted))
    told = {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "cacheReadTokens": usage.cache_read_tokens,
        "model": usage.model,
        **meta,
    }
    return c.UsageUpdated(
        tokens=tokens,
        cost_usd=cost.get("amount") if cost.get("currency") == "USD" else None,
        metadata={key: value for key, value in told.items() if value is not None},
    )


def _file_change(content: t.ToolResultContent, blobs: Iterable[BlobRow]) -> c.FileChanged | None:
    if not isinstance(content, t.ToolResultFileEditContent):
        return None
    side = content.after or content.before
    if side is None:
        return None
    operation = "update" if content.before and content.after else "create" if content.after else "delete"
    texts = [_content(one, blobs) if one else b"" for one in (content.before, content.after)]
    diff = None if texts[0] is None or texts[1] is None else unified(texts[0], texts[1])
    return c.FileChanged(path=side.uri, operation=operation, diff=diff)


def _content(side: t.FileEditSide, blobs: Iterable[BlobRow]) -> bytes | None:
    """Return the content of a file on one side of an edit; `None` if it is not at hand."""
    return next((one.data for one in blobs if side.content.uri.endswith(one.digest)), None)


def _input(text: str | None) -> Any:
    """Return the input of a call, parsed if it is JSON."""
    if text is not None:
        with contextlib.suppress(msgspec.DecodeError):
            return msgspec.json.decode(text)
    return text


def _text(content: Iterable[t.ToolResultContent] | None) -> str:
    return "\n".join(one.text for one in content or () if isinstance(one, t.ToolResultTextContent))


def _open(calls: Iterable[t.ToolCallState]) -> list[t.ToolCallBase]:
    """Return the calls that are not over."""
    over = (t.ToolCallCompletedState, t.ToolCallCancelledState)
    return [call for call in calls if isinstance(call, t.ToolCallBase) and not isinstance(call, over)]


def _failed(call: t.ToolCallBase, error: str) -> c.ToolFailed:
    return c.ToolFailed(run=call.tool_call_id, tool=call.tool_name, error=error)


def _ms(since: datetime, until: datetime) -> int:
    return round((until - since).total_seconds() * 1000)
