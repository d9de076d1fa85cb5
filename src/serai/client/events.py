"""What a client hears: the events of a turn, and those of its connection.

The events of a turn come in the order in which the host let them happen. Each has a `type` for programs that
print them, and `event_json` makes JSON of any of them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
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


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """The host has begun the turn."""

    type: ClassVar[str] = "turn.started"
    turn_id: str
    message: UserMessage


@dataclass(frozen=True, slots=True)
class TextAdded:
    """More of the answer, in Markdown."""

    type: ClassVar[str] = "text"
    part_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningAdded:
    """More of what the model thinks."""

    type: ClassVar[str] = "reasoning"
    part_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ContentAdded:
    """Content that is kept elsewhere; `Client.read` fetches it."""

    type: ClassVar[str] = "content"
    content: ContentRef


@dataclass(frozen=True, slots=True)
class NoticeGiven:
    """Something that neither the agent nor the person said."""

    type: ClassVar[str] = "notice"
    content: StringOrMarkdown


@dataclass(frozen=True, slots=True)
class ToolWaiting:
    """Someone is asked whether a call may run: answer with `approve` or `deny`."""

    type: ClassVar[str] = "tool.waiting"
    call: ToolCallPendingConfirmationState


@dataclass(frozen=True, slots=True)
class ToolRunning:
    """A tool is at work. It comes again whenever the tool shows something new."""

    type: ClassVar[str] = "tool.running"
    call: ToolCallRunningState


@dataclass(frozen=True, slots=True)
class ResultWaiting:
    """Someone is asked whether a result may be used: answer with `confirm_result`."""

    type: ClassVar[str] = "tool.result_waiting"
    call: ToolCallPendingResultConfirmationState


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A call is over: it was completed, well or not, or it did not run."""

    type: ClassVar[str] = "tool.finished"
    call: ToolCallCompletedState | ToolCallCancelledState


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """The agent asks something: answer with `answer` or `decline`."""

    type: ClassVar[str] = "question.asked"
    request: SessionInputRequest


@dataclass(frozen=True, slots=True)
class QuestionClosed:
    """A question is no longer open: someone has answered, or the turn is over."""

    type: ClassVar[str] = "question.closed"
    request_id: str


@dataclass(frozen=True, slots=True)
class UsageReported:
    """What the turn has used so far."""

    type: ClassVar[str] = "usage"
    usage: UsageInfo


@dataclass(frozen=True, slots=True)
class TurnEnded:
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


@dataclass(frozen=True, slots=True)
class Connected:
    """The host is there, for the first time or again."""

    type: ClassVar[str] = "connected"
    how: str
    """`initialized`: from the beginning; `replayed`: nothing was missed; `snapshots`: the state, afresh."""
    lost: tuple[URI, ...] = ()
    """Channels that were followed and are gone."""


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The connection is lost, or another try to get it back has failed."""

    type: ClassVar[str] = "disconnected"
    reason: str
    retry_in: float | None
    """When the next try begins, in seconds; `None` when there will be none."""


@dataclass(frozen=True, slots=True)
class SessionAdded:
    """There is a new session on the host."""

    type: ClassVar[str] = "session.added"
    summary: SessionSummary


@dataclass(frozen=True, slots=True)
class SessionRemoved:
    """A session is gone."""

    type: ClassVar[str] = "session.removed"
    session: URI


@dataclass(frozen=True, slots=True)
class SessionChanged:
    """What a list of sessions shows of one has changed."""

    type: ClassVar[str] = "session.changed"
    session: URI
    changes: SessionSummaryChanges


@dataclass(frozen=True, slots=True)
class SignInNeeded:
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
    for one in fields(event):
        value = getattr(event, one.name)
        if value is not None:
            found[_camel(one.name)] = to_json(value) if isinstance(value, Struct) else value
    return found


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
