"""Session events: the observable events of one session, each type with its own fields.

`AgentSessionEvent` is the union of them all; on the wire `type` tells which it is. Events of the status
family come in pairs: with each `StatusChanged` comes the event that is named after the new status, where
there is one, with the same fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union

from msgspec import field

from serai.contract.identity import AgentStatus
from serai.contract.record import Metadata, Moment, Number, Record, RecordType

_FROM_THE_RELAY = frozenset({"message", "delivery", "action"})


class AgentSessionEventType(StrEnum):
    """The type of a session event. The part before the dot is its family."""

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
        """The part before the dot, or the whole name if there is none."""
        return self.value.partition(".")[0]

    @property
    def is_live(self) -> bool:
        """True when only the session itself can report it.

        The relay itself reports messages, deliveries and actions, whatever the session declares.
        """
        return self.family not in _FROM_THE_RELAY


class ObservedEvent(Record, tag_field="type"):
    """The base of all session events."""

    @property
    def type(self) -> AgentSessionEventType:
        """The type of this event."""
        return AgentSessionEventType(self.__struct_config__.tag)


class StatusEvent(ObservedEvent):
    """The status of the session has changed."""

    status: AgentStatus
    previous_status: AgentStatus | None = None
    reason: str | None = None

    def __post_init__(self) -> None:
        named_after = self.type.value.partition(".")[2]
        if named_after not in {"changed", self.status}:
            raise ValueError(f"the event {self.type.value} cannot carry the status {self.status.value!r}")


class StatusChanged(StatusEvent, tag="status.changed"):
    """The status of the session has changed, to any status."""


_NAMED_AFTER_STATUS = tuple(
    RecordType(f"Status{name.title()}", (StatusEvent,), {}, tag=f"status.{name}")
    for name in ("idle", "active", "blocked", "waiting", "offline")
)
"""Records of the events that are named after a status."""


class ToolEvent(ObservedEvent):
    """The base of events about a tool call. `run` distinguishes calls of one tool."""

    run: str | None = None
    tool: str


class ToolCalled(ToolEvent, tag="tool.called"):
    """The agent called a tool."""

    input: Any = None


class ToolCompleted(ToolEvent, tag="tool.completed"):
    """A tool call has succeeded."""

    output: Any = None
    duration_ms: Number | None = None


class ToolFailed(ToolEvent, tag="tool.failed"):
    """A tool call has failed."""

    error: str
    retryable: bool = False


class ToolOutput(ToolEvent, tag="tool.output"):
    """A running tool has put out text."""

    output: str


class MessageReceived(ObservedEvent, tag="message.received"):
    """A message has reached the session."""

    message_id: str
    delivery_id: str | None = None


class MessageSent(ObservedEvent, tag="message.sent"):
    """The session has sent a message."""

    message_id: str


class SessionDeliveryEvent(ObservedEvent):
    """The base of events about a delivery to this session."""

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
    """The base of events about an invocation of a registered action."""

    action: str
    invocation_id: str


class ActionInvoked(ActionEvent, tag="action.invoked"):
    """The session has invoked an action."""


class ActionCompleted(ActionEvent, tag="action.completed"):
    """The action has succeeded."""

    duration_ms: Number | None = None


class ActionFailed(ActionEvent, tag="action.failed"):
    """The action has failed."""

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
    """A piece was added to the conversation."""

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
    """A terminal of the session has put out text."""

    stream: Literal["stdout", "stderr", "combined"] | None = None
    text: str


class TerminalScreen(ObservedEvent, tag="terminal.screen"):
    """The screen of a terminal of the session has changed."""

    text: str
    rows: int | None = None
    cols: int | None = None


class UsageUpdated(ObservedEvent, tag="usage.updated"):
    """The usage of the session so far has changed."""

    tokens: int | None = None
    cost_usd: Number | None = None
    metadata: Metadata = field(default_factory=dict)


class SessionStarted(ObservedEvent, tag="session.started"):
    """The session was created, or attached to."""

    session_id: str


class SessionReleased(ObservedEvent, tag="session.released"):
    """The session was released."""

    session_id: str
    reason: str | None = None


class SessionResumed(ObservedEvent, tag="session.resumed"):
    """The session was resumed after a pause."""

    session_id: str


class SessionForked(ObservedEvent, tag="session.forked"):
    """The session was created as a fork of another."""

    session_id: str
    parent_session_id: str


class LogWritten(ObservedEvent, tag="log"):
    """The session, or its harness, has written a log entry."""

    level: Literal["debug", "info", "warn", "error"]
    message: str


class ErrorReported(ObservedEvent, tag="error"):
    """The session, or its harness, has reported an error."""

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
"""The live events that a host can derive for its own sessions, without their help."""
