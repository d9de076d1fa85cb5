"""The methods of the relay, with their parameters and results, for every transport.

A method is `family.verb`. Names of rooms are written `#name`, those of participants as handles (`@name`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

from msgspec import field

from serai.contract import workspace as ws
from serai.contract.capabilities import AgentSessionCapabilities, LifecycleOperation
from serai.contract.delivery import DeliveryMode, MessageContext, MessageReceipt, Priority
from serai.contract.delivery_record import DeliveryRecord, DeliveryState
from serai.contract.events import AgentSessionEvent
from serai.contract.identity import AgentIdentity, AgentStatus, IdentityKind
from serai.contract.messages import Attachment, RelayMessage
from serai.contract.record import Metadata, Moment, Record, convert
from serai.errors import InvalidParams, MethodNotFound, Mismatch, RelayError, UnknownMode


class WaitFor(StrEnum):
    """The event that a send waits for before it is answered."""

    ACCEPTED = "accepted"
    DELIVERED = "delivered"
    ANSWERED = "answered"


# -- hello -------------------------------------------------------------------------------------------------


class Empty(Record):
    """No parameters, or no result."""


class HelloResult(Record):
    """The caller, and the position of the events."""

    workspace: str
    identity: AgentIdentity | None = None
    role: ws.Role
    last_event_id: str


# -- messages ----------------------------------------------------------------------------------------------


class _Sending(Record):
    text: str = ""
    sender: str | None = field(name="as", default=None)
    """The sender, if it is not the caller: a person or a service. Only the owner may set it."""
    mode: DeliveryMode | None = None
    priority: Priority = Priority.NORMAL
    deadline: Moment | None = None
    attachments: tuple[Attachment, ...] = ()
    idempotency_key: str | None = None
    metadata: Metadata = field(default_factory=dict)
    wait_for: WaitFor = WaitFor.ACCEPTED
    timeout_ms: int = 30_000


class SendParams(_Sending):
    """A new message: to `#room`, to `@handle`, or to several handles."""

    to: str | tuple[str, ...]


class ReplyParams(_Sending):
    """An answer to a message: it starts a thread, or continues one."""

    message_id: str


class SendResult(Record):
    """A stored message, and its delivery to each recipient."""

    message: RelayMessage
    deliveries: tuple[DeliveryRecord, ...] = ()
    unknown_mentions: tuple[str, ...] = ()


class MessageParams(Record):
    """One message."""

    message_id: str


class MessagesListParams(Record):
    """The latest messages of a room or conversation, or those before one of them."""

    room: str
    before: str | None = None
    limit: int = 50


class MessagesResult(Record):
    """Messages, oldest first."""

    messages: tuple[RelayMessage, ...]


class ReadParams(MessageParams):
    """A message up to which everything is read."""

    sender: str | None = field(name="as", default=None)


class ReactParams(ReadParams):
    """An emoji to add or remove under a message."""

    emoji: str


class SearchParams(Record):
    """A search for words in messages and completed turns."""

    query: str
    limit: int = 20


class SearchResult(Record):
    """The hits, best first."""

    hits: tuple[ws.SearchHit, ...]


class InboxParams(Record):
    """The owner of an inbox; by default the caller. `peek` reads without receiving."""

    sender: str | None = field(name="as", default=None)
    limit: int = 50
    peek: bool = False


# -- rooms -------------------------------------------------------------------------------------------------


class RoomCreateParams(Record):
    """A new room."""

    name: str
    topic: str | None = None


class RoomsListParams(Record):
    """A filter of rooms."""

    archived: bool = False


class RoomsResult(Record):
    """Rooms, by name."""

    rooms: tuple[ws.Room, ...]


class RoomParams(Record):
    """A room, and a participant; by default the caller."""

    room: str
    agent: str | None = None


class RoomUpdateParams(RoomParams):
    """A new topic of a room."""

    topic: str


class ArchiveParams(RoomParams):
    """A room to archive, or (`archived: false`) to open again."""

    archived: bool = True


class InviteParams(Record):
    """A room, and a participant to add to it."""

    room: str
    agent: str


class MuteParams(RoomParams):
    """A room whose member gets only mentions from now on, or (`muted: false`) all messages again."""

    muted: bool = True


class MembersResult(Record):
    """The members of a room."""

    members: tuple[AgentIdentity, ...]
    muted: tuple[str, ...] = ()


# -- agents ------------------------------------------------------------------------------------------------


class AgentsListParams(Record):
    """A filter of participants. Those that have left are listed only with `gone`."""

    gone: bool = False


class AgentsResult(Record):
    """Participants, by name."""

    agents: tuple[ws.AgentInfo, ...]


# -- sessions: how those elsewhere take part, what they are asked, and operations on any of them -----------


class AgentParams(Record):
    """One participant."""

    agent: str


class Registrant(Record):
    """The identity of a session that registers. The relay assigns its id and its handle."""

    name: str
    display_name: str | None = None
    description: str | None = None
    kind: IdentityKind = IdentityKind.AGENT
    metadata: Metadata = field(default_factory=dict)


class RegisterParams(Record):
    """The registration of an external session. Another one under the same name continues it."""

    identity: Registrant
    capabilities: AgentSessionCapabilities
    strict: bool = False
    """Refuses with `name_taken` if the name is in use, even by the same session."""
    lease_seconds: float | None = None
    """Seconds in which it must answer with a receipt."""
    url: str | None = None
    """URL to which its messages are posted. Without it they go over the registering connection, or are
    taken."""


class RegisterResult(Record):
    """The identity of a registered session."""

    identity: AgentIdentity
    lease_seconds: float
    secret: str | None = None
    """Secret by which messages to its `url` are signed. It is shown only once."""


class OperationParams(AgentParams):
    """A session to release, pause, resume, fork or take a snapshot of. Adapters get the same parameters."""

    reason: str | None = None


class OperationResult(Record):
    """The status after an operation; after a fork, the new session; after a snapshot, its content."""

    status: AgentStatus | None = None
    agent: ws.AgentInfo | None = None
    snapshot: Metadata | None = None


class ReportParams(AgentParams):
    """Events of an external session, in their order."""

    events: tuple[AgentSessionEvent, ...]


class ReportResult(Record):
    """The number of published events, and the types of the others, which the session does not declare."""

    passed_on: int
    undeclared: tuple[str, ...] = ()


class DeliveryOffer(Record):
    """A message for an external session, in `receiveMessage` and in the result of `deliveries.take`."""

    agent: str
    message: RelayMessage
    context: MessageContext
    lease: str
    """Id of this attempt. A receipt with it cannot be mistaken for the receipt of another attempt."""
    lease_until: Moment
    """Moment after which the message is offered again, under the same delivery id."""


class HeldParams(OperationParams):
    """A delivery that an external session holds: `flush` asks to surface it now, `cancel` to drop it."""

    delivery_id: str


class TakeParams(AgentParams):
    """The session whose deliveries are taken, their limit, and the time to wait for the first."""

    limit: int = 10
    wait_ms: int = 0


class TakeResult(Record):
    """Messages in their order. Each needs a receipt before its lease expires."""

    offers: tuple[DeliveryOffer, ...]


class ReceiptParams(Record):
    """A receipt of an external session for a message that it was offered, or holds."""

    receipt: MessageReceipt
    lease: str | None = None


# -- deliveries --------------------------------------------------------------------------------------------


class DeliveriesListParams(Record):
    """A filter of deliveries: of an agent, in a state, of some messages, or only those that are stuck."""

    agent: str | None = None
    messages: tuple[str, ...] = ()
    """Ids of messages whose deliveries are listed."""
    state: DeliveryState | None = None
    stuck: bool = False
    limit: int = 50


class DeliveriesResult(Record):
    """Deliveries, newest first; those of a flush in their order."""

    deliveries: tuple[DeliveryRecord, ...]


class DeliveryParams(Record):
    """One delivery."""

    delivery_id: str


class ExtendParams(DeliveryParams):
    """A delivery whose lease starts again."""

    lease: str | None = None


class CancelParams(DeliveryParams):
    """A delivery to cancel."""

    reason: str | None = None


class FlushParams(AgentParams):
    """Waiting deliveries of an agent to deliver now: of one mode, of any, or only one."""

    mode: DeliveryMode | None = None
    delivery_id: str | None = None


# -- events ------------------------------------------------------------------------------------------------


class SubscribeParams(ws.EventFilter):
    """A subscription to events, from now on or after one of them."""

    after: str | None = None


class SubscribeResult(Record):
    """The start of a subscription."""

    subscription: str
    source: Literal["live", "replay", "gap"] = field(name="from")
    """With `gap`, events between the requested one and `first` are no longer stored."""
    first: str
    """Id of the first event that the subscription may bring."""


class UnsubscribeParams(Record):
    """A subscription of the connection to end."""

    subscription: str


class WebhookResult(Record):
    """A new webhook, and the secret by which its posts are signed, which is shown only once."""

    webhook: ws.Webhook
    secret: str


class WebhooksResult(Record):
    """All webhooks, the oldest first."""

    webhooks: tuple[ws.Webhook, ...]


# -- actions -----------------------------------------------------------------------------------------------


class ActionParams(Record):
    """One action."""

    name: str


class ActionsResult(Record):
    """The actions that the caller may invoke, by name."""

    actions: tuple[ws.ActionDescriptor, ...]


class InvokeParams(Record):
    """An invocation of an action. The same `invocationId` again is the same invocation."""

    name: str
    input: Any = None
    invocation_id: str | None = None
    wait_ms: int = 0
    """Time to wait for the outcome, in milliseconds; by default the outcome is only an event."""


class ActionRunParams(Record):
    """The parameters of `actions.run`, which asks an action's owner. The answer is the action's output."""

    invocation_id: str
    """Id of the invocation, the same for a repeat."""
    name: str
    input: Any = None
    caller: AgentIdentity


# -- tokens ------------------------------------------------------------------------------------------------


class TokenCreateParams(Record):
    """A token for one participant, or for an observer."""

    agent: str | None = None
    kind: IdentityKind = IdentityKind.AGENT
    """Kind of a participant that is new: the holder of the token cannot choose it."""
    label: str = ""


class TokenResult(Record):
    """A new token. It is shown only once."""

    token: str
    info: ws.TokenInfo


class DeviceLinkParams(Record):
    """A request for a code by which a device of the owner gets its own token."""

    role: ws.Role = ws.Role.OWNER
    """`owner`, or `responder` for one that reads and answers."""
    name: str | None = None
    """Name of the device; without one, the device names itself."""


class DeviceLinkResult(Record):
    """A code. It can be redeemed once."""

    code: str
    expires_at: Moment


class IdParams(Record):
    """The id of a token or a webhook."""

    id: str


class TokensResult(Record):
    """All tokens that are not revoked."""

    tokens: tuple[ws.TokenInfo, ...]


class SecretParams(Record):
    """A value that is masked from now on, wherever it occurs, as `[secret:name]`."""

    name: str
    value: str


METHODS: Mapping[str, tuple[type[Record], Any]] = {
    "hello": (Empty, HelloResult),
    "messages.send": (SendParams, SendResult),
    "messages.reply": (ReplyParams, SendResult),
    "messages.get": (MessageParams, RelayMessage),
    "messages.list": (MessagesListParams, MessagesResult),
    "messages.thread": (MessageParams, MessagesResult),
    "messages.react": (ReactParams, RelayMessage),
    "messages.unreact": (ReactParams, RelayMessage),
    "messages.read": (ReadParams, Empty),
    "messages.retract": (MessageParams, SendResult),
    "messages.search": (SearchParams, SearchResult),
    "inbox.get": (InboxParams, ws.Inbox),
    "rooms.create": (RoomCreateParams, ws.Room),
    "rooms.list": (RoomsListParams, RoomsResult),
    "rooms.get": (RoomParams, ws.Room),
    "rooms.update": (RoomUpdateParams, ws.Room),
    "rooms.archive": (ArchiveParams, ws.Room),
    "rooms.join": (RoomParams, ws.Room),
    "rooms.leave": (RoomParams, ws.Room),
    "rooms.invite": (InviteParams, ws.Room),
    "rooms.members": (RoomParams, MembersResult),
    "rooms.mute": (MuteParams, ws.Room),
    "agents.list": (AgentsListParams, AgentsResult),
    "agents.get": (AgentParams, ws.AgentInfo),
    "sessions.register": (RegisterParams, RegisterResult),
    "sessions.unregister": (AgentParams, Empty),
    "sessions.report": (ReportParams, ReportResult),
    **{f"sessions.{one}": (OperationParams, OperationResult) for one in LifecycleOperation},
    "deliveries.list": (DeliveriesListParams, DeliveriesResult),
    "deliveries.get": (DeliveryParams, DeliveryRecord),
    "deliveries.take": (TakeParams, TakeResult),
    "deliveries.receipt": (ReceiptParams, DeliveryRecord),
    "deliveries.extend": (ExtendParams, DeliveryRecord),
    "deliveries.retry": (DeliveryParams, DeliveryRecord),
    "deliveries.flush": (FlushParams, DeliveriesResult),
    "deliveries.cancel": (CancelParams, DeliveryRecord),
    "deliveries.redeliver": (DeliveryParams, DeliveryRecord),
    "events.subscribe": (SubscribeParams, SubscribeResult),
    "events.unsubscribe": (UnsubscribeParams, Empty),
    "actions.register": (ws.ActionRegisterParams, ws.ActionDescriptor),
    "actions.unregister": (ActionParams, Empty),
    "actions.list": (Empty, ActionsResult),
    "actions.invoke": (InvokeParams, ws.InvokeResult),
    "devices.link": (DeviceLinkParams, DeviceLinkResult),
    "tokens.create": (TokenCreateParams, TokenResult),
    "tokens.list": (Empty, TokensResult),
    "tokens.revoke": (IdParams, Empty),
    "webhooks.create": (ws.WebhookParams, WebhookResult),
    "webhooks.list": (Empty, WebhooksResult),
    "webhooks.delete": (IdParams, Empty),
    "secrets.register": (SecretParams, Empty),
}
"""The methods, each with the types of its parameters and its result."""


def read_params(method: str, given: Any) -> Record:
    """Read the parameters of a method.

    Raises:
        MethodNotFound: There is no such method.
        UnknownMode: They name a delivery mode that does not exist.
        InvalidParams: They do not fit.
    """
    found = METHODS.get(method)
    if found is None:
        raise MethodNotFound(f"there is no method {method!r}")
    try:
        return convert({} if given is None else given, found[0])
    except Mismatch as error:
        raise misfit(error) from None


def misfit(error: Mismatch) -> RelayError | InvalidParams:
    """Return the error for parameters that do not fit."""
    if error.field == "mode":
        problem = f"there is no such delivery mode: {error.problem}"
        return UnknownMode(problem, remedy=f"Use {', '.join(DeliveryMode)}")
    return InvalidParams(error.message, field=error.field)
