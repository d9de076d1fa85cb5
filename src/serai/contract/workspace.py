"""What there is in a workspace, as those are told who may see it: rooms, agents, events, actions, tokens."""

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
    """What a token lets its holder do."""

    OWNER = "owner"
    """Everything, also AHP."""
    AGENT = "agent"
    """What one participant may: its own messages, its own deliveries."""
    OBSERVER = "observer"
    """Read what is for all to see, and nothing else."""
    RESPONDER = "responder"
    """Read everything, also over AHP, and answer approvals and questions: for a device of the owner's."""


class RoomKind(StrEnum):
    """What sort of conversation it is."""

    CHANNEL = "channel"
    DM = "dm"
    GROUP_DM = "group_dm"


class Room(Record):
    """A room, or a direct or group conversation."""

    id: str
    kind: RoomKind
    name: str
    """`#ops`; of a conversation, the handles of its members."""
    topic: str | None = None
    archived: bool = False
    members: tuple[str, ...] = ()
    """The handles of those who are in it."""
    created_at: Moment


class UnreadRoom(Record):
    """A room or conversation with messages that are not read."""

    room: Room
    unread: int


class RecentReaction(Record):
    """Someone reacted to a message of the inbox's owner."""

    message_id: str
    emoji: str
    agent: str
    at: Moment


class Inbox(Record):
    """What waits for a participant."""

    rooms: tuple[UnreadRoom, ...] = ()
    conversations: tuple[UnreadRoom, ...] = ()
    mentions: tuple[RelayMessage, ...] = ()
    messages: tuple[RelayMessage, ...] = ()
    """What was delivered by fetching this inbox, oldest first."""
    reactions: tuple[RecentReaction, ...] = ()


class SearchHit(Record):
    """A message, or a turn of a session, that has the words."""

    message: RelayMessage | None = None
    session: str | None = None
    turn_id: str | None = None
    text: str = ""
    """Of a turn: what was asked and answered."""


class AgentInfo(Record):
    """A participant as it is now."""

    identity: AgentIdentity
    session: str | None = None
    status: AgentStatus | None = None
    capabilities: AgentSessionCapabilities | None = None
    waiting: int = 0
    """How many deliveries wait for it."""


class WorkspaceEvent(Record):
    """Something that happened in the workspace. With its id as `after`, all later ones can be had again."""

    id: str
    workspace_id: str
    type: str
    at: Moment
    actor: str | None = None
    """The id of who did it."""
    subject: str | None = None
    """The id of whom it is about."""
    data: Metadata = field(default_factory=dict)
    correlation_id: str | None = None

    @property
    def message(self) -> RelayMessage | None:
        """The message that it is about."""
        told = self.data.get("message")
        return None if told is None else msgspec.convert(told, RelayMessage)

    @property
    def reason(self) -> str | None:
        """Why a delivery was put off, or has failed."""
        return self.data.get("reason")


class EventFilter(Record):
    """Which events: by type (`delivery.*`), agent and room."""

    types: tuple[str, ...] = ()
    agent: str | None = None
    room: str | None = field(name="in", default=None)


class WebhookParams(EventFilter):
    """Where events are posted from now on, signed."""

    url: str


class Webhook(WebhookParams):
    """A webhook, and how far it is."""

    id: str
    delivered_until: str
    """The last event that was taken there, or passed over since it is not wanted."""
    error: str | None = None
    """Why the next one is still tried."""


class ActionRegisterParams(Record):
    """Something that whoever registers it does for others, as long as its connection is there."""

    name: str
    description: str = ""
    input_schema: Metadata = field(default_factory=dict)
    """JSON Schema; empty for anything."""
    output_schema: Metadata | None = None
    available_to: tuple[str, ...] | None = None
    """Names, handles, ids, globs of them, or tags of those who may ask for it; absent for everyone."""


class ActionDescriptor(ActionRegisterParams):
    """A registered action."""

    owner: str | None = None
    """The handle of who registered it; absent for what the host does itself."""


class ActionState(StrEnum):
    """How far an invocation has come."""

    INVOKED = "invoked"
    COMPLETED = "completed"
    FAILED = "failed"
    DENIED = "denied"


class InvokeResult(Record):
    """An invocation, and its outcome where it was waited for."""

    invocation_id: str
    state: ActionState = ActionState.INVOKED
    output: Any = None
    code: str | None = None
    """`validation_failed`, `permission_denied` or `handler_failed`."""
    error: str | None = None


class TokenInfo(Record):
    """A token, by the beginning of its digest."""

    id: str
    role: Role
    agent: str | None = None
    label: str = ""
    created_at: Moment
