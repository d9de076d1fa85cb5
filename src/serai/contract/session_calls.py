"""Calls about sessions: how those elsewhere take part, what they are asked, and operations on any of them."""

from __future__ import annotations

from msgspec import field

from serai.contract.capabilities import AgentSessionCapabilities
from serai.contract.delivery import MessageContext, MessageReceipt
from serai.contract.events import AgentSessionEvent
from serai.contract.identity import AgentIdentity, AgentStatus, IdentityKind
from serai.contract.messages import RelayMessage
from serai.contract.record import Metadata, Moment, Record
from serai.contract.workspace import AgentInfo


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
    agent: AgentInfo | None = None
    snapshot: Metadata | None = None


class ReportParams(AgentParams):
    """What was observed of a session elsewhere, in its order."""

    events: tuple[AgentSessionEvent, ...]


class ReportResult(Record):
    """How many events were passed on, and the types of those that were not, since they are not declared."""

    passed_on: int
    undeclared: tuple[str, ...] = ()


class Offer(Record):
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

    offers: tuple[Offer, ...]


class ReceiptParams(Record):
    """What became of a message that a session elsewhere was given, or holds."""

    receipt: MessageReceipt
    lease: str | None = None
