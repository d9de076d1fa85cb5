"""The contents of a workspace, as callers see them: rooms, agents, events, actions, tokens."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec
from msgspec import field

from serai.contract.capabilities import AgentSessionCapabilities
from serai.contract.identity import AgentIdentity, AgentStatus
from serai.contract.messages import RelayMessage
from serai.contract.record import Metadata, Moment, Record


class Role(StrEnum):
    """The permissions of a token's holder."""

    OWNER = "owner"
    """Everything, including AHP."""
    AGENT = "agent"
    """The rights of one participant: its own messages and its own deliveries."""
    OBSERVER = "observer"
    """Read what is public, and nothing else."""
    RESPONDER = "responder"
    """Read everything, including AHP, and answer approvals and questions: for a device of the owner."""


class RoomKind(StrEnum):
    """The kind of a room."""

    CHANNEL = "channel"
    DM = "dm"
    GROUP_DM = "group_dm"


class Room(Record):
    """A room, or a direct or group conversation."""

    id: str
    kind: RoomKind
    name: str
    """Name such as `#ops`; for a conversation, the handles of its members."""
    topic: str | None = None
    archived: bool = False
    members: tuple[str, ...] = ()
    """Handles of its members."""
    created_at: Moment


class UnreadRoom(Record):
    """A room or conversation with unread messages."""

    room: Room
    unread: int


class RecentReaction(Record):
    """A reaction to a message of the inbox's owner."""

    message_id: str
    emoji: str
    agent: str
    at: Moment


class Inbox(Record):
    """The unread messages, mentions and reactions of a participant."""

    rooms: tuple[UnreadRoom, ...] = ()
    conversations: tuple[UnreadRoom, ...] = ()
    mentions: tuple[RelayMessage, ...] = ()
    messages: tuple[RelayMessage, ...] = ()
    """Messages that were delivered by fetching this inbox, oldest first."""
    reactions: tuple[RecentReaction, ...] = ()


class SearchHit(Record):
    """A message, or a turn of a session, that matches a search."""

    message: RelayMessage | None = None
    session: str | None = None
    turn_id: str | None = None
    text: str = ""
    """Question and answer of a turn."""


class AgentInfo(Record):
    """A participant as it is now."""

    identity: AgentIdentity
    session: str | None = None
    status: AgentStatus | None = None
    capabilities: AgentSessionCapabilities | None = None
    waiting: int = 0
    """Number of deliveries that wait for it."""


class WorkspaceEvent(Record):
    """An event of the workspace. With its id as `after`, all later ones can be replayed."""

    id: str
    workspace_id: str
    type: str
    at: Moment
    actor: str | None = None
    """Id of the participant who caused it."""
    subject: str | None = None
    """Id of the participant whom it is about."""
    data: Metadata = field(default_factory=dict)
    correlation_id: str | None = None

    @property
    def message(self) -> RelayMessage | None:
        """The message that it is about."""
        message = self.data.get("message")
        return None if message is None else msgspec.convert(message, RelayMessage)

    @property
    def reason(self) -> str | None:
        """The reason why a delivery was deferred, or has failed."""
        return self.data.get("reason")


class EventFilter(Record):
    """A filter of events: by type (`delivery.*`), agent and room."""

    types: tuple[str, ...] = ()
    agent: str | None = None
    room: str | None = field(name="in", default=None)


class WebhookParams(EventFilter):
    """A webhook to create: events are posted to it from now on, signed."""

    url: str


class Webhook(WebhookParams):
    """A webhook, and its progress."""

    id: str
    delivered_until: str
    """Id of the last event that was posted there, or skipped by the filter."""
    error: str | None = None
    """Error of the last attempt, while the next event is being retried."""


class ActionRegisterParams(Record):
    """An action to register, which exists as long as its owner's connection."""

    name: str
    description: str = ""
    input_schema: Metadata = field(default_factory=dict)
    """JSON Schema of the input; empty for anything."""
    output_schema: Metadata | None = None
    available_to: tuple[str, ...] | None = None
    """Names, handles, ids, globs of them, or tags of those who may invoke it; absent for everyone."""


class ActionDescriptor(ActionRegisterParams):
    """A registered action."""

    owner: str | None = None
    """Handle of its owner; absent for actions of the host itself."""


class ActionState(StrEnum):
    """The progress of an invocation."""

    INVOKED = "invoked"
    COMPLETED = "completed"
    FAILED = "failed"
    DENIED = "denied"


class InvokeResult(Record):
    """An invocation, and its outcome if the call has waited for it."""

    invocation_id: str
    state: ActionState = ActionState.INVOKED
    output: Any = None
    code: str | None = None
    """`validation_failed`, `permission_denied` or `handler_failed`."""
    error: str | None = None


class TokenInfo(Record):
    """A token, identified by the beginning of its digest."""

    id: str
    role: Role
    agent: str | None = None
    label: str = ""
    created_at: Moment
