"""What can be observed of a session: a pure view of its AHP actions, the same for every harness.

    view = SessionEvents.of(session.live)
    for event in view.happened(action, number, at): …

The view keeps what the next action needs to be understood: which turn runs, which calls are open, what is
asked. It starts from a state and follows the actions after it; to meet one that the state has already changes
nothing that stays.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import msgspec

from serai import contract as c
from serai.ahp import actions as a, types as t
from serai.ahp.extensions import LOGIN, PAUSED, SESSION_COST
from serai.ahp.reducers import LiveSession
from serai.changes.diff import unified
from serai.store.contract import BlobRow


def status_events(
    status: c.AgentStatus, previous: c.AgentStatus | None, reason: str | None = None
) -> list[c.AgentSessionEvent]:
    """The events of one change of status: the general one, and the one that is named after the status."""
    kinds: Any = (c.StatusChanged, c.EVENT_TYPES.get(f"status.{status.value}"))
    return [kind(status=status, previous_status=previous, reason=reason) for kind in kinds if kind]


@dataclass(slots=True)
class _Call:
    """A tool call that is open."""

    tool: str
    called_at: datetime | None = None
    shown: str = ""
    """The text that was told of its output so far."""
    result: t.ToolCallResult | None = None
    """What came of it, while someone is asked whether it may be used."""
    changes: list[c.AgentSessionEvent] = field(default_factory=list)
    """The files that it has changed."""


@dataclass(slots=True)
class SessionEvents:
    """The view of one session."""

    session: str
    """Its URI."""
    lifecycle: str = t.SessionLifecycle.READY
    forked_from: str | None = None
    """The session of which it was made as a fork."""
    turn: str | None = None
    """The turn that runs."""
    needs_sign_in: bool = False
    is_paused: bool = False
    _asked: set[str] = field(default_factory=set)
    """The calls about which someone is asked."""
    _requests: set[str] = field(default_factory=set)
    """The questions that are open."""
    _calls: dict[str, _Call] = field(default_factory=dict)
    _commands: dict[str, tuple[str, datetime]] = field(default_factory=dict)
    """What runs and since when, by the terminal, or by the id of a command that was detected in one."""
    _ended: set[str] = field(default_factory=set)
    """The terminals whose command has ended."""
    _blobs: Iterable[BlobRow] = ()

    @classmethod
    def of(cls, live: LiveSession, *, forked_from: str | None = None) -> SessionEvents:
        """The view of a session as it is."""
        head = live.head
        view = cls(head.summary.resource, lifecycle=head.lifecycle, forked_from=forked_from)
        view._note(head.meta)
        view._requests = {request.id for request in head.input_requests or ()}
        if live.turn is not None:
            view.turn = live.turn.id
            for call in live.turn.calls():
                if isinstance(
                    call, t.ToolCallPendingConfirmationState | t.ToolCallPendingResultConfirmationState
                ):
                    view._asked.add(call.tool_call_id)
                if not isinstance(
                    call, t.ToolCallCompletedState | t.ToolCallCancelledState | t.UnknownStatus
                ):
                    view._calls[call.tool_call_id] = _Call(call.tool_name)
        return view

    @property
    def status(self) -> c.AgentStatus:
        """What the session does."""
        if self.lifecycle == t.SessionLifecycle.CREATING:
            return c.AgentStatus.STARTING
        if self._requests or self._asked:
            return c.AgentStatus.WAITING
        if self.turn is not None:
            return c.AgentStatus.ACTIVE
        if self.needs_sign_in:
            return c.AgentStatus.BLOCKED
        if self.lifecycle == t.SessionLifecycle.CREATION_FAILED:
            return c.AgentStatus.FAILED
        return c.AgentStatus.PAUSED if self.is_paused else c.AgentStatus.IDLE

    def happened(
        self, action: a.StateAction, number: int, at: datetime, blobs: Iterable[BlobRow] = ()
    ) -> list[c.AgentSessionEvent]:
        """What an action of the session lets one observe, with the change of status last.

        Args:
            action: What was committed.
            number: Its number.
            at: When.
            blobs: Content that was committed lately: files before and after an edit.
        """
        before = self.status
        self._blobs = blobs
        told = self._observed(action, number, at)
        if self.status != before:
            told += status_events(self.status, before, _reason(action))
        return told

    def _observed(self, action: a.StateAction, number: int, at: datetime) -> list[c.AgentSessionEvent]:
        match action:
            case a.SessionToolCallStartAction():
                self._calls[action.tool_call_id] = _Call(action.tool_name)
            case a.ToolCallActionBase(tool_call_id=call_id) if (call := self._calls.get(call_id)) is not None:
                return self._of_call(action, call, number, at)
            case a.SessionInputRequestedAction(request=request):
                self._requests.add(request.id)
            case a.SessionInputCompletedAction(request_id=request_id):
                self._requests.discard(request_id)
            case a.SessionTurnCompleteAction() | a.SessionTurnCancelledAction() | a.SessionTruncatedAction():
                return self._turn_over()
            case a.SessionErrorAction(error=error):
                told = self._turn_over()
                return [*told, c.ErrorReported(error=error.message, code=error.error_type)]
            case a.SessionCreationFailedAction(error=error):
                self.lifecycle = t.SessionLifecycle.CREATION_FAILED
                return [c.ErrorReported(error=error.message, code=error.error_type)]
            case a.SessionReadyAction():
                return self._began()
            case a.SessionMetaChangedAction(meta=meta):
                return self._note(meta)
            case _:
                return self._of_turn(action, number, at)
        return []

    def _of_turn(self, action: a.StateAction, number: int, at: datetime) -> list[c.AgentSessionEvent]:
        match action:
            case a.SessionTurnStartedAction(turn_id=turn_id, user_message=message):
                self.turn = turn_id
                return _chunk(turn_id, "user", message.text, number, at)
            case a.SessionDeltaAction(part_id=part_id, content=content):
                return _chunk(part_id, "agent", content, number, at)
            case a.SessionReasoningAction(part_id=part_id, content=content):
                return _chunk(part_id, "agent", content, number, at, kind="reasoning")
            case a.SessionResponsePartAction(turn_id=turn_id, part=part):
                return _part(turn_id, part, number, at)
            case a.SessionUsageAction(usage=usage):
                return [_usage(usage)]
            case _:
                return []

    def _began(self) -> list[c.AgentSessionEvent]:
        self.lifecycle = t.SessionLifecycle.READY
        if self.forked_from is not None:
            return [c.SessionForked(session_id=self.session, parent_session_id=self.forked_from)]
        return [c.SessionStarted(session_id=self.session)]

    def _note(self, meta: t.FreeForm | None) -> list[c.AgentSessionEvent]:
        was_paused = self.is_paused
        self.needs_sign_in = LOGIN in (meta or {})
        self.is_paused = PAUSED in (meta or {})
        return [c.SessionResumed(session_id=self.session)] if was_paused and not self.is_paused else []

    def _turn_over(self) -> list[c.AgentSessionEvent]:
        """The turn has ended, and with it what it left open."""
        calls, self._calls = self._calls, {}
        self.turn = None
        self._asked.clear()
        self._requests.clear()
        return [c.ToolFailed(run=call_id, tool=call.tool, error="skipped") for call_id, call in calls.items()]

    # -- tool calls ----------------------------------------------------------------------------------------

    def _of_call(
        self, action: a.ToolCallActionBase, call: _Call, number: int, at: datetime
    ) -> list[c.AgentSessionEvent]:
        call_id = action.tool_call_id
        match action:
            case a.SessionToolCallReadyAction(confirmed=confirmed):
                (self._asked.add if confirmed is None else self._asked.discard)(call_id)
                if call.called_at is None:
                    call.called_at = at
                    return [c.ToolCalled(run=call_id, tool=call.tool, input=_input(action.tool_input))]
            case a.SessionToolCallConfirmedAction(approved=approved, reason=reason):
                self._asked.discard(call_id)
                if not approved:
                    del self._calls[call_id]
                    return [c.ToolFailed(run=call_id, tool=call.tool, error=reason or "denied")]
            case a.SessionToolCallContentChangedAction(content=content):
                return self._shown(call_id, call, content, at)
            case a.SessionToolCallCompleteAction(result=result, requires_result_confirmation=asks):
                changes = (_file_change(one, self._blobs) for one in result.content or ())
                call.changes = [change for change in changes if change is not None]
                if asks:
                    self._asked.add(call_id)
                    call.result = result
                    return []
                return self._call_over(call_id, call, result, number, at)
            case a.SessionToolCallResultConfirmedAction(approved=approved):
                if approved and call.result is not None:
                    return self._call_over(call_id, call, call.result, number, at)
                self._asked.discard(call_id)
                del self._calls[call_id]
                return [c.ToolFailed(run=call_id, tool=call.tool, error="result-denied")]
            case _:
                pass
        return []

    def _shown(
        self, call_id: str, call: _Call, content: Iterable[t.ToolResultContent], at: datetime
    ) -> list[c.AgentSessionEvent]:
        told: list[c.AgentSessionEvent] = []
        for one in content:
            if isinstance(one, t.ToolResultTerminalContent):
                told += self.command_started(one.resource, one.title, at)
        text = _text(content)
        new = text.removeprefix(call.shown) if text.startswith(call.shown) else text
        call.shown = text
        if new:
            told.append(c.ToolOutput(run=call_id, tool=call.tool, output=new))
        return told

    def _call_over(
        self, call_id: str, call: _Call, result: t.ToolCallResult, number: int, at: datetime
    ) -> list[c.AgentSessionEvent]:
        self._asked.discard(call_id)
        del self._calls[call_id]
        content = result.content or []
        text = _text(content)
        told = _chunk(call_id, "tool", text, number, at) if text else []
        told += call.changes
        if not result.success:
            error = result.error.message if result.error else text or "failed"
            return [*told, c.ToolFailed(run=call_id, tool=call.tool, error=error)]
        output = text if result.structured_content is None else result.structured_content
        duration = None if call.called_at is None else _ms(call.called_at, at)
        done = c.ToolCompleted(run=call_id, tool=call.tool, output=output or None, duration_ms=duration)
        return [*told, done]

    # -- terminals -----------------------------------------------------------------------------------------

    def command_started(
        self, key: str, line: str, at: datetime, cwd: str | None = None
    ) -> list[c.AgentSessionEvent]:
        """A command runs: in a terminal of its own, or one that was detected in a shell. It is told once."""
        if key in self._commands or key in self._ended:
            return []
        self._commands[key] = line, at
        return [c.CommandStarted(command=line, cwd=cwd)]

    def command_ended(self, key: str, exit_code: float | None, at: datetime) -> list[c.AgentSessionEvent]:
        """A command has ended."""
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
        """What an action of a terminal that the session holds lets one observe."""
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
    """Why a status has changed, where the action says so."""
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
    """What is in a file on one side of an edit, as far as it is at hand."""
    return next((one.data for one in blobs if side.content.uri.endswith(one.digest)), None)


def _input(text: str | None) -> Any:
    """The input of a call: as JSON where it is JSON."""
    if text is not None:
        with contextlib.suppress(msgspec.DecodeError):
            return msgspec.json.decode(text)
    return text


def _text(content: Iterable[t.ToolResultContent]) -> str:
    return "\n".join(one.text for one in content if isinstance(one, t.ToolResultTextContent))


def _ms(since: datetime, until: datetime) -> int:
    return round((until - since).total_seconds() * 1000)
