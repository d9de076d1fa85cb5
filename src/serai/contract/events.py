"""Session events: what can be observed of one session, each type with its own fields.

`AgentSessionEvent` is the union of them all; on the wire `type` tells which it is. Events of the status
family come in pairs: beside each `StatusChanged` goes the event that is named after the new status, where
there is one, with the same fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union

from msgspec import field

from serai.contract.identity import AgentStatus
from serai.contract.record import Metadata, Moment, Number, Record

_FROM_THE_RELAY = frozenset({"message", "delivery", "action"})


class AgentSessionEventType(StrEnum):
    """The type of a session event. What stands before the dot is its family."""

    STATUS_CHANGED = "status.changed"
    STATUS_IDLE = "status.idle"
    STATUS_ACTIVE = "status.active"
    STATUS_BLOCKED = "status.blocked"
    STATUS_WAITING = "status.waiting"
    STATUS_OFFLINE = "status.offline"
    TOOL_CALLED = "tool.called"
    TOOL_COMPLETED = "tool.completed"
    TOOL_FAILED = "tool.failed"
    TOOL_OUTPUT = "tool.output"
    MESSAGE_RECEIVED = "message.received"
    MESSAGE_SENT = "message.sent"
    DELIVERY_ACCEPTED = "delivery.accepted"
    DELIVERY_DELIVERED = "delivery.delivered"
    DELIVERY_DEFERRED = "delivery.deferred"
    DELIVERY_FAILED = "delivery.failed"
    ACTION_INVOKED = "action.invoked"
    ACTION_COMPLETED = "action.completed"
    ACTION_FAILED = "action.failed"
    ACTION_DENIED = "action.denied"
    TRANSCRIPT_CHUNK = "transcript.chunk"
    FILE_CHANGED = "file.changed"
    COMMAND_STARTED = "command.started"
    COMMAND_COMPLETED = "command.completed"
    COMMAND_FAILED = "command.failed"
    TERMINAL_OUTPUT = "terminal.output"
    TERMINAL_SCREEN = "terminal.screen"
    USAGE_UPDATED = "usage.updated"
    SESSION_STARTED = "session.started"
    SESSION_RELEASED = "session.released"
    SESSION_RESUMED = "session.resumed"
    SESSION_FORKED = "session.forked"
    LOG = "log"
    ERROR = "error"

    @property
    def family(self) -> str:
        """What stands before the dot, or the whole name where there is none."""
        return self.value.partition(".")[0]

    @property
    def is_live(self) -> bool:
        """Whether only the session can tell of it.

        The relay itself tells of messages, deliveries and actions, whatever the session declares.
        """
        return self.family not in _FROM_THE_RELAY


class ObservedEvent(Record, tag_field="type"):
    """What all session events have in common."""

    @property
    def type(self) -> AgentSessionEventType:
        """Which event this is."""
        return AgentSessionEventType(self.__struct_config__.tag)


class StatusEvent(ObservedEvent):
    """The session has gone from one status to another."""

    status: AgentStatus
    previous_status: AgentStatus | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        named_after = self.type.value.partition(".")[2]
        if named_after not in {"changed", self.status}:
            raise ValueError(f"the event {self.type.value} cannot carry the status {self.status.value!r}")


class StatusChanged(StatusEvent, tag="status.changed"):
    """The session has gone from one status to another, whichever they are."""


class StatusIdle(StatusEvent, tag="status.idle"):
    """The session has become idle."""


class StatusActive(StatusEvent, tag="status.active"):
    """The session has become active."""


class StatusBlocked(StatusEvent, tag="status.blocked"):
    """The session has become blocked."""


class StatusWaiting(StatusEvent, tag="status.waiting"):
    """The session has begun to wait."""


class StatusOffline(StatusEvent, tag="status.offline"):
    """The session can no longer be reached."""


class ToolEvent(ObservedEvent):
    """Something happened to a tool call; `run` tells calls of one tool apart."""

    run: str | None = None
    tool: str


class ToolCalled(ToolEvent, tag="tool.called"):
    """The agent called a tool."""

    input: Any = None


class ToolCompleted(ToolEvent, tag="tool.completed"):
    """A tool call has ended well."""

    output: Any = None
    duration_ms: Number | None = None


class ToolFailed(ToolEvent, tag="tool.failed"):
    """A tool call has ended with an error."""

    error: str
    retryable: bool = False


class ToolOutput(ToolEvent, tag="tool.output"):
    """A tool that still runs has put out some text."""

    output: str


class MessageReceived(ObservedEvent, tag="message.received"):
    """A message has reached the session."""

    message_id: str
    delivery_id: str | None = None


class MessageSent(ObservedEvent, tag="message.sent"):
    """The session has sent a message."""

    message_id: str


class SessionDeliveryEvent(ObservedEvent):
    """A delivery to this session has come to a new stage."""

    delivery_id: str
    message_id: str


class DeliveryAccepted(SessionDeliveryEvent, tag="delivery.accepted"):
    """The message is held for its boundary."""


class DeliveryDelivered(SessionDeliveryEvent, tag="delivery.delivered"):
    """The message is in the agent's input."""


class DeliveryDeferred(SessionDeliveryEvent, tag="delivery.deferred"):
    """The message cannot be taken before `available_at`."""

    available_at: Moment
    reason: str | None = None


class DeliveryFailed(SessionDeliveryEvent, tag="delivery.failed"):
    """The message was not delivered."""

    reason: str
    retryable: bool = False


class ActionEvent(ObservedEvent):
    """Something happened to an invocation of a registered action."""

    action: str
    invocation_id: str


class ActionInvoked(ActionEvent, tag="action.invoked"):
    """The session asked for an action."""


class ActionCompleted(ActionEvent, tag="action.completed"):
    """The action has ended well."""

    duration_ms: Number | None = None


class ActionFailed(ActionEvent, tag="action.failed"):
    """The action has ended with an error."""

    error: str
    retryable: bool = False


class ActionDenied(ActionEvent, tag="action.denied"):
    """The action was not allowed, and did not run."""

    reason: str


class TranscriptChunk(Record):
    """A piece of the conversation, in the order of `sequence`."""

    id: str
    at: Moment
    role: Literal["agent", "user", "system", "tool"]
    content: str
    sequence: int
    metadata: Metadata = field(default_factory=dict)


class TranscriptChunkAdded(ObservedEvent, tag="transcript.chunk"):
    """The conversation has grown by a piece."""

    chunk: TranscriptChunk


class FileChanged(ObservedEvent, tag="file.changed"):
    """The session has created, changed or deleted a file."""

    path: str
    operation: Literal["create", "update", "delete"]
    diff: str | None = None


class CommandStarted(ObservedEvent, tag="command.started"):
    """The session has started a command."""

    command: str
    cwd: str | None = None


class CommandCompleted(ObservedEvent, tag="command.completed"):
    """A command has run to its end."""

    command: str
    exit_code: int | None = None
    duration_ms: Number | None = None


class CommandFailed(ObservedEvent, tag="command.failed"):
    """A command could not be started, or has ended with an error."""

    command: str
    error: str
    exit_code: int | None = None


class TerminalOutput(ObservedEvent, tag="terminal.output"):
    """A terminal of the session has put out some text."""

    stream: Literal["stdout", "stderr", "combined"] | None = None
    text: str


class TerminalScreen(ObservedEvent, tag="terminal.screen"):
    """What a terminal of the session shows now."""

    text: str
    rows: int | None = None
    cols: int | None = None


class UsageUpdated(ObservedEvent, tag="usage.updated"):
    """What the session has used so far."""

    tokens: int | None = None
    cost_usd: Number | None = None
    metadata: Metadata = field(default_factory=dict)


class SessionStarted(ObservedEvent, tag="session.started"):
    """The session was made, or attached to."""

    session_id: str


class SessionReleased(ObservedEvent, tag="session.released"):
    """The session was released."""

    session_id: str
    reason: str | None = None


class SessionResumed(ObservedEvent, tag="session.resumed"):
    """The session goes on after a pause."""

    session_id: str


class SessionForked(ObservedEvent, tag="session.forked"):
    """The session was made as a fork of another."""

    session_id: str
    parent_session_id: str


class LogWritten(ObservedEvent, tag="log"):
    """The session, or its harness, has something to note."""

    level: Literal["debug", "info", "warn", "error"]
    message: str


class ErrorReported(ObservedEvent, tag="error"):
    """Something went wrong in the session, or in its harness."""

    error: str
    code: str | None = None
    retryable: bool = False


def _kinds(base: type[ObservedEvent]) -> Iterator[type[ObservedEvent]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _kinds(kind)


_BY_TAG = {kind.__struct_config__.tag: kind for kind in _kinds(ObservedEvent)}

EVENT_TYPES: Mapping[str, type[ObservedEvent]] = {kind: _BY_TAG[kind] for kind in AgentSessionEventType}
"""The record of each type. A type that has no record fails right here."""

if TYPE_CHECKING:
    AgentSessionEvent: TypeAlias = ObservedEvent
else:
    AgentSessionEvent = Union[tuple(EVENT_TYPES.values())]  # noqa: UP007 - it is made at run time
"""Any event of a session."""

OBSERVED_BY_HOST = tuple(
    kind
    for kind in AgentSessionEventType
    if kind.is_live
    and kind not in {AgentSessionEventType.STATUS_OFFLINE, AgentSessionEventType.TERMINAL_SCREEN}
)
"""What a host can tell of a session inside it from what happens there, without the session's help."""
