"""Rooms, direct and group conversations, with their members and those who have muted them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from serai import contract as c
from serai.completions.names import Mention
from serai.errors import InvalidParams, NameTaken, RoomArchived, UnknownRoom
from serai.host.identities import Participant
from serai.relay import WorkspacePart
from serai.store.contract import RelayWrite

if TYPE_CHECKING:
    from serai.relay.workspace import Workspace

_NAME = re.compile(r"#?[\w][\w.-]{0,79}")


@dataclass(slots=True)
class KeptRoom:
    """A room, and its members."""

    number: int
    key: str
    room: c.Room
    members: dict[int, bool]
    """True for each member that has muted the room, by the members' numbers."""


class Rooms(WorkspacePart):
    """All rooms and conversations. They are in memory; their messages are not."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._by_number: dict[int, KeptRoom] = {}
        self._by_key: dict[str, KeptRoom] = {}

    async def open(self) -> None:
        """Read all rooms and their members."""
        for number, key, data in await self._store.relay("rooms"):
            self._by_number[number] = self._by_key[key] = KeptRoom(number, key, c.decode(data, c.Room), {})
        for room, identity, muted in await self._store.relay("members"):
            self._by_number[room].members[identity] = bool(muted)

    def __iter__(self) -> Iterator[KeptRoom]:
        return iter(self._by_number.values())

    def __getitem__(self, number: int) -> KeptRoom:
        return self._by_number[number]

    def shown(self, kept: KeptRoom) -> c.Room:
        """Return a room as callers see it, with the handles of its members."""
        handles = tuple(self._identities[number].handle for number in sorted(kept.members))
        name = kept.room.name if kept.room.kind == c.RoomKind.CHANNEL else ", ".join(handles)
        return replace(kept.room, name=name, members=handles)

    def mentions(self) -> Iterator[Mention]:
        """Yield the rooms that a message can be sent to, for completion."""
        for kept in self:
            if kept.room.kind == c.RoomKind.CHANNEL and not kept.room.archived:
                yield Mention(kept.room.name, "room", kept.room.topic or "")

    # -- finding -------------------------------------------------------------------------------------------

    def find(self, name: str) -> KeptRoom | None:
        """Return the room of this name or id; `None` if there is none."""
        number = name.removeprefix("room-") if name.startswith("room-") else ""
        if number.isdecimal() and (found := self._by_number.get(int(number))):
            return found
        return self._by_key.get(_key(name))

    def get(self, name: str, *, to_write: bool = False) -> KeptRoom:
        """Return the room of this name or id.

        Raises:
            UnknownRoom: There is none.
            RoomArchived: It is archived, and something is to be added.
        """
        found = self.find(name)
        if found is None:
            raise UnknownRoom(f"there is no room {name!r}", remedy="'serai rooms' lists them")
        if to_write and found.room.archived:
            raise RoomArchived(f"{found.room.name} is archived: it can only be read")
        return found

    def conversation(self, members: Iterable[Participant]) -> KeptRoom:
        """Return the conversation of exactly these members, and begin it if there is none yet."""
        numbers = sorted({member.number for member in members})
        is_direct = len(numbers) <= 2
        key = f"{'dm' if is_direct else 'group'}:{','.join(map(str, numbers))}"
        found = self._by_key.get(key)
        return found or self._add(key, c.RoomKind.DM if is_direct else c.RoomKind.GROUP_DM, "", None, numbers)

    # -- changing ------------------------------------------------------------------------------------------

    def create(self, name: str, topic: str | None, creator: Participant | None) -> KeptRoom:
        """Make a room. Its creator is a member.

        Raises:
            InvalidParams: That is no name for a room.
            NameTaken: There is one of that name.
        """
        if not _NAME.fullmatch(name):
            message = "a room's name has letters, digits, '-', '_' and '.', at most 80 of them"
            raise InvalidParams(message, field="name")
        if (found := self._by_key.get(_key(name))) is not None:
            if found.room.archived:
                remedy = f"Open it again: serai rooms archive '{found.room.name}' --undo"
                raise NameTaken(f"there is a room {found.room.name} already, and archived", remedy=remedy)
            raise NameTaken(f"there is a room {found.room.name} already")
        name = f"#{name.removeprefix('#')}"
        return self._add(_key(name), c.RoomKind.CHANNEL, name, topic, [creator.number] if creator else [])

    def _add(
        self, key: str, kind: c.RoomKind, name: str, topic: str | None, members: Iterable[int]
    ) -> KeptRoom:
        number = max(self._by_number, default=0) + 1
        room = c.Room(id=f"room-{number}", kind=kind, name=name, topic=topic, created_at=self._ledger.now)
        kept = self._by_number[number] = self._by_key[key] = KeptRoom(number, key, room, {})
        self.update(kept, room, "room.created")
        for member in members:
            self.join(kept, self._identities[member])
        return kept

    def update(self, kept: KeptRoom, room: c.Room, event: str = "room.updated") -> KeptRoom:
        """Store a changed room. Returns the room, as the methods below do."""
        kept.room = room
        writes = [RelayWrite("put_room", (kept.number, kept.key, c.encode(room)))]
        self._ledger.event(event, {"room": c.to_wire(room)}, writes=writes)
        return kept

    def join(self, kept: KeptRoom, member: Participant) -> KeptRoom:
        """Add a member to a room."""
        return kept if member.number in kept.members else self._put(kept, member, "room.joined")

    def leave(self, kept: KeptRoom, member: Participant) -> KeptRoom:
        """Remove a member from a room."""
        if kept.members.pop(member.number, None) is not None:
            self._publish(
                "room.left", kept, member, RelayWrite("remove_member", (kept.number, member.number))
            )
        return kept

    def mute(self, kept: KeptRoom, member: Participant, *, muted: bool) -> KeptRoom:
        """Mute a room for a member, who then receives only mentions, or unmute it."""
        if kept.members.get(member.number) is muted:
            return kept
        return self._put(kept, member, "room.muted" if muted else "room.unmuted", muted=muted)

    def _put(self, kept: KeptRoom, member: Participant, event: str, *, muted: bool = False) -> KeptRoom:
        kept.members[member.number] = muted
        self._publish(event, kept, member, RelayWrite("put_member", (kept.number, member.number, muted, 0)))
        return kept

    def _publish(self, event: str, kept: KeptRoom, member: Participant, write: RelayWrite) -> None:
        data = {"room": kept.room.id, "name": kept.room.name, "agent": member.handle}
        self._ledger.event(event, data, subject=member.identity.id, writes=[write])


def _key(name: str) -> str:
    return f"#{name.removeprefix('#').casefold()}" if not name.startswith(("dm:", "group:")) else name
