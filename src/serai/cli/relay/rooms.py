"""`serai rooms`: see, make and change rooms."""

from __future__ import annotations

import argparse

from serai.cli.relay.target import add_relay_command, line_of_message, show
from serai.contract import MessagesResult, Room, RoomsResult
from serai.relay.sdk import Relay

__all__ = ["configure"]

_VERBS = {
    "join": "be in a room, or have an agent be in it",
    "leave": "be in a room no longer",
    "archive": "let nobody write in a room any more",
    "mute": "hear only of mentions in a room",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai rooms`."""
    parser.add_argument("--archived", action="store_true", help="also those that are archived")
    add_relay_command(parser, _list)
    verbs = parser.add_subparsers(title="what to do", metavar="WHAT")
    create = verbs.add_parser("create", help="make a room")
    create.add_argument("room", metavar="NAME")
    create.add_argument("--topic", help="what it is about")
    add_relay_command(create, _create, again=True)
    read = verbs.add_parser("read", help="show what was said in a room")
    read.add_argument("room", metavar="ROOM")
    read.add_argument("--limit", type=int, default=50)
    add_relay_command(read, _read, again=True)
    for verb, summary in _VERBS.items():
        one = verbs.add_parser(verb, help=summary)
        one.add_argument("room", metavar="ROOM")
        if verb != "archive":
            one.add_argument("agent", metavar="AGENT", nargs="?", help="by default you")
        one.set_defaults(verb=verb)
        add_relay_command(one, _change, again=True)


def _line(room: Room) -> str:
    topic = f": {room.topic}" if room.topic else ""
    archived = " (archived)" if room.archived else ""
    return f"{room.name}{archived}{topic}  {len(room.members)} in it"


async def _list(relay: Relay, options: argparse.Namespace) -> int:
    rooms: RoomsResult = await relay.call("rooms.list", archived=options.archived)
    show(rooms, options, lambda result: [_line(room) for room in result.rooms] or ["There is no room yet."])
    return 0


async def _create(relay: Relay, options: argparse.Namespace) -> int:
    room: Room = await relay.call("rooms.create", name=options.room, topic=options.topic)
    show(room, options, lambda room: [_line(room)])
    return 0


async def _read(relay: Relay, options: argparse.Namespace) -> int:
    said: MessagesResult = await relay.call("messages.list", room=options.room, limit=options.limit)
    show(said, options, lambda result: [line_of_message(message) for message in result.messages])
    return 0


async def _change(relay: Relay, options: argparse.Namespace) -> int:
    params = {"room": options.room, "agent": getattr(options, "agent", None)}
    room: Room = await relay.call(f"rooms.{options.verb}", **params)
    show(room, options, lambda room: [_line(room)])
    return 0
