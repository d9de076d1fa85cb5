"""The calls of the relay: what each method takes and gives back, once, for every way in.

A method is `family.verb`. Names of rooms are written `#name`, those of participants as handles (`@name`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

from msgspec import field

from serai.contract import workspace as told
from serai.contract.capabilities import AgentSessionCapabilities, LifecycleOperation
from serai.contract.delivery import DeliveryMode, MessageContext, MessageReceipt, Priority
from serai.contract.delivery_record import DeliveryRecord, DeliveryState
from serai.contract.events import AgentSessionEvent
from serai.contract.identity import AgentIdentity, AgentStatus, IdentityKind
from serai.contract.messages import Attachment, RelayMessage
from serai.contract.record import Metadata, Moment, Record, convert
from serai.errors import InvalidParams, MethodNotFound, Mismatch, RelayError, UnknownMode


class WaitFor(StrEnum):
    """How long a send waits before it is answered."""

    ACCEPTED = "accepted"
    DELIVERED = "delivered"
    ANSWERED = "answered"


# -- hello -------------------------------------------------------------------------------------------------


class Empty(Record):
    """Nothing."""


class HelloResult(Record):
    """Who calls, and where the events stand."""

    workspace: str
    identity: AgentIdentity | None = None
    role: told.Role
    last_event_id: str


# -- messages ----------------------------------------------------------------------------------------------


class _Sending(Record):
    text: str = ""
    sender: str | None = field(name="as", default=None)
    """On whose behalf: a person or a service. Only the owner may say."""
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
    """An answer to a message: it begins a thread, or continues one."""

    message_id: str


class SendResult(Record):
    """A message that is stored, and how far it has come to each recipient."""

    message: RelayMessage
    deliveries: tuple[DeliveryRecord, ...] = ()
    unknown_mentions: tuple[str, ...] = ()


class MessageParams(Record):
    """One message."""

    message_id: str


class MessagesListParams(Record):
    """The last messages of a room or conversation, before one of them."""

    room: str
    before: str | None = None
    limit: int = 50


class MessagesResult(Record):
    """Messages, oldest first."""

    messages: tuple[RelayMessage, ...]


class ReadParams(MessageParams):
    """All up to a message is read."""

    sender: str | None = field(name="as", default=None)


class ReactParams(ReadParams):
    """An emoji under a message."""

    emoji: str


class SearchParams(Record):
    """Words to look for, in messages and in completed turns."""

    query: str
    limit: int = 20


class SearchResult(Record):
    """The best first."""

    hits: tuple[told.SearchHit, ...]


class InboxParams(Record):
    """Whose inbox; by default that of whoever calls. `peek` looks without receiving."""

    sender: str | None = field(name="as", default=None)
    limit: int = 50
    peek: bool = False


# -- rooms -------------------------------------------------------------------------------------------------


class RoomCreateParams(Record):
    """A new room."""

    name: str
    topic: str | None = None


class RoomsListParams(Record):
    """Which rooms to list."""

    archived: bool = False


class RoomsResult(Record):
    """Rooms, by name."""

    rooms: tuple[told.Room, ...]


class RoomParams(Record):
    """One room, and who joins or leaves it; by default whoever calls."""

    room: str
    agent: str | None = None


class RoomUpdateParams(RoomParams):
    """A room's new topic."""

    topic: str


class ArchiveParams(RoomParams):
    """Nobody writes in a room any more, or (`archived: false`) everybody may again."""

    archived: bool = True


class InviteParams(Record):
    """Someone else is to be in a room."""

    room: str
    agent: str


class MuteParams(RoomParams):
    """A member hears only of mentions from now on, or (`muted: false`) of all again."""

    muted: bool = True


class MembersResult(Record):
    """Who is in a room."""

    members: tuple[AgentIdentity, ...]
    muted: tuple[str, ...] = ()


# -- agents ------------------------------------------------------------------------------------------------


class AgentsListParams(Record):
    """Which participants to list; those that are gone only if asked for."""

    gone: bool = False


class AgentsResult(Record):
    """Participants, by name."""

    agents: tuple[told.AgentInfo, ...]


# -- sessions: how those elsewhere take part, what they are asked, and operations on any of them -----------


class AgentParams(Record):
    """One participant."""

    agent: str


class Registrant(Record):
    """Who registers. Its id and its handle come from the relay."""

    name: str
    display_name: str | None = None
    description: str | None = None
    kind: IdentityKind = IdentityKind.AGENT
    metadata: Metadata = field(default_factory=dict)


class RegisterParams(Record):
    """A session elsewhere takes part. Registering again under the same name goes on where it was."""

    identity: Registrant
    capabilities: AgentSessionCapabilities
    strict: bool = False
    """Refuse with `name_taken` if someone has the name, also if that is the same session."""
    lease_seconds: float | None = None
    """How long it may take to answer with a receipt."""
    url: str | None = None
    """Where its messages are posted. Without it they go over the connection that registers, or are taken."""


class RegisterResult(Record):
    """Under which identity a session takes part."""

    identity: AgentIdentity
    lease_seconds: float
    secret: str | None = None
    """What the messages to its `url` are signed with. It is shown this once."""


class OperationParams(AgentParams):
    """A session to release, pause, resume, fork or take a snapshot of. Adapters are asked with the same."""

    reason: str | None = None


class OperationResult(Record):
    """What a session does after an operation; of a fork, the new session; of a snapshot, what it holds."""

    status: AgentStatus | None = None
    agent: told.AgentInfo | None = None
    snapshot: Metadata | None = None


class ReportParams(AgentParams):
    """What was observed of a session elsewhere, in its order."""

    events: tuple[AgentSessionEvent, ...]


class ReportResult(Record):
    """How many events were passed on, and the types of those that were not, since they are not declared."""

    passed_on: int
    undeclared: tuple[str, ...] = ()


class DeliveryOffer(Record):
    """A message for a session elsewhere. `receiveMessage` asks with it; `deliveries.take` gives several."""

    agent: str
    message: RelayMessage
    context: MessageContext
    lease: str
    """Names this attempt. A receipt that names it cannot be taken for that of another attempt."""
    lease_until: Moment
    """After this moment the message is offered again, under the same delivery id."""


class HeldParams(OperationParams):
    """A delivery that a session elsewhere holds: `flush` asks to surface it now, `cancel` to give it up."""

    delivery_id: str


class TakeParams(AgentParams):
    """Whose deliveries to take, how many at most, and how long to wait for the first."""

    limit: int = 10
    wait_ms: int = 0


class TakeResult(Record):
    """Messages in their order. Each wants a receipt before its lease is over."""

    offers: tuple[DeliveryOffer, ...]


class ReceiptParams(Record):
    """What became of a message that a session elsewhere was given, or holds."""

    receipt: MessageReceipt
    lease: str | None = None


# -- deliveries --------------------------------------------------------------------------------------------


class DeliveriesListParams(Record):
    """Which deliveries to list: of an agent, in a state, of some messages, or only those that are stuck."""

    agent: str | None = None
    messages: tuple[str, ...] = ()
    """The ids of messages: of these alone."""
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
    """A delivery takes longer: its lease begins anew."""

    lease: str | None = None


class CancelParams(DeliveryParams):
    """A delivery is not wanted any more."""

    reason: str | None = None


class FlushParams(AgentParams):
    """What waits for an agent is delivered now, in one mode or in any, or one delivery of it."""

    mode: DeliveryMode | None = None
    delivery_id: str | None = None


# -- events ------------------------------------------------------------------------------------------------


class SubscribeParams(told.EventFilter):
    """Which events to hear of, from now on or after one of them."""

    after: str | None = None


class SubscribeResult(Record):
    """Where the events of a subscription begin."""

    subscription: str
    source: Literal["live", "replay", "gap"] = field(name="from")
    """`gap`: events after the one that was named are no longer there, up to `first`."""
    first: str
    """Every event that the subscription brings has this id, or a later one."""


class UnsubscribeParams(Record):
    """One subscription of the connection."""

    subscription: str


class WebhookResult(Record):
    """A new webhook. What its posts are signed with is shown this once."""

    webhook: told.Webhook
    secret: str


class WebhooksResult(Record):
    """All webhooks, the oldest first."""

    webhooks: tuple[told.Webhook, ...]


# -- actions -----------------------------------------------------------------------------------------------


class ActionParams(Record):
    """One action."""

    name: str


class ActionsResult(Record):
    """The actions that whoever asks may invoke, by name."""

    actions: tuple[told.ActionDescriptor, ...]


class InvokeParams(Record):
    """Ask for an action. The same `invocationId` again is the same invocation."""

    name: str
    input: Any = None
    invocation_id: str | None = None
    wait_ms: int = 0
    """How long to wait for the outcome; by default the answer comes at once, and the outcome is an event."""


class ActionRunParams(Record):
    """What whoever registered an action is asked (`actions.run`). The answer is the action's output."""

    invocation_id: str
    """The same for a repeat."""
    name: str
    input: Any = None
    caller: AgentIdentity


# -- tokens ------------------------------------------------------------------------------------------------


class TokenCreateParams(Record):
    """A token for one participant, or for an observer."""

    agent: str | None = None
    kind: IdentityKind = IdentityKind.AGENT
    """What a participant is who is new: whoever holds the token cannot say it."""
    label: str = ""


class TokenResult(Record):
    """A new token. It is shown this once."""

    token: str
    info: told.TokenInfo


class DeviceLinkParams(Record):
    """A code by which a device of the owner's gets a token of its own."""

    role: told.Role = told.Role.OWNER
    """`owner`, or `responder` for one that reads and answers."""
    name: str | None = None
    """What the device is called; without one, it says so itself."""


class DeviceLinkResult(Record):
    """A code. It opens the door once."""

    code: str
    expires_at: Moment


class IdParams(Record):
    """One token, or one webhook."""

    id: str


class TokensResult(Record):
    """All tokens that are not revoked."""

    tokens: tuple[told.TokenInfo, ...]


class SecretParams(Record):
    """A value that is masked from now on, wherever it turns up, as `[secret:name]`."""

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
    "inbox.get": (InboxParams, told.Inbox),
    "rooms.create": (RoomCreateParams, told.Room),
    "rooms.list": (RoomsListParams, RoomsResult),
    "rooms.get": (RoomParams, told.Room),
    "rooms.update": (RoomUpdateParams, told.Room),
    "rooms.archive": (ArchiveParams, told.Room),
    "rooms.join": (RoomParams, told.Room),
    "rooms.leave": (RoomParams, told.Room),
    "rooms.invite": (InviteParams, told.Room),
    "rooms.members": (RoomParams, MembersResult),
    "rooms.mute": (MuteParams, told.Room),
    "agents.list": (AgentsListParams, AgentsResult),
    "agents.get": (AgentParams, told.AgentInfo),
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
    "actions.register": (told.ActionRegisterParams, told.ActionDescriptor),
    "actions.unregister": (ActionParams, Empty),
    "actions.list": (Empty, ActionsResult),
    "actions.invoke": (InvokeParams, told.InvokeResult),
    "devices.link": (DeviceLinkParams, DeviceLinkResult),
    "tokens.create": (TokenCreateParams, TokenResult),
    "tokens.list": (Empty, TokensResult),
    "tokens.revoke": (IdParams, Empty),
    "webhooks.create": (told.WebhookParams, WebhookResult),
    "webhooks.list": (Empty, WebhooksResult),
    "webhooks.delete": (IdParams, Empty),
    "secrets.register": (SecretParams, Empty),
}
"""Each method, with what it takes and what it gives back."""


def read_params(method: str, given: Any) -> Record:
    """Read the parameters of a method.

    Raises:
        MethodNotFound: There is no such method.
        UnknownMode: They name a delivery mode that there is not.
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
    """Why parameters are refused that do not fit."""
    if error.field == "mode":
        problem = f"there is no such delivery mode: {error.problem}"
        return UnknownMode(problem, remedy=f"Use {', '.join(DeliveryMode)}")
    return InvalidParams(error.message, field=error.field)
