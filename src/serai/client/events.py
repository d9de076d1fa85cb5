"""The events that a client hears, of a turn and of its connection, and the queues for their readers.

The events of a turn come in the order in which the host let them happen. Each has a `type` for programs that
print them, and `event_json` makes JSON of any of them.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from msgspec import Struct

from serai.ahp.notifications import SessionSummaryChanges
from serai.ahp.types import (
    URI,
    ContentRef,
    ErrorInfo,
    SessionInputRequest,
    SessionSummary,
    StringOrMarkdown,
    ToolCallCancelledState,
    ToolCallCompletedState,
    ToolCallPendingConfirmationState,
    ToolCallPendingResultConfirmationState,
    ToolCallRunningState,
    UsageInfo,
    UserMessage,
)
from serai.ahp.wire import to_json
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
    "event_json",
]

# -- a turn ------------------------------------------------------------------------------------------------


class TurnStarted(Struct, frozen=True):
    """The host has begun the turn."""

    type: ClassVar[str] = "turn.started"
    turn_id: str
    message: UserMessage


class TextAdded(Struct, frozen=True):
    """More of the answer, in Markdown."""

    type: ClassVar[str] = "text"
    part_id: str
    text: str


class ReasoningAdded(Struct, frozen=True):
    """More of what the model thinks."""

    type: ClassVar[str] = "reasoning"
    part_id: str
    text: str


class ContentAdded(Struct, frozen=True):
    """Content that is kept elsewhere; `Client.read` fetches it."""

    type: ClassVar[str] = "content"
    content: ContentRef


class NoticeGiven(Struct, frozen=True):
    """Something that neither the agent nor the person said."""

    type: ClassVar[str] = "notice"
    content: StringOrMarkdown


class ToolWaiting(Struct, frozen=True):
    """Someone is asked whether a call may run: answer with `approve` or `deny`."""

    type: ClassVar[str] = "tool.waiting"
    call: ToolCallPendingConfirmationState


class ToolRunning(Struct, frozen=True):
    """A tool is at work. It comes again whenever the tool shows something new."""

    type: ClassVar[str] = "tool.running"
    call: ToolCallRunningState


class ResultWaiting(Struct, frozen=True):
    """Someone is asked whether a result may be used: answer with `confirm_result`."""

    type: ClassVar[str] = "tool.result_waiting"
    call: ToolCallPendingResultConfirmationState


class ToolFinished(Struct, frozen=True):
    """A call is over: it was completed, well or not, or it did not run."""

    type: ClassVar[str] = "tool.finished"
    call: ToolCallCompletedState | ToolCallCancelledState


class QuestionAsked(Struct, frozen=True):
    """The agent asks something: answer with `answer` or `decline`."""

    type: ClassVar[str] = "question.asked"
    request: SessionInputRequest


class QuestionClosed(Struct, frozen=True):
    """A question is no longer open: someone has answered, or the turn is over."""

    type: ClassVar[str] = "question.closed"
    request_id: str


class UsageReported(Struct, frozen=True):
    """What the turn has used so far."""

    type: ClassVar[str] = "usage"
    usage: UsageInfo


class TurnEnded(Struct, frozen=True):
    """The turn is over; nothing comes after it."""

    type: ClassVar[str] = "turn.ended"
    state: str
    """`complete`, `cancelled` or `error`; `removed` when someone truncated the session before it."""
    error: ErrorInfo | None = None


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


class Connected(Struct, frozen=True):
    """The host is there, for the first time or again."""

    type: ClassVar[str] = "connected"
    how: str
    """`initialized`: from the beginning; `replayed`: nothing was missed; `snapshots`: the state, afresh."""
    lost: tuple[URI, ...] = ()
    """Channels that were followed and are gone."""


class Disconnected(Struct, frozen=True):
    """The connection is lost, or another try to get it back has failed."""

    type: ClassVar[str] = "disconnected"
    reason: str
    retry_in: float | None
    """When the next try begins, in seconds; `None` when there will be none."""


class SessionAdded(Struct, frozen=True):
    """There is a new session on the host."""

    type: ClassVar[str] = "session.added"
    summary: SessionSummary


class SessionRemoved(Struct, frozen=True):
    """A session is gone."""

    type: ClassVar[str] = "session.removed"
    session: URI


class SessionChanged(Struct, frozen=True):
    """What a list of sessions shows of one has changed."""

    type: ClassVar[str] = "session.changed"
    session: URI
    changes: SessionSummaryChanges


class SignInNeeded(Struct, frozen=True):
    """A protected resource needs a token: hand it over with `Client.authenticate`."""

    type: ClassVar[str] = "auth.required"
    resource: str
    reason: str | None = None


ClientEvent: TypeAlias = (
    Connected | Disconnected | SessionAdded | SessionRemoved | SessionChanged | SignInNeeded
)


def event_json(event: TurnEvent | ClientEvent) -> dict[str, Any]:
    """An event as JSON: its `type`, and its fields with the protocol's names."""
    found: dict[str, Any] = {"type": event.type}
    for name in event.__struct_fields__:
        value = getattr(event, name)
        if value is not None:
            found[_camel(name)] = to_json(value) if isinstance(value, Struct) else value
    return found


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


T = TypeVar("T")


class Inbox(Generic[T]):
    """Items for one task that reads them. Putting never waits; cancelling the reader loses nothing."""

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._news = asyncio.Event()
        self._ended = False
        self._error: SeraiError | None = None

    def __len__(self) -> int:
        return len(self._items)

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        return await self.get()

    def put(self, item: T) -> None:
        """Add an item, unless this has ended."""
        if not self._ended:
            self._items.append(item)
            self._news.set()

    def end(self, error: SeraiError | None = None) -> None:
        """No more will come. The reader gets what waits, then the end or the error."""
        if not self._ended:
            self._ended, self._error = True, error
            self._news.set()

    async def get(self) -> T:
        """The next item.

        Raises:
            StopAsyncIteration: There will be none.
            SeraiError: There will be none, because of this.
        """
        while not self._items:
            if self._ended:
                if self._error is not None:
                    raise self._error
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._items.popleft()


class Listeners:
    """All who listen to one client."""

    def __init__(self) -> None:
        self._functions: list[Callable[[ClientEvent], object]] = []
        self._inboxes: list[Inbox[ClientEvent]] = []

    def add(self, listener: Callable[[ClientEvent], object]) -> Callable[[], None]:
        """Call a function with each event. Returns a function that ends it."""
        self._functions.append(listener)
        return lambda: self._functions.remove(listener) if listener in self._functions else None

    async def events(self) -> AsyncGenerator[ClientEvent, None]:
        """The events from now on."""
        inbox: Inbox[ClientEvent] = Inbox()
        self._inboxes.append(inbox)
        try:
            async for event in inbox:
                yield event
        finally:
            self._inboxes.remove(inbox)

    def tell(self, event: ClientEvent) -> None:
        """Tell all of an event."""
        for inbox in self._inboxes:
            inbox.put(event)
        for listener in self._functions.copy():
            try:
                listener(event)
            except Exception:
                logging.getLogger(__name__).exception("a listener failed on %r", event)

    def end(self, error: SeraiError | None) -> None:
        """There will be no more events."""
        for inbox in self._inboxes:
            inbox.end(error)
