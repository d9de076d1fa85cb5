"""What a client hears: the events of a turn, and those of its connection.

The events of a turn come in the order in which the host let them happen. Each has a `type` for programs that
print them, and `event_json` makes JSON of any of them.
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeAlias

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
