"""Reading messages: lists, threads, inbox, read marks, reactions, search.

Rooms are open to everyone in the workspace. A direct or group conversation exists only for those who are in
it, and for the owner of the host.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from serai import contract as c
from serai.errors import InvalidParams, SeraiError, UnknownMessage, UnknownRoom
from serai.host.ledger import ms
from serai.relay import WorkspacePart
from serai.relay.messages.rooms import KeptRoom
from serai.relay.tokens import Caller
from serai.store.contract import RelayWrite
from serai.store.sqlite.relay import words_of_turn

if TYPE_CHECKING:
    from serai.relay.workspace import Workspace

_MOST = 500
_FETCHED = ("fetch", "flush")
"""The values of `waitsFor` of deliveries that someone has to fetch."""
_COMMON = 5_000
"""Number of hits from which a word counts as common: ranking them all takes long and tells little."""
_WORD = re.compile(r"\w+")
_INDEXED_EVERY = 2.0
"""Seconds between two looks at what is to be indexed."""
_REST = 9
"""Factor by which a rest is longer than the step of indexing before it: others write most of the time."""
_SHOWN_OF_TURN = 2000
_PRIVATE = frozenset(
    {"session.event", "error", *(f"action.{what}" for what in ("invoked", "completed", "failed", "denied"))}
)
"""The types of events that only the participants named in them receive."""


class Inboxes(WorkspacePart):
    """Reads messages, and what waits for someone."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._speaker = workspace.speaker
        self._rooms = workspace.rooms
        self._runner = workspace.runner

    # -- visibility ----------------------------------------------------------------------------------------

    def may_see(self, caller: Caller, room: KeptRoom) -> bool:
        """Tell whether a room exists for a caller."""
        if caller.sees_all or room.room.kind == c.RoomKind.CHANNEL:
            return True
        return caller.participant is not None and caller.participant.number in room.members

    def may_hear(self, caller: Caller, event: c.WorkspaceEvent) -> bool:
        """Tell whether an event exists for a caller.

        Unless an event names them, callers receive none about conversations of others, about tokens, about
        what is said in a session, or about the input of an action.
        """
        if caller.sees_all:
            return True
        if event.type.startswith("token."):
            return False
        is_private = event.type in _PRIVATE or "availableTo" in event.data
        if is_private or (event.type == "log" and event.subject is not None):
            own = caller.participant.identity.id if caller.participant else None
            return own is not None and own in {event.actor, event.subject}
        message = event.data.get("message")
        if message is None and event.type.startswith("delivery."):
            return False  # it came over AHP
        if message is None:
            told: Any = event.data.get("room", "")
            room = self._rooms.find(told if isinstance(told, str) else told["id"])
            return room is None or self.may_see(caller, room)
        room = self._rooms.find(message.get("conversationId") or "")
        return room is not None and self.may_see(caller, room)

    def room(self, caller: Caller, name: str, *, to_write: bool = False) -> KeptRoom:
        """Return a room that the caller may see.

        Raises:
            UnknownRoom: There is none.
            RoomArchived: It is archived, and something is to be added.
        """
        room = self._rooms.get(name, to_write=to_write)
        if not self.may_see(caller, room):
            raise UnknownRoom(f"there is no room {name!r}", remedy="'serai rooms' lists them")
        return room

    async def message(self, caller: Caller, message_id: str) -> c.RelayMessage:
        """Return a message that the caller may see.

        Raises:
            UnknownMessage: There is none.
        """
        await self._journal.committed()
        rows = await self._store.relay("message", message_id)
        if not rows:
            raise UnknownMessage(f"there is no message {message_id!r}")
        message = c.decode(rows[0][1], c.RelayMessage)
        room = self._rooms.find(message.conversation_id or "")
        if room is None or not self.may_see(caller, room):
            raise UnknownMessage(f"there is no message {message_id!r}")
        return (await self._shown([message]))[0]

    # -- lists ---------------------------------------------------------------------------------------------

    async def list(self, caller: Caller, params: c.MessagesListParams) -> c.MessagesResult:
        """List the last messages of a room, oldest first, without those in threads."""
        room = self.room(caller, params.room)
        await self._journal.committed()
        until = 1 << 62
        if params.before is not None:
            rows = await self._store.relay("message", params.before)
            until = rows[0][0] if rows else until
        rows = await self._store.relay("messages_of_room", room.number, until, _bounded(params.limit))
        found = await self._shown([c.decode(data, c.RelayMessage) for _, data in reversed(rows)])
        return c.MessagesResult(messages=found)

    async def thread(self, caller: Caller, params: c.MessageParams) -> c.MessagesResult:
        """List a message and all answers in its thread, oldest first."""
        message = await self.message(caller, params.message_id)
        first = await self.message(caller, message.thread_id) if message.thread_id else message
        rows = await self._store.relay("messages_of_thread", first.id, _MOST)
        replies = await self._shown([c.decode(data, c.RelayMessage) for _, data in rows])
        return c.MessagesResult(messages=(first, *replies))

    async def _shown(self, messages: Sequence[c.RelayMessage]) -> tuple[c.RelayMessage, ...]:
        """Return messages with their reactions, and with the numbers of their answers and readers."""
        if not messages:
            return ()
        ids = _json(message.id for message in messages)
        reactions: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for message_id, emoji, identity in await self._store.relay("reactions_of", ids):
            reactions[message_id][emoji].append(self._identities[identity].identity.name)
        replies = dict(await self._store.relay("replies_of", ids))
        readers = dict(await self._store.relay("readers_of", ids))
        return tuple(
            replace(
                message,
                reactions=tuple(
                    c.Reaction(emoji=emoji, count=len(names), agents=tuple(names))
                    for emoji, names in reactions[message.id].items()
                ),
                reply_count=replies.get(message.id),
                read_by_count=readers.get(message.id),
            )
            for message in messages
        )

    # -- marks ---------------------------------------------------------------------------------------------

    async def read(self, caller: Caller, params: c.ReadParams) -> c.Empty:
        """Mark all messages up to this one as read."""
        reader, message = self._speaker(caller, params.sender), await self.message(caller, params.message_id)
        room = self._rooms.get(message.conversation_id or "")
        write = RelayWrite("read_until", (room.number, reader.number, message.id))
        data = {"messageId": message.id, "by": reader.handle}
        self._ledger.event("message.read", data, actor=reader.identity.id, writes=[write])
        return c.Empty()

    async def react(self, caller: Caller, params: c.ReactParams, *, on: bool = True) -> c.RelayMessage:
        """Add a reaction to a message, or remove it.

        Raises:
            InvalidParams: That is no emoji.
        """
        speaker, message = self._speaker(caller, params.sender), await self.message(caller, params.message_id)
        self.room(caller, message.conversation_id or "", to_write=True)
        emoji = params.emoji
        if not emoji.strip() or len(emoji) > 32:
            raise InvalidParams("a reaction has 1 to 32 characters", field="emoji")
        values = (message.id, emoji, speaker.number)
        now = ms(self._ledger.now)
        write = RelayWrite("react", (*values, now)) if on else RelayWrite("unreact", values)
        data = {"messageId": message.id, "emoji": emoji, "by": speaker.handle, "on": on}
        self._ledger.event("message.reacted", data, actor=speaker.identity.id, writes=[write])
        return await self.message(caller, params.message_id)

    async def unreact(self, caller: Caller, params: c.ReactParams) -> c.RelayMessage:
        """Remove a reaction."""
        return await self.react(caller, params, on=False)

    # -- inbox ---------------------------------------------------------------------------------------------

    async def get(self, caller: Caller, params: c.InboxParams) -> c.Inbox:
        """Return what waits for a participant. What it fetches is delivered by that, unless it only peeks."""
        number, limit = self._speaker(caller, params.sender).number, _bounded(params.limit)
        messages: list[c.RelayMessage] = []
        for waits_for in _FETCHED:
            async with self._ledger.reading("waiting_deliveries", number, waits_for, limit) as found:
                for record, message in found:
                    if message is None or record.waits_for != waits_for:
                        continue  # it was fetched meanwhile, or cancelled
                    messages.append(message)
                    if not params.peek:
                        self._fetched(record)
        unread = [
            c.UnreadRoom(room=self._rooms.shown(self._rooms[room]), unread=count)
            for room, count in await self._store.relay("unread_rooms", number)
        ]
        mentions = await self._store.relay("unread_mentions", number, limit)
        reactions = await self._store.relay("recent_reactions", number, 20)
        await self._journal.committed()
        return c.Inbox(
            rooms=tuple(one for one in unread if one.room.kind == c.RoomKind.CHANNEL),
            conversations=tuple(one for one in unread if one.room.kind != c.RoomKind.CHANNEL),
            mentions=await self._shown([c.decode(data, c.RelayMessage) for _, data in mentions]),
            messages=await self._shown(sorted(messages, key=lambda message: message.id)),
            reactions=tuple(
                c.RecentReaction(
                    message_id=message_id,
                    emoji=emoji,
                    agent=self._identities[identity].handle,
                    at=datetime.fromtimestamp(at / 1000, UTC),
                )
                for message_id, emoji, identity, at in reactions
            ),
        )

    def _fetched(self, record: c.DeliveryRecord) -> None:
        self._runner.drop(record, "fetched")
        evidence = {"evidence": "fetched"}
        self._ledger.settle(record, c.Delivered(delivery_id=record.id, metadata=evidence))

    # -- search --------------------------------------------------------------------------------------------

    async def search(self, caller: Caller, params: c.SearchParams) -> c.SearchResult:
        """Find messages and turns with all words of a query, the best first; for common words the newest.

        What is not indexed yet is indexed first.

        Raises:
            InvalidParams: There is no word in it.
        """
        words = _WORD.findall(params.query)
        if not words:
            raise InvalidParams("the query has no word", field="query")
        await self._journal.committed()
        while await self._store.index_words():
            pass
        terms = [*(f'"{word}"' for word in words[:-1]), f'"{words[-1]}"*']
        found_of = [await self._store.relay("count_of_word", term, _COMMON) for term in terms]
        order = "search_newest" if any(count >= _COMMON for ((count,),) in found_of) else "search"
        rooms = None if caller.sees_all else _json(r.number for r in self._rooms if self.may_see(caller, r))
        rows = await self._store.relay(order, " ".join(terms), _bounded(params.limit), rooms)
        numbers = [number for (number,) in rows]
        found: dict[int, c.SearchHit] = {}
        messages, turns = (_json(n // 2 for n in numbers if n % 2 == odd) for odd in (0, 1))
        for seq, data in await self._store.relay("messages_by_number", messages):
            found[2 * seq] = c.SearchHit(message=c.decode(data, c.RelayMessage))
        for row, uri, turn_id, turn in await self._store.relay("turns_by_row", turns):
            text = words_of_turn(turn)[:_SHOWN_OF_TURN]
            found[2 * row + 1] = c.SearchHit(session=uri, turn_id=turn_id, text=text)
        return c.SearchResult(hits=tuple(found[number] for number in numbers if number in found))

    async def keep_indexed(self) -> None:
        """Index what is new for searches to come: now and then, in short steps, until it is cancelled."""
        looked_at = -1
        while True:
            await asyncio.sleep(_INDEXED_EVERY)
            last = self._journal.last_seq
            with contextlib.suppress(SeraiError):  # the disk is full, or the host is about to end
                while looked_at != last:
                    began = time.monotonic()
                    if not await self._store.index_words():
                        looked_at = last
                    await asyncio.sleep(_REST * (time.monotonic() - began))


def _json(values: Iterable[object]) -> str:
    return msgspec.json.encode(list(values)).decode()


def _bounded(limit: int) -> int:
    return max(1, min(limit, _MOST))
