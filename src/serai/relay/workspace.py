"""The relay on a host: who calls, what they may, and what each call does."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, TypeVar

from msgspec.structs import replace

from serai.contract import (
    METHODS,
    ActionDescriptor,
    ActionParams,
    ActionRegisterParams,
    ActionsResult,
    AgentInfo,
    AgentParams,
    AgentSessionCapabilities,
    AgentsListParams,
    AgentsResult,
    AgentStatus,
    CancelParams,
    DeliveriesListParams,
    DeliveriesResult,
    DeliveryParams,
    DeliveryRecord,
    DeliveryState,
    Empty,
    ExtendParams,
    FlushParams,
    HelloResult,
    IdentityKind,
    Inbox,
    InboxParams,
    InviteParams,
    InvokeParams,
    InvokeResult,
    MembersResult,
    MessageParams,
    MessagesListParams,
    MessagesResult,
    MessageUse,
    MuteParams,
    ReactParams,
    ReadParams,
    ReceiptParams,
    Record,
    RegisterParams,
    RegisterResult,
    RelayMessage,
    ReplyParams,
    ReportParams,
    ReportResult,
    Role,
    Room,
    RoomCreateParams,
    RoomKind,
    RoomParams,
    RoomsListParams,
    RoomsResult,
    RoomUpdateParams,
    SearchParams,
    SearchResult,
    SendParams,
    SendResult,
    SubscribeParams,
    SubscribeResult,
    TakeParams,
    TakeResult,
    TokenCreateParams,
    TokenParams,
    TokenResult,
    TokensResult,
    WorkspaceEvent,
    require,
)
from serai.errors import DeliveryFinal, Forbidden, InvalidParams, UnknownDelivery, UnknownMessage
from serai.host.host import Host
from serai.host.identities import Participant
from serai.host.ledger import record_of
from serai.relay.actions import Actions
from serai.relay.adapters import AdapterBox
from serai.relay.boundaries import BOUNDARIES, SessionBox, Wakes
from serai.relay.events import EventStream, wanted
from serai.relay.inbox import Caller, InboxBox, Inboxes
from serai.relay.observer import Observer, check_can_come, wants_live
from serai.relay.policy import RelayPolicy
from serai.relay.post import Post
from serai.relay.registration import register
from serai.relay.rooms import KeptRoom, Rooms
from serai.relay.runner import Box, Runner
from serai.relay.runtime_actions import RuntimeActions
from serai.relay.tokens import Tokens

__all__ = ["WORKSPACE", "Workspace"]

WORKSPACE = "default"
"""The one workspace of a host."""

_LONGEST_WAIT_MS = 10 * 60 * 1000
_STUCK = frozenset({DeliveryState.DEFERRED, DeliveryState.HANDING})

P = TypeVar("P", bound=Record)


class Workspace:
    """The relay of one host.

    Args:
        host: The host; it is open.
        policy: The settings of `[relay]`.
    """

    def __init__(self, host: Host, policy: RelayPolicy) -> None:
        self.host = host
        self.policy = policy
        self.identities = host.identities
        self.ledger = host.ledger
        self.rooms = Rooms(self.ledger, self.identities)
        self.runner = Runner(host.journal, self.ledger, self.identities, policy, self.box_of, self._new_id)
        self.post = Post(
            self.ledger, self.identities, self.rooms, self.runner, host.redactor, policy, self._new_id
        )
        self.inboxes = Inboxes(host.journal, self.ledger, self.identities, self.rooms, self.runner)
        self.actions = Actions(
            self.ledger, self.identities, self.post, self.runner, host.redactor, self._declared, self._new_id
        )
        RuntimeActions(host, self._info).add_to(self.actions)
        self.tokens = Tokens(self.ledger, self.identities)
        self.events = EventStream(host.journal, self.identities, WORKSPACE)
        self.observer = Observer(
            host, self.identities, self.events, lambda one: self.box_of(one).capabilities
        )
        self._boxes: dict[int, Box] = {}
        self._wakes = Wakes()
        self._owner: Participant | None = None
        self._last_id = self._subscribed = 0
        self._maker = secrets.token_hex(4)
        """Ends the ids that are made here, so that nobody else makes the same one."""
        self._calls: dict[str, Callable[[Caller, Any], Awaitable[Any]]] = {
            name: getattr(self, f"_{name.replace('.', '_')}")
            for name in METHODS
            if not name.startswith("events.")
        }

    # -- opening and closing -------------------------------------------------------------------------------

    async def open(self) -> None:
        """Read what there is, and go on with what waits."""
        await self.rooms.open()
        await self.tokens.open()
        self.events.open()
        self.ledger.heard = self._heard
        me = self.policy.me or getpass.getuser()
        self._owner = self.identities.find(me) or self.identities.enlist(me, IdentityKind.HUMAN)
        self.host.postman = self._postman
        for session in self.host.sessions.in_memory():  # those that the host has brought back itself
            session.serve(self._postman(session.uri))
        await self.host.journal.committed()
        for number, waits_for, count in await self.ledger.store.relay("counts_of_waiting"):
            box = self.box_of(self.identities[number])
            if isinstance(box, SessionBox) and waits_for in BOUNDARIES:
                box.waiting[waits_for] += count
            elif isinstance(box, AdapterBox):
                box.waiting += count
        for one in self.identities:
            if one.capabilities is not None:
                self.box_of(one)
            if one.secret is not None:
                self.host.redactor.register(f"{one.handle} webhook", one.secret)
        for box in list(self._boxes.values()):
            if isinstance(box, SessionBox | AdapterBox):
                await box.recover()
        await self.runner.open()

    async def close(self) -> None:
        """Deliver nothing any more. Sessions stay as they are."""
        await self.actions.close()
        self.runner.close()
        for box in self._boxes.values():
            if isinstance(box, AdapterBox):
                box.close()
        await asyncio.gather(*(box.close() for box in self._boxes.values() if isinstance(box, SessionBox)))

    def _heard(self, number: int, event: dict[str, Any]) -> None:
        self.events.heard(number, event)
        self.observer.heard(number, event)

    @property
    def owner(self) -> Participant:
        """The person whose host it is."""
        if self._owner is None:
            raise RuntimeError("the relay is not open")
        return self._owner

    def box_of(self, participant: Participant) -> Box:
        """Where a participant gets its messages."""
        box = self._boxes.get(participant.number)
        if box is None:
            if participant.session is not None:
                box = SessionBox(self.host, participant, self.policy, self._wakes, self.identities.get)
            elif participant.capabilities is not None:
                box = AdapterBox(self.host, participant, self.policy, self.runner.fitting)
            else:
                box = InboxBox(self.ledger)
            self._boxes[participant.number] = box
        return box

    def _postman(self, uri: str) -> SessionBox:
        """Who brings a session of the host what waits for it."""
        box = self.box_of(self.identities.of_session(uri))
        assert isinstance(box, SessionBox)  # noqa: S101 - a session's box is one
        return box

    def _new_id(self, kind: str) -> str:
        """An id that nobody else has, in the order of time."""
        self._last_id = max(self._last_id + 1, time.time_ns() // 1000)
        return f"{kind}_{self._last_id:014x}{self._maker}"

    # -- calls ---------------------------------------------------------------------------------------------

    async def call(self, caller: Caller, method: str, params: Record) -> Any:
        """Do what a method does. What is answered has been committed.

        Raises:
            SeraiError: It cannot be done; nothing of it was.
        """
        if caller.role == Role.OBSERVER and method not in _READING:
            raise Forbidden(f"an observer cannot call {method}", remedy="Use a token of a participant")
        if method not in _MASKED_BY_SENDER:
            params = self.host.redactor.redact_value(params, observed=False)
        result = await self._calls[method](caller, params)
        if method not in _COMMITTED:
            await self.host.journal.committed(patient=False)
        return result

    async def subscribe(
        self, caller: Caller, params: SubscribeParams
    ) -> tuple[SubscribeResult, AsyncGenerator[WorkspaceEvent]]:
        """The events that someone wants and may hear of, and where they begin.

        Raises:
            UnknownTarget: There is no such agent.
            UnknownRoom: There is no such room.
            CapabilityUnsupported: The agent never emits an event of one of the types.
        """
        agent = None
        if params.agent is not None:
            about = self.identities.get(params.agent)
            agent = about.identity.id
            check_can_come(self.box_of(about).capabilities, params.types, about.handle)
        room = self.inboxes.room(caller, params.room).room.id if params.room else None
        after, source = await self.events.starting(params.after)
        wants = wanted(params.types, agent, room)
        live = wants_live(params.types)
        events = self.events.follow(
            after, lambda event: wants(event) and self.inboxes.may_hear(caller, event), live=live
        )
        self._subscribed += 1
        result = SubscribeResult(subscription=str(self._subscribed), source=source, first=str(after[0] + 1))
        return result, self._attended(events) if live else events

    async def _attended(self, events: AsyncGenerator[WorkspaceEvent]) -> AsyncGenerator[WorkspaceEvent]:
        """Events, with what sessions let one observe as long as they are asked for."""
        leave = self.observer.attend()
        try:
            async with contextlib.aclosing(events):
                async for event in events:
                    yield event
        finally:
            leave()

    def _speaker(self, caller: Caller, name: str | None) -> Participant:
        """On whose behalf a call is made."""
        if name is not None:
            if caller.role != Role.OWNER:
                raise Forbidden("only the owner of the host may speak for someone else")
            found = self.identities.get(name)
            if found.session is not None:
                raise Forbidden(f"{found.handle} is an agent with a session: it speaks for itself")
            return found
        if caller.participant is not None:
            return caller.participant
        if caller.role == Role.OWNER:
            return self.owner
        raise Forbidden("an observer speaks for nobody")

    def _sender(self, caller: Caller, name: str | None) -> Participant:
        """On whose behalf something is sent: a session elsewhere only if it declared that it sends."""
        sender = self._speaker(caller, name)
        if sender.capabilities is not None:
            require(sender.capabilities, MessageUse.SEND, agent=sender.identity.name)
        return sender

    def _about(self, caller: Caller, name: str | None) -> Participant:
        """Whom a call is about: someone else only if the owner calls."""
        speaker = self._speaker(caller, None)
        if name is None:
            return speaker
        found = self.identities.get(name)
        if caller.role != Role.OWNER and found.number != speaker.number:
            raise Forbidden(f"only the owner of the host may do this for {found.handle}")
        return found

    async def _hello(self, caller: Caller, _params: Empty) -> HelloResult:
        speaker = caller.participant or (self.owner if caller.role == Role.OWNER else None)
        return HelloResult(
            workspace=WORKSPACE,
            identity=speaker.identity if speaker else None,
            role=caller.role,
            last_event_id=self.events.last_id,
        )

    # -- messages ------------------------------------------------------------------------------------------

    async def _messages_send(self, caller: Caller, params: SendParams) -> SendResult:
        sender = self._sender(caller, params.sender)
        for name in (params.to,) if isinstance(params.to, str) else params.to:
            if (room := self.rooms.find(name)) is not None and not name.startswith("@"):
                self.inboxes.room(caller, room.room.id)
        return await self._sent(await self.post.send(params, sender), params)

    async def _messages_reply(self, caller: Caller, params: ReplyParams) -> SendResult:
        sender = self._sender(caller, params.sender)
        await self.inboxes.message(caller._replace(participant=sender), params.message_id)
        return await self._sent(await self.post.reply(params, sender), params)

    async def _sent(self, result: SendResult, params: SendParams | ReplyParams) -> SendResult:
        """Wait as long as the sender wants to."""
        self.events.remember(result.message)
        seconds = max(0, min(params.timeout_ms, _LONGEST_WAIT_MS)) / 1000
        outcomes = await self.runner.outcomes(result.deliveries, params.wait_for, seconds)
        return replace(result, deliveries=tuple(outcomes))

    async def _messages_get(self, caller: Caller, params: MessageParams) -> RelayMessage:
        return await self.inboxes.message(caller, params.message_id)

    async def _messages_list(self, caller: Caller, params: MessagesListParams) -> MessagesResult:
        room = self.inboxes.room(caller, params.room)
        return MessagesResult(messages=await self.inboxes.last(room, params.before, params.limit))

    async def _messages_thread(self, caller: Caller, params: MessageParams) -> MessagesResult:
        return MessagesResult(messages=await self.inboxes.thread(caller, params.message_id))

    async def _messages_react(self, caller: Caller, params: ReactParams, *, on: bool = True) -> RelayMessage:
        speaker = self._speaker(caller, params.sender)
        message = await self.inboxes.message(caller, params.message_id)
        self.inboxes.react(speaker, message, params.emoji, on=on)
        return await self.inboxes.message(caller, params.message_id)

    async def _messages_unreact(self, caller: Caller, params: ReactParams) -> RelayMessage:
        return await self._messages_react(caller, params, on=False)

    async def _messages_read(self, caller: Caller, params: ReadParams) -> Empty:
        speaker = self._speaker(caller, params.sender)
        self.inboxes.read(speaker, await self.inboxes.message(caller, params.message_id))
        return Empty()

    async def _messages_retract(self, caller: Caller, params: MessageParams) -> SendResult:
        message = await self.inboxes.message(caller, params.message_id)
        speaker = self._speaker(caller, None)
        if caller.role != Role.OWNER and message.sender.id != speaker.identity.id:
            raise Forbidden("only its sender may take a message back")
        return await self.post.retract(message)

    async def _messages_search(self, caller: Caller, params: SearchParams) -> SearchResult:
        return SearchResult(hits=await self.inboxes.search(caller, params.query, params.limit))

    async def _inbox_get(self, caller: Caller, params: InboxParams) -> Inbox:
        speaker = self._speaker(caller, params.sender)
        return await self.inboxes.inbox(speaker, params.limit, peek=params.peek)

    # -- rooms ---------------------------------------------------------------------------------------------

    async def _rooms_create(self, caller: Caller, params: RoomCreateParams) -> Room:
        topic = self.host.redactor.redact_value(params.topic, observed=True)
        return self.rooms.shown(self.rooms.create(params.name, topic, self._speaker(caller, None)))

    async def _rooms_list(self, caller: Caller, params: RoomsListParams) -> RoomsResult:
        rooms = [room for room in self.rooms if self.inboxes.may_see(caller, room)]
        shown = [self.rooms.shown(room) for room in rooms if params.archived or not room.room.archived]
        return RoomsResult(rooms=tuple(sorted(shown, key=lambda room: (room.kind, room.name))))

    async def _rooms_get(self, caller: Caller, params: RoomParams) -> Room:
        return self.rooms.shown(self.inboxes.room(caller, params.room))

    async def _rooms_update(self, caller: Caller, params: RoomUpdateParams) -> Room:
        kept = self.inboxes.room(caller, params.room, to_write=True)
        topic = self.host.redactor.redact_value(params.topic, observed=True)
        self.rooms.update(kept, replace(kept.room, topic=topic))
        return self.rooms.shown(kept)

    async def _rooms_archive(self, caller: Caller, params: RoomParams) -> Room:
        kept = self.inboxes.room(caller, params.room)
        if kept.room.kind != RoomKind.CHANNEL:
            raise Forbidden("a conversation cannot be archived, only a room")
        self.rooms.update(kept, replace(kept.room, archived=True), "room.archived")
        return self.rooms.shown(kept)

    async def _rooms_join(self, caller: Caller, params: RoomParams) -> Room:
        kept = self._open_room(caller, params.room, to_write=True)
        self.rooms.join(kept, self._about(caller, params.agent))
        return self.rooms.shown(kept)

    async def _rooms_leave(self, caller: Caller, params: RoomParams) -> Room:
        kept = self._open_room(caller, params.room)
        self.rooms.leave(kept, self._about(caller, params.agent))
        return self.rooms.shown(kept)

    async def _rooms_invite(self, caller: Caller, params: InviteParams) -> Room:
        kept = self._open_room(caller, params.room, to_write=True)
        self.rooms.join(kept, self.identities.get(params.agent))
        return self.rooms.shown(kept)

    def _open_room(self, caller: Caller, name: str, *, to_write: bool = False) -> KeptRoom:
        """A room that one can join and leave; who is in a conversation never changes."""
        kept = self.inboxes.room(caller, name, to_write=to_write)
        if kept.room.kind != RoomKind.CHANNEL:
            remedy = "Send to all of their handles, or mute it"
            raise Forbidden("nobody comes into a conversation, or leaves it", remedy=remedy)
        return kept

    async def _rooms_members(self, caller: Caller, params: RoomParams) -> MembersResult:
        kept = self.inboxes.room(caller, params.room)
        members = {number: self.identities[number] for number in sorted(kept.members)}
        return MembersResult(
            members=tuple(member.identity for member in members.values()),
            muted=tuple(member.handle for number, member in members.items() if kept.members[number]),
        )

    async def _rooms_mute(self, caller: Caller, params: MuteParams) -> Room:
        kept = self.inboxes.room(caller, params.room)
        member = self._about(caller, params.agent)
        if member.number not in kept.members:
            raise Forbidden(f"{member.handle} is not in this room", remedy="Join it first")
        self.rooms.mute(kept, member, muted=params.muted)
        return self.rooms.shown(kept)

    # -- agents --------------------------------------------------------------------------------------------

    async def _agents_list(self, _caller: Caller, params: AgentsListParams) -> AgentsResult:
        found = [one for one in self.identities if params.gone or not one.gone]
        infos = [self._info(one) for one in sorted(found, key=lambda one: one.identity.name.casefold())]
        return AgentsResult(agents=tuple(infos))

    async def _agents_get(self, _caller: Caller, params: AgentParams) -> AgentInfo:
        return self._info(self.identities.get(params.agent))

    def _info(self, participant: Participant) -> AgentInfo:
        box = self.box_of(participant)
        is_session = isinstance(box, SessionBox)
        is_adapter = isinstance(box, AdapterBox)
        status = self.host.status_of(participant.session) if participant.session else None
        status = box.status if is_adapter else status
        return AgentInfo(
            identity=participant.identity,
            session=participant.session,
            status=AgentStatus.RELEASED if participant.gone else status,
            capabilities=box.capabilities
            if is_session and not participant.gone
            else participant.capabilities,
            waiting=box.waiting.total() if is_session else box.waiting if is_adapter else 0,
        )

    # -- sessions elsewhere --------------------------------------------------------------------------------

    def _adapter(self, caller: Caller, name: str) -> AdapterBox:
        """The box of a session elsewhere that the caller may act for."""
        agent = self._about(caller, name)
        box = self.box_of(agent)
        if not isinstance(box, AdapterBox):
            raise Forbidden(f"{agent.handle} has not registered", remedy="Call sessions.register first")
        return box

    async def _adapter_of(self, caller: Caller, delivery_id: str) -> AdapterBox:
        """The box that a delivery is for."""
        record = await self._delivery(caller, delivery_id)
        return self._adapter(caller, record.agent)

    async def _sessions_register(self, caller: Caller, params: RegisterParams) -> RegisterResult:
        params = replace(params, identity=self.host.redactor.redact_value(params.identity, observed=True))
        new_secret = lambda: secrets.token_urlsafe(32)  # noqa: E731 - it is only handed on
        participant, result = register(self.identities, caller, params, self.policy, new_secret)
        if participant.secret is not None:
            self.host.redactor.register(f"{participant.handle} webhook", participant.secret)
        box = self._boxes.get(participant.number)
        if not isinstance(box, AdapterBox):
            self._boxes.pop(participant.number, None)
            box = self.box_of(participant)
        if isinstance(box, AdapterBox):
            box.registered(participant, caller.link)
        return result

    async def _sessions_unregister(self, caller: Caller, params: AgentParams) -> Empty:
        box = self._adapter(caller, params.agent)
        participant = box.participant
        with self.ledger.watching() as seen:
            await self.host.journal.committed()
            while rows := await self.ledger.store.relay("list_open", participant.number, 1000):
                for record in map(record_of, rows):
                    if (latest := seen.get(record.id, record)).is_open:
                        self.runner.give_up(latest, "unregistered")
                await self.host.journal.committed()
        box.unregistered()
        del self._boxes[participant.number]
        left = replace(participant, capabilities=None, url=None, secret=None, gone=True)
        self.identities.put(left, "session.released")
        return Empty()

    async def _sessions_report(self, caller: Caller, params: ReportParams) -> ReportResult:
        return self._adapter(caller, params.agent).report(params.events)

    async def _deliveries_take(self, caller: Caller, params: TakeParams) -> TakeResult:
        box = self._adapter(caller, params.agent)
        seconds = max(0, min(params.wait_ms, _LONGEST_WAIT_MS)) / 1000
        return TakeResult(offers=await box.fetch(max(1, min(params.limit, 100)), seconds))

    async def _deliveries_receipt(self, caller: Caller, params: ReceiptParams) -> DeliveryRecord:
        delivery_id = params.receipt.delivery_id
        if delivery_id is None:
            raise InvalidParams("a receipt names its delivery", field="params.receipt.deliveryId")
        box = await self._adapter_of(caller, delivery_id)
        return await box.receipt(delivery_id, params.receipt, params.lease, caller.link)

    async def _deliveries_extend(self, caller: Caller, params: ExtendParams) -> DeliveryRecord:
        box = await self._adapter_of(caller, params.delivery_id)
        return box.extend(params.delivery_id, params.lease, caller.link)

    # -- deliveries ----------------------------------------------------------------------------------------

    async def _deliveries_list(self, caller: Caller, params: DeliveriesListParams) -> DeliveriesResult:
        agent = self.identities.get(params.agent) if params.agent else None
        if caller.role == Role.AGENT:
            agent = self._about(caller, params.agent)
        number = agent.number if agent else None
        await self.host.journal.committed()
        state = params.state.value if params.state else ""
        limit = max(1, min(params.limit, 500))
        if params.stuck:
            rows = await self.ledger.store.relay("list_open", number, 5000)
            records = [record for record in map(record_of, rows) if self._is_stuck(record)][:limit]
        else:
            rows = await self.ledger.store.relay("list_deliveries", number, state, 1 << 62, limit)
            records = [record_of(row) for row in rows]
        if caller.role == Role.OBSERVER:
            records = [one for one in records if await self._is_public(one)]
        return DeliveriesResult(deliveries=tuple(records))

    async def _is_public(self, record: DeliveryRecord) -> bool:
        """Whether a delivery is of a message that anyone may read."""
        try:
            await self.inboxes.message(Caller(Role.OBSERVER), record.message_id)
        except UnknownMessage:
            return False
        return True

    def _is_stuck(self, record: DeliveryRecord) -> bool:
        """Whether someone should look at a delivery: it was put off, tried in vain, or waits for a yes."""
        return record.state in _STUCK or record.attempts > 1 or record.waits_for == "approval"

    async def _delivery(self, caller: Caller, delivery_id: str, *, to_change: bool = False) -> DeliveryRecord:
        """A delivery that exists for the caller: its own, or one of a message that it sent."""
        record = await self.runner.record(delivery_id)
        if caller.role == Role.OBSERVER and not await self._is_public(record):
            raise UnknownDelivery(f"there is no delivery {delivery_id!r}")
        if caller.role == Role.AGENT:
            own = self._speaker(caller, None).identity.id
            message = await self.inboxes.message(Caller(Role.OWNER), record.message_id)
            if own not in {record.agent, message.sender.id}:
                raise UnknownDelivery(f"there is no delivery {delivery_id!r}")
            if to_change and message.sender.id != own:
                raise Forbidden("only the sender of its message, or the owner, may change a delivery")
        return record

    async def _deliveries_get(self, caller: Caller, params: DeliveryParams) -> DeliveryRecord:
        return await self._delivery(caller, params.delivery_id)

    async def _deliveries_retry(self, caller: Caller, params: DeliveryParams) -> DeliveryRecord:
        await self._delivery(caller, params.delivery_id, to_change=True)
        return await self.runner.retry(params.delivery_id)

    async def _deliveries_flush(self, caller: Caller, params: FlushParams) -> DeliveriesResult:
        agent = self._about(caller, params.agent)
        return DeliveriesResult(deliveries=tuple(await self.runner.flush(agent, params.mode)))

    async def _deliveries_cancel(self, caller: Caller, params: CancelParams) -> DeliveryRecord:
        await self._delivery(caller, params.delivery_id, to_change=True)
        record = await self.runner.record(params.delivery_id)
        if not record.is_open:
            raise DeliveryFinal(f"{record.id} is {record.state.value} already, and stays so")
        if record.state == DeliveryState.HANDING:
            raise Forbidden(f"{record.id} is on its way to its agent", remedy="Cancel the turn that it began")
        return self.runner.cancel(record, params.reason)

    async def _deliveries_redeliver(self, caller: Caller, params: DeliveryParams) -> DeliveryRecord:
        record = await self._delivery(caller, params.delivery_id, to_change=True)
        if record.is_open:
            raise Forbidden(f"{record.id} is still under way", remedy="Retry or cancel it")
        message = await self.post.message(record.message_id)
        again = SendParams(to=(), mode=record.requested_mode or record.mode, priority=record.priority)
        return self.runner.deliver(
            message,
            self.identities.get(record.agent),
            record.reason,
            self.identities.get(message.sender.id),
            again,
            redelivery_of=record.id,
        )

    # -- actions -------------------------------------------------------------------------------------------

    def _declared(self, participant: Participant) -> AgentSessionCapabilities | None:
        """What the session of a participant declares; `None` for one without a session."""
        if participant.session is not None:
            return self.box_of(participant).capabilities
        return participant.capabilities

    async def _actions_register(self, caller: Caller, params: ActionRegisterParams) -> ActionDescriptor:
        return self.actions.register(params, caller, self._speaker(caller, None))

    async def _actions_unregister(self, caller: Caller, params: ActionParams) -> Empty:
        who = self._speaker(caller, None)
        self.actions.unregister(params.name, who, is_host_owner=caller.role == Role.OWNER)
        return Empty()

    async def _actions_list(self, caller: Caller, _params: Empty) -> ActionsResult:
        who = None if caller.role == Role.OBSERVER else self._speaker(caller, None)
        return ActionsResult(actions=self.actions.list(who))

    async def _actions_invoke(self, caller: Caller, params: InvokeParams) -> InvokeResult:
        return await self.actions.invoke(params, caller, self._speaker(caller, None))

    # -- tokens --------------------------------------------------------------------------------------------

    def _only_owner(self, caller: Caller) -> None:
        if caller.role != Role.OWNER:
            raise Forbidden("only the owner of the host deals with tokens")

    async def _tokens_create(self, caller: Caller, params: TokenCreateParams) -> TokenResult:
        self._only_owner(caller)
        agent = None
        if params.agent is not None:
            found = self.identities.find(params.agent)
            agent = found or self.identities.enlist(params.agent.removeprefix("@"), IdentityKind.SERVICE)
        token, info = self.tokens.create(agent, params.label)
        return TokenResult(token=token, info=info)

    async def _tokens_list(self, caller: Caller, _params: Empty) -> TokensResult:
        self._only_owner(caller)
        return TokensResult(tokens=self.tokens.list())

    async def _tokens_revoke(self, caller: Caller, params: TokenParams) -> Empty:
        self._only_owner(caller)
        self.tokens.revoke(params.id)
        return Empty()


_MASKED_BY_SENDER = frozenset({"messages.send", "messages.reply", "secrets.register"})
"""In whose parameters secrets are masked by who says it, or not at all."""

_COMMITTED = frozenset({"messages.send", "messages.reply"})
"""What is answered by these waited for its commit already, and perhaps for more."""

_READING = frozenset(
    {
        "hello",
        "messages.get",
        "messages.list",
        "messages.thread",
        "messages.search",
        "rooms.list",
        "rooms.get",
        "rooms.members",
        "agents.list",
        "agents.get",
        "actions.list",
        "deliveries.list",
        "deliveries.get",
        "events.subscribe",
        "events.unsubscribe",
    }
)
"""What an observer may call."""
