"""The methods of the relay, and who may call them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from serai import contract as c
from serai.contract import DeliveryState, Role
from serai.errors import (
    DeliveryFinal,
    Forbidden,
    InvalidParams,
    UnknownDelivery,
    UnknownMessage,
    UnknownTarget,
)
from serai.host.identities import Participant
from serai.host.ledger import ALL, record_of
from serai.redact.managed import SHORTEST
from serai.relay import WorkspacePart
from serai.relay.delivery.adapter_queue import AdapterQueue
from serai.relay.delivery.runner import check_kept
from serai.relay.messages.rooms import KeptRoom
from serai.relay.tokens import Caller

if TYPE_CHECKING:
    from serai.relay.workspace import Workspace

_LONGEST_WAIT_MS = 10 * 60 * 1000
_STUCK = frozenset({DeliveryState.DEFERRED, DeliveryState.HANDING})
_PAGE = 500
_MOST_STUCK = 5000

_SENDING = frozenset({"messages.send", "messages.reply"})
"""The methods that send: their answers are committed already, and are as their sender gets them."""
_MASKED_BY_SENDER = _SENDING | {"secrets.register", "webhooks.create"}
"""The methods whose parameters are masked elsewhere, or not at all: a URL may have a secret."""

_READING: dict[str, tuple[str, ...]] = {
    "hello": ("",),
    "messages": ("get", "list", "thread", "search"),
    "rooms": ("list", "get", "members"),
    "agents": ("list", "get"),
    "actions": ("list",),
    "deliveries": ("list", "get"),
}
"""The methods for callers who only read."""

_OWNERS = frozenset({"devices", "tokens", "webhooks", "secrets"})
"""The families of methods for the owner alone."""


class RelayMethods(WorkspacePart):
    """The methods of one workspace. A method `family.verb` is `_family_verb` here, or `verb` of a part."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._rooms = workspace.rooms
        self._inboxes = workspace.inboxes
        self._runner = workspace.runner
        self._post = workspace.post
        parts = {
            "messages": workspace.inboxes,
            "inbox": workspace.inboxes,
            "actions": workspace.actions,
            "devices": workspace.tokens,
            "sessions": workspace.lifecycle,
            "tokens": workspace.tokens,
            "webhooks": workspace.webhooks,
        }
        self._methods: dict[str, Callable[[Caller, Any], Any]] = {
            f"sessions.{operation}": partial(workspace.lifecycle.operate, operation)
            for operation in c.LifecycleOperation
        }
        for name in c.METHODS:
            family, _, verb = name.partition(".")
            if name not in self._methods and family != "events":
                own = getattr(self, f"_{name.replace('.', '_')}", None)
                self._methods[name] = own or getattr(parts[family], verb)

    async def call(self, caller: Caller, method: str, params: c.Record) -> Any:
        """Call a method. What it answers has been committed.

        Raises:
            SeraiError: It cannot be done; nothing of it was.
        """
        family, _, verb = method.partition(".")
        if caller.only_reads and verb not in _READING.get(family, ()):
            who = f"an {caller.role}" if caller.role == Role.OBSERVER else f"a {caller.role}"
            raise Forbidden(f"{who} cannot call {method}", remedy="Use a token of a participant")
        if caller.role != Role.OWNER and family in _OWNERS:
            raise Forbidden(f"only the owner of the host may call {method}")
        if method not in _MASKED_BY_SENDER:
            params = self._host.redactor.redact_value(params, observed=False)
        result = self._methods[method](caller, params)
        if isawaitable(result):
            result = await result
        if method in _SENDING:
            return result
        await self._host.journal.committed(patient=False)
        match result:
            case KeptRoom():
                return self._rooms.shown(result)
            case c.DeliveryRecord():
                return (await self._shown([result]))[0]
            case c.SendResult() | c.DeliveriesResult():
                return replace(result, deliveries=await self._shown(result.deliveries))
            case _:
                return result

    async def _shown(self, records: Iterable[c.DeliveryRecord]) -> tuple[c.DeliveryRecord, ...]:
        """Return records as callers see them: with the agent's handle, and the number of their commit."""
        told: list[c.DeliveryRecord] = []
        for record in records:
            number = record.sequence or self._ledger.sequences.get(record.id, 0)
            if not number:
                rows = await self._store.relay("delivery", record.id)
                number = rows[0][0] if rows else 0
            handle = self._identities.get(record.agent).handle
            told.append(replace(record, agent=handle, sequence=number))
        return tuple(told)

    # -- the caller ----------------------------------------------------------------------------------------

    def _sender(self, caller: Caller, name: str | None) -> Participant:
        """Return the sender of a message. A session elsewhere may send only if it declared that."""
        sender = self._workspace.speaker(caller, name)
        if sender.capabilities is not None:
            c.require(sender.capabilities, c.MessageUse.SEND, agent=sender.identity.name)
        return sender

    def _participant(self, caller: Caller, name: str | None) -> Participant:
        """Return the participant that a call is about: someone else only if the owner calls."""
        speaker = self._workspace.speaker(caller)
        if name is None:
            return speaker
        found = self._identities.get(name)
        if caller.role != Role.OWNER and found.number != speaker.number:
            raise Forbidden(f"only the owner of the host may do this for {found.handle}")
        return found

    async def _hello(self, caller: Caller, _params: c.Empty) -> c.HelloResult:
        speaker = None if caller.only_reads else self._workspace.speaker(caller)
        return c.HelloResult(
            workspace=self._workspace.name,
            identity=speaker.identity if speaker else None,
            role=caller.role,
            last_event_id=self._workspace.events.last_id,
        )

    # -- messages ------------------------------------------------------------------------------------------

    async def _messages_send(self, caller: Caller, params: c.SendParams) -> c.SendResult:
        sender = self._sender(caller, params.sender)
        for name in (params.to,) if isinstance(params.to, str) else params.to:
            if not name.startswith("@") and (room := self._rooms.find(name)) is not None:
                self._inboxes.room(caller, room.room.id)
        return await self._sent(await self._post.send(params, sender), params)

    async def _messages_reply(self, caller: Caller, params: c.ReplyParams) -> c.SendResult:
        sender = self._sender(caller, params.sender)
        parent = await self._inboxes.message(caller._replace(participant=sender), params.message_id)
        return await self._sent(await self._post.send(params, sender, parent), params)

    async def _sent(self, result: c.SendResult, params: c.SendParams | c.ReplyParams) -> c.SendResult:
        """Wait for the stage that the sender asked for."""
        self._workspace.events.remember(result.message)
        seconds = _seconds(params.timeout_ms)
        outcomes = await self._runner.outcomes(result.deliveries, params.wait_for, seconds)
        return replace(result, deliveries=await self._shown(outcomes))

    async def _messages_get(self, caller: Caller, params: c.MessageParams) -> c.RelayMessage:
        return await self._inboxes.message(caller, params.message_id)

    async def _messages_retract(self, caller: Caller, params: c.MessageParams) -> c.SendResult:
        message = await self._inboxes.message(caller, params.message_id)
        if caller.role != Role.OWNER and message.sender.id != self._workspace.speaker(caller).identity.id:
            raise Forbidden("only its sender may take a message back")
        return await self._post.retract(message)

    # -- rooms ---------------------------------------------------------------------------------------------

    async def _rooms_create(self, caller: Caller, params: c.RoomCreateParams) -> KeptRoom:
        topic = self._host.redactor.redact_value(params.topic, observed=True)
        return self._rooms.create(params.name, topic, self._workspace.speaker(caller))

    async def _rooms_list(self, caller: Caller, params: c.RoomsListParams) -> c.RoomsResult:
        rooms = [room for room in self._rooms if self._inboxes.may_see(caller, room)]
        shown = [self._rooms.shown(room) for room in rooms if params.archived or not room.room.archived]
        return c.RoomsResult(rooms=tuple(sorted(shown, key=lambda room: (room.kind, room.name))))

    async def _rooms_get(self, caller: Caller, params: c.RoomParams) -> KeptRoom:
        return self._inboxes.room(caller, params.room)

    async def _rooms_update(self, caller: Caller, params: c.RoomUpdateParams) -> KeptRoom:
        kept = self._inboxes.room(caller, params.room, to_write=True)
        topic = self._host.redactor.redact_value(params.topic, observed=True)
        return self._rooms.update(kept, replace(kept.room, topic=topic))

    async def _rooms_archive(self, caller: Caller, params: c.ArchiveParams) -> KeptRoom:
        kept = self._channel(caller, params.room)
        event = "room.archived" if params.archived else "room.updated"
        return self._rooms.update(kept, replace(kept.room, archived=params.archived), event)

    async def _rooms_join(self, caller: Caller, params: c.RoomParams) -> KeptRoom:
        kept = self._channel(caller, params.room, to_write=True)
        return self._rooms.join(kept, _present(self._participant(caller, params.agent)))

    async def _rooms_leave(self, caller: Caller, params: c.RoomParams) -> KeptRoom:
        return self._rooms.leave(self._channel(caller, params.room), self._participant(caller, params.agent))

    async def _rooms_invite(self, caller: Caller, params: c.InviteParams) -> KeptRoom:
        kept = self._channel(caller, params.room, to_write=True)
        return self._rooms.join(kept, _present(self._identities.get(params.agent)))

    def _channel(self, caller: Caller, name: str, *, to_write: bool = False) -> KeptRoom:
        """Return a room that is no conversation: those never change their members, and are not archived."""
        kept = self._inboxes.room(caller, name, to_write=to_write)
        if kept.room.kind != c.RoomKind.CHANNEL:
            remedy = "Send to all of their handles, or mute it"
            raise Forbidden("a conversation keeps its members, and is not archived", remedy=remedy)
        return kept

    async def _rooms_members(self, caller: Caller, params: c.RoomParams) -> c.MembersResult:
        kept = self._inboxes.room(caller, params.room)
        members = {number: self._identities[number] for number in sorted(kept.members)}
        return c.MembersResult(
            members=tuple(member.identity for member in members.values()),
            muted=tuple(member.handle for number, member in members.items() if kept.members[number]),
        )

    async def _rooms_mute(self, caller: Caller, params: c.MuteParams) -> KeptRoom:
        kept, member = self._inboxes.room(caller, params.room), self._participant(caller, params.agent)
        if member.number not in kept.members:
            raise Forbidden(f"{member.handle} is not in this room", remedy="Join it first")
        return self._rooms.mute(kept, member, muted=params.muted)

    # -- agents and their sessions -------------------------------------------------------------------------

    async def _agents_list(self, _caller: Caller, params: c.AgentsListParams) -> c.AgentsResult:
        found = [one for one in self._identities if params.gone or not one.gone]
        found.sort(key=lambda one: one.identity.name.casefold())
        return c.AgentsResult(agents=tuple(map(self._workspace.info, found)))

    async def _agents_get(self, _caller: Caller, params: c.AgentParams) -> c.AgentInfo:
        return self._workspace.info(self._identities.get(params.agent))

    def _adapter(self, caller: Caller, name: str) -> AdapterQueue:
        """Return the queue of a session elsewhere that the caller may act for."""
        agent = self._participant(caller, name)
        queue = self._workspace.queue_of(agent)
        if not isinstance(queue, AdapterQueue):
            raise Forbidden(f"{agent.handle} has not registered", remedy="Call sessions.register first")
        return queue

    async def _adapter_of(self, caller: Caller, delivery_id: str) -> AdapterQueue:
        """Return the queue of the recipient of a delivery."""
        return self._adapter(caller, (await self._delivery(caller, delivery_id)).agent)

    async def _sessions_unregister(self, caller: Caller, params: c.AgentParams) -> c.Empty:
        await self._workspace.unregister(self._adapter(caller, params.agent))
        return c.Empty()

    async def _sessions_report(self, caller: Caller, params: c.ReportParams) -> c.ReportResult:
        return self._adapter(caller, params.agent).report(params.events)

    # -- deliveries ----------------------------------------------------------------------------------------

    async def _deliveries_take(self, caller: Caller, params: c.TakeParams) -> c.TakeResult:
        queue = self._adapter(caller, params.agent)
        limit, seconds = max(1, min(params.limit, 100)), _seconds(params.wait_ms)
        return c.TakeResult(offers=await queue.fetch(limit, seconds))

    async def _deliveries_receipt(self, caller: Caller, params: c.ReceiptParams) -> c.DeliveryRecord:
        delivery_id = params.receipt.delivery_id
        if delivery_id is None:
            raise InvalidParams("a receipt names its delivery", field="params.receipt.deliveryId")
        queue = await self._adapter_of(caller, delivery_id)
        return await queue.receipt(delivery_id, params.receipt, params.lease, caller.link)

    async def _deliveries_extend(self, caller: Caller, params: c.ExtendParams) -> c.DeliveryRecord:
        queue = await self._adapter_of(caller, params.delivery_id)
        return queue.extend(params.delivery_id, params.lease, caller.link)

    async def _deliveries_list(self, caller: Caller, params: c.DeliveriesListParams) -> c.DeliveriesResult:
        agent = self._identities.get(params.agent) if params.agent else None
        if caller.role == Role.AGENT:
            agent = self._participant(caller, params.agent)
        number = agent.number if agent else None
        state, limit = params.state.value if params.state else "", max(1, min(params.limit, _PAGE))
        await self._host.journal.committed()
        found: list[c.DeliveryRecord] = []
        before, is_last = ALL, False
        while len(found) < limit and not is_last:
            if params.stuck:
                rows, is_last = await self._store.relay("list_open", number, _MOST_STUCK), True
            elif params.messages:
                ids = msgspec.json.encode(params.messages).decode()
                rows = await self._store.relay("list_deliveries_of", number, state, before, limit, ids)
            else:
                rows = await self._store.relay("list_deliveries", number, state, before, limit)
            is_last = is_last or len(rows) < limit
            for record in map(record_of, rows):
                before = record.sequence
                if params.stuck and not _is_stuck(record):
                    continue
                if caller.role != Role.OBSERVER or await self._message_of(caller, record):
                    found.append(record)
        return c.DeliveriesResult(deliveries=tuple(found[:limit]))

    async def _message_of(self, caller: Caller, record: c.DeliveryRecord) -> c.RelayMessage | None:
        """Return the message of a delivery, if it exists for the caller."""
        with suppress(UnknownMessage):
            return await self._inboxes.message(caller, record.message_id)
        return None

    async def _delivery(
        self, caller: Caller, delivery_id: str, *, to_change: bool = False
    ) -> c.DeliveryRecord:
        """Return a delivery that exists for the caller: its own, or one of a message that it sent."""
        record = await self._runner.record(delivery_id)
        if caller.sees_all:
            return record
        own = caller.participant.identity.id if caller.participant else None
        message = await self._message_of(Caller(Role.OWNER) if own else caller, record)
        if message is None or (own and own not in {record.agent, message.sender.id}):
            raise UnknownDelivery(f"there is no delivery {delivery_id!r}")
        if to_change and message.sender.id != own:
            raise Forbidden("only the sender of its message, or the owner, may change a delivery")
        return record

    async def _deliveries_get(self, caller: Caller, params: c.DeliveryParams) -> c.DeliveryRecord:
        return await self._delivery(caller, params.delivery_id)

    async def _deliveries_retry(self, caller: Caller, params: c.DeliveryParams) -> c.DeliveryRecord:
        await self._delivery(caller, params.delivery_id, to_change=True)
        return await self._runner.retry(params.delivery_id)

    async def _deliveries_flush(self, caller: Caller, params: c.FlushParams) -> c.DeliveriesResult:
        agent = self._participant(caller, params.agent)
        is_owner = caller.role == Role.OWNER
        flushed = await self._runner.flush(agent, params.mode, params.delivery_id, approves=is_owner)
        return c.DeliveriesResult(deliveries=tuple(flushed))

    async def _deliveries_cancel(self, caller: Caller, params: c.CancelParams) -> c.DeliveryRecord:
        await self._delivery(caller, params.delivery_id, to_change=True)
        record = await self._runner.record(params.delivery_id)
        if not record.is_open:
            raise DeliveryFinal(f"{record.id} is {record.state.value} already, and stays so")
        if record.state == DeliveryState.HANDING:
            raise Forbidden(f"{record.id} is on its way to its agent", remedy="Cancel the turn that it began")
        return self._runner.cancel(record, params.reason)

    async def _deliveries_redeliver(self, caller: Caller, params: c.DeliveryParams) -> c.DeliveryRecord:
        record = await self._delivery(caller, params.delivery_id, to_change=True)
        check_kept(record, "redeliver")
        if record.is_open:
            raise Forbidden(f"{record.id} is still under way", remedy="Retry or cancel it")
        message = await self._inboxes.message(Caller(Role.OWNER), record.message_id)
        agent, sender = self._identities.get(record.agent), self._identities.get(message.sender.id)
        again = c.SendParams(to=(), mode=record.requested_mode or record.mode, priority=record.priority)
        return self._runner.deliver(message, agent, record.reason, sender, again, redelivery_of=record.id)

    # -- methods for the owner -----------------------------------------------------------------------------

    async def _secrets_register(self, _caller: Caller, params: c.SecretParams) -> c.Empty:
        if not params.name.strip() or not self._host.redactor.register(params.name, params.value):
            what = f"a secret has a name, and at least {SHORTEST} characters"
            raise InvalidParams(what, field="params")
        return c.Empty()


def _present(participant: Participant) -> Participant:
    """Check that a participant's session still exists."""
    if participant.gone:
        raise UnknownTarget(f"{participant.handle} is gone: its session was disposed of")
    return participant


def _seconds(milliseconds: int) -> float:
    return max(0, min(milliseconds, _LONGEST_WAIT_MS)) / 1000


def _is_stuck(record: c.DeliveryRecord) -> bool:
    """Tell whether a delivery needs attention: it was deferred, tried in vain, or waits for approval."""
    return record.state in _STUCK or record.attempts > 1 or record.waits_for == "approval"
