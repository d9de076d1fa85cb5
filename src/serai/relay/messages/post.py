"""Sending: checks and stores a message, and begins the deliveries to all of its recipients, or to none."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from msgspec.structs import replace

from serai import contract as c
from serai.errors import (
    DeadlineExceeded,
    EmptyMessage,
    IdempotencyConflict,
    MessageTooLarge,
    UnknownRoom,
    UnknownTarget,
)
from serai.host.identities import Participant
from serai.relay import WorkspacePart
from serai.relay.messages.rooms import KeptRoom
from serai.store.contract import RelayWrite

if TYPE_CHECKING:
    from serai.relay.workspace import Workspace

_MENTION = re.compile(r"(?<![\w@])@([\w][\w.-]*)")
_RETRACTED = "(taken back)"
_KINDS = {kind: c.MessageKind(kind.value) for kind in c.RoomKind}
_ROOMS = ("#", "room-", "dm:", "group:")
"""The beginnings of the names of rooms and conversations."""


class Post(WorkspacePart):
    """Takes messages in."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._rooms = workspace.rooms
        self._runner = workspace.runner
        self._sending: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()
        """Locks of the messages that are being sent, by their senders and idempotency keys."""

    async def send(
        self,
        params: c.SendParams | c.ReplyParams,
        sender: Participant,
        parent: c.RelayMessage | None = None,
    ) -> c.SendResult:
        """Send a message, or an answer in its parent's thread. Under the same key it is the same message.

        Raises:
            RelayError: It cannot be sent; nothing was stored.
        """
        key = self._masked_key(params)
        if key is None:
            return self._send(params, sender, parent)
        async with self._sending.setdefault((sender.number, key), asyncio.Lock()):
            await self._runner.committed()
            rows = await self._store.relay("message_by_key", sender.number, key)
            if not rows:
                return self._send(params, sender, parent)
            return await self._repeated(c.decode(rows[0][1], c.RelayMessage), params, sender)

    async def retract(self, message: c.RelayMessage) -> c.SendResult:
        """Retract a message: pending deliveries are cancelled. What was delivered stays delivered."""
        gone = replace(message, text=_RETRACTED, attachments=(), updated_at=self._ledger.now)
        write = RelayWrite("retract_message", (message.id, c.encode(gone)))
        writes = [write, RelayWrite("retract_words", (message.id,))]
        self._ledger.event("message.updated", {"messageId": message.id, "retracted": True}, writes=writes)
        records = await self._deliveries_of(message)
        settled = [self._runner.cancel(one, "retracted") if one.is_open else one for one in records]
        return c.SendResult(message=gone, deliveries=tuple(settled))

    def notify(
        self,
        sender: Participant,
        recipient: Participant,
        text: str,
        reason: c.DeliveryReason,
        *,
        metadata: c.Metadata,
        hops: int,
    ) -> c.SendResult:
        """Send one participant a notification of the relay, which has a reason of its own."""
        params = c.SendParams(to=recipient.handle, text=text, metadata=metadata)
        room = self._rooms.conversation([sender, recipient])
        return self._keep(params, sender, room, None, reason=reason, least_hops=hops)

    # -- again under the same key --------------------------------------------------------------------------

    async def _repeated(
        self, earlier: c.RelayMessage, params: c.SendParams | c.ReplyParams, sender: Participant
    ) -> c.SendResult:
        text, attachments = self._masked(params, sender)
        is_same = (text, attachments) == (earlier.text, earlier.attachments) or earlier.text == _RETRACTED
        if not is_same or not self._is_same_place(earlier, params, sender):
            raise IdempotencyConflict(
                f"the key {params.idempotency_key!r} stands for another message, {earlier.id}",
                remedy="Use a new key for a new message",
            )
        return c.SendResult(message=earlier, deliveries=tuple(await self._deliveries_of(earlier)))

    async def _deliveries_of(self, message: c.RelayMessage) -> list[c.DeliveryRecord]:
        return await self._ledger.read("deliveries_of_message", message.id)

    def _is_same_place(
        self, earlier: c.RelayMessage, params: c.SendParams | c.ReplyParams, sender: Participant
    ) -> bool:
        """Tell whether a repeated message goes to the same place as before."""
        if isinstance(params, c.ReplyParams):
            return earlier.parent_id == params.message_id
        room = self._rooms.get(earlier.conversation_id or "")
        names = (params.to,) if isinstance(params.to, str) else params.to
        if len(names) == 1 and names[0].startswith(_ROOMS):
            return earlier.parent_id is None and self._rooms.find(names[0]) is room
        members = {sender.number} | {other.number for name in names if (other := self._identities.find(name))}
        return (
            earlier.parent_id is None
            and room.room.kind != c.RoomKind.CHANNEL
            and members == set(room.members)
        )

    # -- sending -------------------------------------------------------------------------------------------

    def _send(
        self, params: c.SendParams | c.ReplyParams, sender: Participant, parent: c.RelayMessage | None
    ) -> c.SendResult:
        self._check(params)
        if isinstance(params, c.ReplyParams):
            conversation = parent.conversation_id if parent else None
            return self._keep(params, sender, self._rooms.get(conversation or "", to_write=True), parent)
        names = (params.to,) if isinstance(params.to, str) else params.to
        if not names:
            raise UnknownTarget("the message has no recipient", remedy="Name a #room or a @handle")
        if len(names) == 1 and names[0].startswith(_ROOMS):
            room = self._rooms.get(names[0], to_write=True)
            if room.room.kind != c.RoomKind.CHANNEL and sender.number not in room.members:
                raise UnknownRoom(f"there is no room {names[0]!r}", remedy="'serai rooms' lists them")
        else:
            others = [self._identities.get(name) for name in names]
            if gone := next((other for other in others if other.gone), None):
                raise UnknownTarget(f"{gone.handle} is gone: its session was disposed of")
            self._check_recipients(others, sender, params)
            room = self._rooms.conversation([sender, *others])
        return self._keep(params, sender, room, None)

    def _check(self, params: c.SendParams | c.ReplyParams) -> None:
        if not params.text.strip() and not params.attachments:
            raise EmptyMessage("a message needs text or an attachment")
        if (size := len(c.encode(params))) > self._policy.message_bytes:
            most = self._policy.message_bytes // 1024
            raise MessageTooLarge(
                f"the message has {size} bytes; the limit is {most} KiB",
                remedy="Put it into a file and name the file",
            )
        if params.deadline is not None and params.deadline <= self._ledger.now:
            raise DeadlineExceeded(f"the deadline {params.deadline.isoformat()} has passed already")

    def _check_recipients(
        self, recipients: Iterable[Participant], sender: Participant, params: c.SendParams | c.ReplyParams
    ) -> None:
        if params.mode or params.attachments:  # anything else can be delivered to anyone
            self._runner.check(recipients, sender, params)

    def _masked(
        self, params: c.SendParams | c.ReplyParams, sender: Participant
    ) -> tuple[str, tuple[object, ...]]:
        """Return the text and the attachments of a message without secrets."""
        observed, attachments = not sender.is_person, params.attachments
        text = self._redactor.redact(params.text, observed=observed)
        return text, attachments and self._redactor.redact_value(attachments, observed=observed)

    def _masked_key(self, params: c.SendParams | c.ReplyParams) -> str | None:
        key = params.idempotency_key
        return None if key is None else self._redactor.redact_value(key, observed=True)

    def _keep(
        self,
        params: c.SendParams | c.ReplyParams,
        sender: Participant,
        room: KeptRoom,
        parent: c.RelayMessage | None,
        *,
        reason: c.DeliveryReason | None = None,
        least_hops: int = 0,
    ) -> c.SendResult:
        text, attachments = self._masked(params, sender)
        mentioned, unknown = self._mentions(text)
        is_channel = room.room.kind == c.RoomKind.CHANNEL
        recipients = self._recipients(room, sender, mentioned, is_reply=parent is not None)
        self._check_recipients((one for one, _ in recipients), sender, params)
        if is_channel:  # a conversation keeps its members, whoever answers in it
            self._rooms.join(room, sender)
        told = params.metadata.get("hops")  # a program may continue a chain that only it knows
        hops = max(least_hops, self._runner.hops_of(sender, parent), told if isinstance(told, int) else 0)
        metadata = {name: value for name, value in params.metadata.items() if name != "hops"}
        metadata = metadata and self._redactor.redact_value(metadata, observed=True)
        if hops:
            metadata["hops"] = hops
        now, message_id = self._ledger.now, self._new_id("msg")
        message = c.RelayMessage(
            id=message_id,
            kind=c.MessageKind.THREAD_REPLY if parent else _KINDS[room.room.kind],
            text=text,
            sender=c.SenderReference(id=sender.identity.id, name=sender.identity.name),
            target=self._target(room, sender),
            channel=c.RoomReference(id=room.room.id, name=room.room.name) if is_channel else None,
            conversation_id=room.room.id,
            thread_id=(parent.thread_id or parent.id) if parent else None,
            parent_id=parent.id if parent else None,
            mentions=tuple(one.handle for one in mentioned),
            attachments=attachments,  # pyright: ignore[reportArgumentType] - masking keeps the types
            mode=params.mode,
            metadata=metadata,
            created_at=now,
        )
        key = self._masked_key(params)
        values = (message_id, room.number, message.thread_id, sender.number, key, c.encode(message))
        writes = [RelayWrite("add_message", values)]
        writes += [RelayWrite("add_mention", (one.number,)) for one in mentioned]
        self._ledger.event(
            "message.created", {"messageId": message_id}, actor=sender.identity.id, writes=writes, at=now
        )
        deliveries = [
            self._runner.deliver(message, recipient, reason or why, sender, params, hops=hops)
            for recipient, why in recipients
        ]
        return c.SendResult(message=message, deliveries=tuple(deliveries), unknown_mentions=unknown)

    def _mentions(self, text: str) -> tuple[list[Participant], tuple[str, ...]]:
        if "@" not in text:
            return [], ()
        found: dict[int, Participant] = {}
        unknown: list[str] = []
        for name in dict.fromkeys(_MENTION.findall(text)):
            participant = self._identities.find(f"@{name}") or self._identities.find(f"@{name.rstrip('.-')}")
            if participant is None:
                unknown.append(f"@{name}")
            else:
                found[participant.number] = participant
        return list(found.values()), tuple(unknown)

    def _target(self, room: KeptRoom, sender: Participant) -> c.MessageTarget:
        match room.room.kind:
            case c.RoomKind.CHANNEL:
                return c.ChannelTarget(channel_name=room.room.name, channel_id=room.room.id)
            case c.RoomKind.GROUP_DM:
                return c.GroupTarget(conversation_id=room.room.id)
            case c.RoomKind.DM:
                others = [number for number in room.members if number != sender.number]
                if len(others) != 1:
                    return c.DirectTarget(conversation_id=room.room.id)
                other = self._identities[others[0]].identity
                return c.AgentTarget(agent_name=other.name, agent_id=other.id)

    def _recipients(
        self, room: KeptRoom, sender: Participant, mentioned: Sequence[Participant], *, is_reply: bool
    ) -> list[tuple[Participant, c.DeliveryReason]]:
        """Return the recipients of a message, each with the reason.

        These are all members but its sender; of those who muted the room, only those who are mentioned.
        """
        named = {one.number for one in mentioned}
        is_channel = room.room.kind == c.RoomKind.CHANNEL
        members = [number for number, muted in room.members.items() if not muted or number in named]
        # Rooms are open to all, so everyone who is mentioned gets the message.
        numbers = dict.fromkeys([*members, *(named if is_channel else ())])
        chosen: list[tuple[Participant, c.DeliveryReason]] = []
        for number in numbers:
            recipient = self._identities[number]
            if number == sender.number or recipient.gone:
                continue
            if not is_channel:
                reason = c.DeliveryReason.DM
            elif is_reply:
                reason = c.DeliveryReason.THREAD_REPLY
            else:
                reason = c.DeliveryReason.MENTION if number in named else c.DeliveryReason.MESSAGE
            chosen.append((recipient, reason))
        return chosen
