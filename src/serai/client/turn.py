"""The events and the result of one turn, for whoever follows it.

Live, each action is looked at alone, so that a delta costs the same however long the turn is. After a gap,
the state is compared with what was told before it, and only what is new is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from msgspec.structs import replace

from serai.ahp import actions as a
from serai.ahp.reducers import LiveSession
from serai.ahp.reducers.turn import LiveTurn
from serai.ahp.types import (
    ErrorInfo,
    MarkdownResponsePart,
    ReasoningResponsePart,
    ResourceResponsePart,
    ResponsePart,
    SessionInputRequest,
    SystemNotificationResponsePart,
    ToolCallCancelledState,
    ToolCallCompletedState,
    ToolCallPendingConfirmationState,
    ToolCallPendingResultConfirmationState,
    ToolCallResponsePart,
    ToolCallRunningState,
    ToolCallState,
    Turn,
    TurnState,
    UsageInfo,
)
from serai.ahp.wire import Unknown
from serai.client.events import (
    ContentAdded,
    Inbox,
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
    """The questions that someone has been told of and that are still open."""

    def __init__(self) -> None:
        self._told: dict[str, SessionInputRequest] = {}

    def has_news(self, session: LiveSession) -> bool:
        """Whether `look` would tell something."""
        return _asked(session) != self._told

    def look(self, session: LiveSession) -> Iterator[QuestionAsked | QuestionClosed]:
        """What is new since the last time: first what was closed, then what was asked."""
        before, self._told = self._told, _asked(session)
        yield from (QuestionClosed(request_id) for request_id in before if request_id not in self._told)
        for request in session.head.input_requests or ():
            if before.get(request.id) != self._told[request.id]:
                yield QuestionAsked(request)

    def end(self) -> Iterator[QuestionClosed]:
        """None of them is open any more."""
        told, self._told = self._told, {}
        yield from map(QuestionClosed, told)


def _asked(session: LiveSession) -> dict[str, SessionInputRequest]:
    """What is asked, without what someone has begun to answer: a draft makes no other question of it."""
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
_TEXT = {MarkdownResponsePart: TextAdded, ReasoningResponsePart: ReasoningAdded}


def find_turn(session: LiveSession, turn_id: str) -> Turn | None:
    """The finished turn of that id."""
    return next((turn for turn in reversed(session.head.turns) if turn.id == turn_id), None)


@dataclass(frozen=True, slots=True)
class TurnResult:
    """How a turn ended, and all that it brought."""

    id: str
    state: str
    """`complete`, `cancelled`, `error` or `removed`."""
    error: ErrorInfo | None = None
    parts: tuple[ResponsePart, ...] = ()
    usage: UsageInfo | None = None

    @property
    def ok(self) -> bool:
        """Whether the agent came to its end."""
        return self.state == TurnState.COMPLETE

    @property
    def text(self) -> str:
        """The answer: all its Markdown, with an empty line where something else stood between."""
        texts = (part.content for part in self.parts if isinstance(part, MarkdownResponsePart))
        return "\n\n".join(text for text in texts if text)


class TurnStream:
    """The events of one turn, for one reader: `async for event in turn`.

    It goes on over lost connections: what happened meanwhile is told when the host is back, and nothing is
    told twice. It ends after `TurnEnded`. Leaving the loop, or cancelling it, loses nothing: a later loop
    goes on where it was left.
    """

    def __init__(self, turn_id: str, closed: Callable[[TurnStream], None]) -> None:
        self.id = turn_id
        self._closed = closed
        self._inbox: Inbox[TurnEvent] = Inbox()
        self._result: asyncio.Future[TurnResult] = asyncio.get_running_loop().create_future()
        self._is_started = False
        # Of each part: how many of its characters were told.
        self._told: list[int] = []
        # Part id -> the first part that has it, and what a delta to it adds.
        self._texts: dict[str, tuple[int, type[TextAdded | ReasoningAdded]]] = {}
        # Tool call id -> its part; part -> the call as it was told.
        self._positions: dict[str, int] = {}
        self._calls: dict[int, ToolCallState] = {}
        self._questions = OpenQuestions()
        self._usage: UsageInfo | None = None

    def __aiter__(self) -> TurnStream:
        return self

    async def __anext__(self) -> TurnEvent:
        """The next event.

        Raises:
            StopAsyncIteration: The turn is over.
            SessionGone: The session is.
            ConnectionLost: The client was closed, or gave up.
        """
        return await self._inbox.get()

    async def result(self) -> TurnResult:
        """Wait for the turn's end. It needs no loop over the events, and cancelling it is harmless.

        Raises:
            SessionGone: The session was disposed of, or is not followed any more.
            ConnectionLost: The client was closed, or gave up.
        """
        return await asyncio.shield(self._result)

    def close(self) -> None:
        """Follow the turn no more. It goes on on the host: `SessionClient.cancel` is what stops it."""
        self.fail(SessionGone("the turn is not followed any more"))

    # -- for the session -----------------------------------------------------------------------------------

    def heard(self, action: a.StateAction, session: LiveSession) -> None:
        """An action happened on the session, which is as it is after that."""
        if self._result.done():
            return
        if isinstance(action, _BOUNDARIES):
            self.caught_up(session)
        elif session.turn is None or session.turn.id != self.id:
            return  # the host's reducer does nothing with a straggler, and neither do we
        elif isinstance(action, a.SessionInputRequestedAction | a.SessionInputCompletedAction):
            self._put(*self._questions.look(session))
        elif isinstance(action, _InTurn) and action.turn_id == self.id:
            self._in_turn(action, session.turn)

    def caught_up(self, session: LiveSession) -> None:
        """The session is known again after a gap: tell what its state has of the turn that was not told."""
        if self._result.done():
            return
        running = session.turn if session.turn is not None and session.turn.id == self.id else None
        turn = running or find_turn(session, self.id)
        if turn is None:
            if self._is_started:
                self._end(TurnResult(self.id, "removed"))
            return
        if not self._is_started:
            self._is_started = True
            self._put(TurnStarted(self.id, turn.user_message))
        parts = turn.response_parts if isinstance(turn, Turn) else turn.parts()
        for position, part in enumerate(parts):
            self._part(position, part)
        if turn.usage is not None:
            self._used(turn.usage)
        if isinstance(turn, Turn):
            self._put(*self._questions.end())
            self._end(TurnResult(self.id, turn.state, turn.error, tuple(turn.response_parts), turn.usage))
        else:
            self._put(*self._questions.look(session))

    def fail(self, error: SeraiError) -> None:
        """No more can be known of the turn."""
        if not self._result.done():
            self._inbox.end(error)
            self._result.set_exception(error)
            self._result.exception()  # perhaps nobody wants to know
            self._closed(self)

    # -- telling -------------------------------------------------------------------------------------------

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
                self._part(len(self._told), action.part)
            case a.SessionUsageAction():
                self._used(action.usage)
            case a.SessionToolCallDeltaAction():
                pass  # input that is still being written is not told
            case _:
                self._call_of(action, turn)

    def _more(self, action: a.SessionDeltaAction | a.SessionReasoningAction) -> None:
        position, kind = self._texts.get(action.part_id, (0, None))
        event = TextAdded if isinstance(action, a.SessionDeltaAction) else ReasoningAdded
        if kind is event and action.content:
            self._told[position] += len(action.content)
            self._put(event(action.part_id, action.content))

    def _part(self, position: int, part: ResponsePart) -> None:
        """Tell what is new of a part: all of it, when the part itself is."""
        is_new = position == len(self._told)
        if is_new:
            self._told.append(0)
        match part:
            case MarkdownResponsePart() | ReasoningResponsePart():
                event = _TEXT[type(part)]
                self._texts.setdefault(part.id, (position, event))
                told, self._told[position] = self._told[position], len(part.content)
                if len(part.content) > told:
                    self._put(event(part.id, part.content[told:]))
            case ToolCallResponsePart(tool_call=call):
                if not isinstance(call, Unknown):
                    self._positions.setdefault(call.tool_call_id, position)
                self._call(position, call)
            case ResourceResponsePart() if is_new:
                self._put(ContentAdded(part))
            case SystemNotificationResponsePart() if is_new:
                self._put(NoticeGiven(part.content))
            case _:
                pass

    def _call_of(self, action: a.ToolCallActionBase, turn: LiveTurn) -> None:
        call = turn.call(action.tool_call_id)
        if call is None:
            return
        if isinstance(action, a.SessionToolCallStartAction):
            self._part(len(self._told), ToolCallResponsePart(tool_call=call))
        elif action.tool_call_id in self._positions:
            self._call(self._positions[action.tool_call_id], call)

    def _call(self, position: int, call: ToolCallState) -> None:
        if self._calls.get(position) == call:
            return
        self._calls[position] = call
        match call:
            case ToolCallPendingConfirmationState():
                self._put(ToolWaiting(call))
            case ToolCallRunningState():
                self._put(ToolRunning(call))
            case ToolCallPendingResultConfirmationState():
                self._put(ResultWaiting(call))
            case ToolCallCompletedState() | ToolCallCancelledState():
                self._put(ToolFinished(call))
            case _:
                pass  # its input is still being written, or we do not know this state

    def _used(self, usage: UsageInfo) -> None:
        if usage != self._usage:
            self._usage = usage
            self._put(UsageReported(usage))
