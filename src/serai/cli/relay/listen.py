"""`serai listen`: the workspace's events, as they come or again from one of them."""

from __future__ import annotations

import argparse

import msgspec

from serai.cli.relay.target import add_relay_command
from serai.contract import to_wire
from serai.relay.sdk import Relay

__all__ = ["configure"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai listen`."""
    parser.add_argument("types", metavar="TYPE", nargs="*", help="such as 'delivery.*'; by default all")
    parser.add_argument("--agent", metavar="HANDLE", help="only those by or about one participant")
    parser.add_argument("--in", dest="room", metavar="ROOM", help="only those about a room")
    parser.add_argument("--after", metavar="ID", help="also what came after this event")
    add_relay_command(parser, _listen)


async def _listen(relay: Relay, options: argparse.Namespace) -> int:
    events = relay.follow(*options.types, agent=options.agent, room=options.room, after=options.after)
    async for event in events:
        if options.json:
            print(msgspec.json.encode(to_wire(event)).decode(), flush=True)
        else:
            message: dict[str, str] = event.data.get("message") or {}
            text = f"  {' '.join(message['text'].split())[:100]}" if message else ""
            reason = f"  {event.data['reason']}" if event.data.get("reason") else ""
            own: dict[str, str] = event.data.get("event") or {}
            agent: dict[str, str] = event.data.get("agent") or {}
            who = f"  {agent['handle']}" if agent else ""
            kind = f"{event.type} {own['type']}" if own else event.type
            print(f"{event.id}  {event.at:%H:%M:%S}  {kind}{who}{reason}{text}", flush=True)
    return 0
