"""The events of a turn and of the connection, and the queue for their readers.

The events of a turn come in the order of the host. As JSON each has a `type`, for programs.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct

from serai.ahp import types as t
from serai.ahp.notifications import SessionSummaryChanges
from serai.errors import SeraiError

__all__ = [
    "ClientEvent",
    "Connected",
    "ContentAdded",
    "Disconnected",
    "NoticeGiven",
    "QuestionAsked",
    "QuestionClosed",
    "ReasoningAdded",
    "ResultWaiting",
    "SessionAdded",
    "SessionChanged",
    "SessionRemoved",
    "SignInNeeded",
    "TextAdded",
    "ToolFinished",
    "ToolRunning",
    "ToolWaiting",
    "TurnEnded",
    "TurnEvent",
    "TurnStarted",
    "UsageReported",
]


class _TaggedEvent(Struct, frozen=True, tag_field="type", rename="camel", omit_defaults=True):
    pass


# -- a turn ------------------------------------------------------------------------------------------------


class TurnStarted(_TaggedEvent, frozen=True, tag="turn.started"):
    """The host has begun the turn."""

    turn_id: str
    message: t.UserMessage


class TextAdded(_TaggedEvent, frozen=True, tag="text"):
    """More of the answer, in Markdown."""

    part_id: str
    text: str


class ReasoningAdded(_TaggedEvent, frozen=True, tag="reasoning"):
    """More of the model's reasoning."""

    part_id: str
    text: str


class ContentAdded(_TaggedEvent, frozen=True, tag="content"):
    """Content that is kept elsewhere; `Client.read` fetches it."""

    content: t.ContentRef


class NoticeGiven(_TaggedEvent, frozen=True, tag="notice"):
    """A notice that comes neither from the agent nor from a person."""

    content: t.StringOrMarkdown


class ToolWaiting(_TaggedEvent, frozen=True, tag="tool.waiting"):
    """A call that needs a confirmation: answer with `approve` or `deny`."""

    call: t.ToolCallPendingConfirmationState


class ToolRunning(_TaggedEvent, frozen=True, tag="tool.running"):
    """A call that runs. The event comes again whenever the tool shows something new."""

    call: t.ToolCallRunningState


class ResultWaiting(_TaggedEvent, frozen=True, tag="tool.result_waiting"):
    """A result that needs a confirmation: answer with `confirm_result`."""

    call: t.ToolCallPendingResultConfirmationState


class ToolFinished(_TaggedEvent, frozen=True, tag="tool.finished"):
    """A call that is over: it succeeded, failed, or did not run."""

    call: t.ToolCallCompletedState | t.ToolCallCancelledState


class QuestionAsked(_TaggedEvent, frozen=True, tag="question.asked"):
    """A question of the agent: answer with `answer` or `decline`."""

    request: t.SessionInputRequest


class QuestionClosed(_TaggedEvent, frozen=True, tag="question.closed"):
    """A question that is closed: someone has answered, or the turn is over."""

    request_id: str


class UsageReported(_TaggedEvent, frozen=True, tag="usage"):
    """Usage of the turn so far."""

    usage: t.UsageInfo


class TurnEnded(_TaggedEvent, frozen=True, tag="turn.ended"):
    """The end of the turn, and the last event."""

    state: str
    """`complete`, `cancelled` or `error`; `removed` when someone truncated the session before it."""
    error: t.ErrorInfo | None = None


TurnEvent: TypeAlias = (
    TurnStarted
    | TextAdded
    | ReasoningAdded
    | ContentAdded
    | NoticeGiven
    | ToolWaiting
    | ToolRunning
    | ResultWaiting
    | ToolFinished
    | QuestionAsked
    | QuestionClosed
    | UsageReported
    | TurnEnded
)


# -- the connection ----------------------------------------------------------------------------------------


class Connected(_TaggedEvent, frozen=True, tag="connected"):
    """The connection is made, for the first time or again."""

    how: str
    """`initialized`: for the first time; `replayed`: nothing was missed; `snapshots`: with fresh states."""
    lost: tuple[t.URI, ...] = ()
    """Followed channels that do not exist any more."""


class Disconnected(_TaggedEvent, frozen=True, tag="disconnected"):
    """The connection is lost, or another try to get it back has failed."""

    reason: str
    retry_in: float | None = None
    """Seconds until the next try; `None` when there will be none."""


class SessionAdded(_TaggedEvent, frozen=True, tag="session.added"):
    """There is a new session on the host."""

    summary: t.SessionSummary


class SessionRemoved(_TaggedEvent, frozen=True, tag="session.removed"):
    """A session is gone."""

    session: t.URI


class SessionChanged(_TaggedEvent, frozen=True, tag="session.changed"):
    """The summary of a session has changed."""

    session: t.URI
    changes: SessionSummaryChanges


class SignInNeeded(_TaggedEvent, frozen=True, tag="auth.required"):
    """A protected resource needs a token: give it with `Client.authenticate`."""

    resource: str
    reason: str | None = None


ClientEvent: TypeAlias = (
    Connected | Disconnected | SessionAdded | SessionRemoved | SessionChanged | SignInNeeded
)


T = TypeVar("T")


class ClosableQueue(Generic[T]):
    """A queue with one reader: `async for item in queue`. Cancelling the reader loses nothing."""

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._news = asyncio.Event()
        self._ended = False
        self._error: SeraiError | None = None

    def __len__(self) -> int:
        return len(self._items)

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    def put(self, item: T) -> None:
        """Add an item without waiting. On a closed queue it does nothing."""
        if not self._ended:
            self._items.append(item)
            self._news.set()

    def end(self, error: SeraiError | None = None) -> None:
        """Close the queue. The reader gets the items that are left, then the end or the error."""
        if not self._ended:
            self._ended, self._error = True, error
            self._news.set()

    async def __anext__(self) -> T:
        """Return the next item.

        Raises:
            StopAsyncIteration: The queue is closed and empty.
            SeraiError: The queue was closed with this error.
        """
        while not self._items:
            if self._ended:
                if self._error is not None:
                    raise self._error
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._items.popleft()
