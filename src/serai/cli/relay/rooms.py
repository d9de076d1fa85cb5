"""`serai rooms`: see, make and change rooms."""

from __future__ import annotations

import argparse

from serai.cli.relay.target import add_relay_command, calling, line_of_message
from serai.contract import Room

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
    none = ["There is no room yet."]
    listed = calling("rooms.list", lambda found: [*map(_line, found.rooms)] or none, "archived")
    add_relay_command(parser, listed)
    verbs = parser.add_subparsers(title="what to do", metavar="WHAT")
    create = verbs.add_parser("create", help="make a room")
    create.add_argument("name", metavar="NAME")
    create.add_argument("--topic", help="what it is about")
    made = calling("rooms.create", lambda room: [_line(room)], "name", "topic")
    add_relay_command(create, made, again=True)
    read = verbs.add_parser("read", help="show what was said in a room")
    read.add_argument("room", metavar="ROOM")
    read.add_argument("--limit", type=int, default=50)
    said = calling("messages.list", lambda found: [*map(line_of_message, found.messages)], "room", "limit")
    add_relay_command(read, said, again=True)
    for verb, summary in _VERBS.items():
        one = verbs.add_parser(verb, help=summary)
        one.add_argument("room", metavar="ROOM")
        if verb != "archive":
            one.add_argument("agent", metavar="AGENT", nargs="?", help="by default you")
        changed = calling(f"rooms.{verb}", lambda room: [_line(room)], "room", "agent")
        add_relay_command(one, changed, again=True)


def _line(room: Room) -> str:
    topic = f": {room.topic}" if room.topic else ""
    archived = " (archived)" if room.archived else ""
    return f"{room.name}{archived}{topic}  {len(room.members)} in it"
