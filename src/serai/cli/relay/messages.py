"""`serai send`, `serai inbox`, `serai search`: messages between people, agents and programs."""

from __future__ import annotations

import argparse
import sys

from serai.cli.console.progress import progress
from serai.cli.relay.target import add_relay_command, calling, line_of_delivery, line_of_message, show
from serai.contract import DeliveryMode, DeliveryState, Inbox, SearchHit, SearchResult, SendResult
from serai.relay.sdk import Relay

__all__ = ["configure_inbox", "configure_search", "configure_send"]


def configure_send(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai send`."""
    parser.add_argument("to", metavar="TO", help="'#room', '@handle', or several handles with commas")
    parser.add_argument("text", metavar="TEXT", help="what to say; '-' reads it from standard input")
    parser.add_argument("--as", dest="sender", metavar="NAME", help="a person or service of yours")
    parser.add_argument("--mode", choices=[mode.value for mode in DeliveryMode], help="when it may surface")
    parser.add_argument("--urgent", action="store_true", help="before what else waits")
    parser.add_argument("--deadline", metavar="TIME", help="of no use after this, as 2027-01-31T12:00:00Z")
    parser.add_argument("--key", help="an idempotency key: sent again under it, it is the same message")
    parser.add_argument(
        "--wait",
        choices=["accepted", "delivered", "answered"],
        help="how far to wait for it (default: accepted)",
    )
    parser.add_argument("--timeout", type=float, default=30, metavar="SECONDS", help="how long to wait")
    add_relay_command(parser, _send)


async def _send(relay: Relay, options: argparse.Namespace) -> int:
    to = options.to.split(",") if "," in options.to else options.to
    text = sys.stdin.read() if options.text == "-" else options.text
    sent: SendResult = await relay.call(
        "messages.send",
        to=to,
        text=text,
        **{"as": options.sender},
        mode=options.mode,
        priority="urgent" if options.urgent else None,
        deadline=options.deadline,
        idempotencyKey=options.key,
        waitFor=options.wait,
        timeoutMs=round(options.timeout * 1000),
    )

    def lines(result: SendResult) -> list[str]:
        shown = [result.message.id]
        for record in result.deliveries:
            shown.append(f"  {line_of_delivery(record)}")
            if record.answer is not None:
                shown.append(f"  {record.answer.state}: {record.answer.text}")
        shown += [f"  nobody is called {name}" for name in result.unknown_mentions]
        return shown

    show(sent, options, lines)
    return 1 if any(record.state == DeliveryState.FAILED for record in sent.deliveries) else 0


def configure_inbox(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai inbox`."""
    parser.add_argument("--as", metavar="NAME", help="the inbox of a person or service of yours")
    parser.add_argument("--peek", action="store_true", help="look without receiving")
    add_relay_command(parser, calling("inbox.get", _inbox, "as", "peek"))


def _inbox(inbox: Inbox) -> list[str]:
    shown = [line_of_message(message) for message in inbox.messages]
    shown += [f"{one.unread} unread in {one.room.name}" for one in (*inbox.rooms, *inbox.conversations)]
    return shown or ["Nothing waits."]


def configure_search(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai search`."""
    parser.add_argument("query", metavar="WORDS", nargs="+", help="all of them have to be there")
    parser.add_argument("--limit", type=int, default=20, help="how many to show")
    add_relay_command(parser, _search)


async def _search(relay: Relay, options: argparse.Namespace) -> int:
    query = " ".join(options.query)
    with progress("Searching; what is new is indexed first"):
        found: SearchResult = await relay.call("messages.search", query=query, limit=options.limit)
    show(found, options, lambda result: [*map(_hit, result.hits)] or ["Nothing was found."])
    return 0 if found.hits else 1


def _hit(hit: SearchHit) -> str:
    if hit.message is not None:
        return line_of_message(hit.message)
    return f"{hit.session} {hit.turn_id}: {' '.join(hit.text.split())[:200]}"
