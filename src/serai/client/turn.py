"""The events and the result of one turn.

Live, each action is handled alone, so that a delta costs the same however long the turn is. After a gap, the
state is compared with the events that were sent before it, and only what is new is sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from msgspec.structs import replace

from serai.ahp import actions as a, types as t
from serai.ahp.reducers import LiveSession
from serai.ahp.reducers.turn import LiveTurn
from serai.ahp.wire import Unknown
from serai.client.events import (
    ClosableQueue,
    ContentAdded,
    NoticeGiven,
    QuestionAsked,
    QuestionClosed,
    ReasoningAdded,
    ResultWaiting,
    TextAdded,
    ToolFinished,
    ToolRunning,
    ToolWaiting,
    TurnEnded,
    TurnEvent,
    TurnStarted,
    UsageReported,
)
from serai.errors import SeraiError, SessionGone

__all__ = ["TurnResult", "TurnStream"]


class OpenQuestions:
    """The open questions that a reader knows of."""

    def __init__(self) -> None:
        self._known: dict[str, t.SessionInputRequest] = {}

    def has_news(self, session: LiveSession) -> bool:
        """Tell whether `update` would return events."""
        return _questions(session) != self._known

    def update(self, session: LiveSession) -> Iterator[QuestionAsked | QuestionClosed]:
        """Return what is new since the last time: first the closed questions, then the new ones."""
        before, self._known = self._known, _questions(session)
        yield from (QuestionClosed(request_id) for request_id in before if request_id not in self._known)
        for request in session.head.input_requests or ():
            if before.get(request.id) != self._known[request.id]:
                yield QuestionAsked(request)

    def close(self) -> Iterator[QuestionClosed]:
        """Close all questions."""
        known, self._known = self._known, {}
        yield from map(QuestionClosed, known)


def _questions(session: LiveSession) -> dict[str, t.SessionInputRequest]:
    """Return the open questions without drafts of answers: a draft does not make it another question."""
    return {request.id: replace(request, answers=None) for request in session.head.input_requests or ()}


_BOUNDARIES = (
    a.SessionTurnStartedAction,
    a.SessionTurnCompleteAction,
    a.SessionTurnCancelledAction,
    a.SessionErrorAction,
    a.SessionTruncatedAction,
)
_InTurn: TypeAlias = (
    a.SessionDeltaAction
    | a.SessionReasoningAction
    | a.SessionResponsePartAction
    | a.SessionUsageAction
    | a.ToolCallActionBase
)
_TEXT = {t.MarkdownResponsePart: TextAdded, t.ReasoningResponsePart: ReasoningAdded}


@dataclass(frozen=True, slots=True)
class TurnResult:
    """The end of a turn, with all of its parts."""

    id: str
    state: str
    """`complete`, `cancelled`, `error` or `removed`."""
    error: t.ErrorInfo | None = None
    parts: tuple[t.ResponsePart, ...] = ()
    usage: t.UsageInfo | None = None

    @property
    def ok(self) -> bool:
        """True when the agent completed the turn."""
        return self.state == t.TurnState.COMPLETE

    @property
    def text(self) -> str:
        """The answer: all Markdown parts, with an empty line between them."""
        texts = (part.content for part in self.parts if isinstance(part, t.MarkdownResponsePart))
        return "\n\n".join(text for text in texts if text)


class TurnStream:
    """The events of one turn, for one reader: `async for event in turn`.

    It survives lost connections: missed events come when the host is back, and no event comes twice. It ends
    after `TurnEnded`. Leaving the loop, or cancelling it, loses nothing: a later loop continues where it
    stopped.
    """

    def __init__(self, turn_id: str, closed: Callable[[TurnStream], None]) -> None:
        self.id = turn_id
        self._closed = closed
        self._inbox: ClosableQueue[TurnEvent] = ClosableQueue()
        self._result: asyncio.Future[TurnResult] = asyncio.get_running_loop().create_future()
        self._is_started = False
        self._sent: list[int] = []
        """Number of characters of each part that were sent."""
        self._texts: dict[str, tuple[int, type[TextAdded | ReasoningAdded]]] = {}
        """By part id: the first part that has it, and the event for a delta to it."""
        self._calls: dict[str, t.ToolCallState] = {}
        """By tool call id: the call as it was sent last."""
        self._questions = OpenQuestions()
        self._usage: t.UsageInfo | None = None

    def __aiter__(self) -> TurnStream:
        return self

    async def __anext__(self) -> TurnEvent:
        """Return the next event.

        Raises:
            StopAsyncIteration: The turn is over.
            SessionGone: The session was disposed of, or is not followed any more.
            ConnectionLost: The client was closed, or gave up.
        """
        return await anext(self._inbox)

    async def result(self) -> TurnResult:
        """Wait for the turn's end. It needs no loop over the events, and cancelling it is harmless.

        Raises:
            SessionGone: The session was disposed of, or is not followed any more.
            ConnectionLost: The client was closed, or gave up.
        """
        return await asyncio.shield(self._result)

    def close(self) -> None:
        """Stop following the turn. It continues on the host; `SessionClient.cancel` stops it there."""
        self.fail(SessionGone("the turn is not followed any more"))

    # -- for the session -----------------------------------------------------------------------------------

    def heard(self, action: a.StateAction, session: LiveSession) -> None:
        """Handle an action. The session is in the state after it."""
        if self._result.done():
            return
        if isinstance(action, _BOUNDARIES):
            self.caught_up(session)
        elif session.turn is None or session.turn.id != self.id:
            return  # the host's reducer does nothing with a straggler, and neither do we
        elif isinstance(action, a.SessionInputRequestedAction | a.SessionInputCompletedAction):
            self._put(*self._questions.update(session))
        elif isinstance(action, _InTurn) and action.turn_id == self.id:
            self._in_turn(action, session.turn)

    def caught_up(self, session: LiveSession) -> None:
        """Send what was missed, once the session's state is known again after a gap."""
        if self._result.done():
            return
        running = session.turn if session.turn is not None and session.turn.id == self.id else None
        turn = running or next((one for one in reversed(session.head.turns) if one.id == self.id), None)
        if turn is None:
            if self._is_started:
                self._end(TurnResult(self.id, "removed"))
            return
        if not self._is_started:
            self._is_started = True
            self._put(TurnStarted(self.id, turn.user_message))
        parts = turn.response_parts if isinstance(turn, t.Turn) else turn.parts()
        for position, part in enumerate(parts):
            self._part(position, part)
        if turn.usage is not None:
            self._used(turn.usage)
        if isinstance(turn, t.Turn):
            self._put(*self._questions.close())
            self._end(TurnResult(self.id, turn.state, turn.error, tuple(turn.response_parts), turn.usage))
        else:
            self._put(*self._questions.update(session))

    def fail(self, error: SeraiError) -> None:
        """End the stream with an error."""
        if not self._result.done():
            self._inbox.end(error)
            self._result.set_exception(error)
            self._result.exception()  # perhaps nobody wants to know
            self._closed(self)

    # -- events --------------------------------------------------------------------------------------------

    def _put(self, *events: TurnEvent) -> None:
        for event in events:
            self._inbox.put(event)

    def _end(self, result: TurnResult) -> None:
        self._put(TurnEnded(result.state, result.error))
        self._inbox.end()
        self._result.set_result(result)
        self._closed(self)

    def _in_turn(self, action: _InTurn, turn: LiveTurn) -> None:
        match action:
            case a.SessionDeltaAction() | a.SessionReasoningAction():
                self._more(action)
            case a.SessionResponsePartAction():
                self._part(len(self._sent), action.part)
            case a.SessionUsageAction():
                self._used(action.usage)
            case a.SessionToolCallDeltaAction():
                pass  # there is no event for input that is still being written
            case _:
                if isinstance(action, a.SessionToolCallStartAction):
                    self._sent.append(0)
                if (call := turn.call(action.tool_call_id)) is not None:
                    self._call(call)

    def _more(self, action: a.SessionDeltaAction | a.SessionReasoningAction) -> None:
        position, kind = self._texts.get(action.part_id, (0, None))
        event = TextAdded if isinstance(action, a.SessionDeltaAction) else ReasoningAdded
        if kind is event and action.content:
            self._sent[position] += len(action.content)
            self._put(event(action.part_id, action.content))

    def _part(self, position: int, part: t.ResponsePart) -> None:
        """Send what is new in a part: all of it, if the part itself is new."""
        is_new = position == len(self._sent)
        if is_new:
            self._sent.append(0)
        match part:
            case t.MarkdownResponsePart() | t.ReasoningResponsePart():
                event = _TEXT[type(part)]
                self._texts.setdefault(part.id, (position, event))
                sent, self._sent[position] = self._sent[position], len(part.content)
                if len(part.content) > sent:
                    self._put(event(part.id, part.content[sent:]))
            case t.ToolCallResponsePart(tool_call=call):
                self._call(call)
            case t.ResourceResponsePart() if is_new:
                self._put(ContentAdded(part))
            case t.SystemNotificationResponsePart() if is_new:
                self._put(NoticeGiven(part.content))
            case _:
                pass

    def _call(self, call: t.ToolCallState) -> None:
        if isinstance(call, Unknown) or self._calls.get(call.tool_call_id) == call:
            return
        self._calls[call.tool_call_id] = call
        match call:
            case t.ToolCallPendingConfirmationState():
                self._put(ToolWaiting(call))
            case t.ToolCallRunningState():
                self._put(ToolRunning(call))
            case t.ToolCallPendingResultConfirmationState():
                self._put(ResultWaiting(call))
            case t.ToolCallCompletedState() | t.ToolCallCancelledState():
                self._put(ToolFinished(call))
            case _:
                pass  # its input is still being written

    def _used(self, usage: t.UsageInfo) -> None:
        if usage != self._usage:
            self._usage = usage
            self._put(UsageReported(usage))
