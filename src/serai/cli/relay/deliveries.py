"""`serai deliveries`: what became of messages; try again, flush, cancel, deliver anew."""

from __future__ import annotations

import argparse

from serai.cli.relay.target import add_relay_command, calling, line_of_delivery
from serai.contract import DeliveriesResult, DeliveryMode, DeliveryState
from serai.relay.sdk import Relay

__all__ = ["configure"]

_VERBS = {
    "retry": "try a delivery again now",
    "cancel": "give a delivery up",
    "redeliver": "deliver the message of a final delivery once more",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai deliveries`."""
    parser.add_argument("--agent", metavar="HANDLE", help="only those for one participant")
    parser.add_argument("--state", choices=[state.value for state in DeliveryState])
    parser.add_argument("--stuck", action="store_true", help="only those that someone should look at")
    parser.add_argument("--watch", action="store_true", help="go on and tell what becomes of them")
    parser.add_argument("--limit", type=int, default=50)
    add_relay_command(parser, _list)
    verbs = parser.add_subparsers(title="what to do", metavar="WHAT")
    for verb, summary in _VERBS.items():
        one = verbs.add_parser(verb, help=summary)
        one.add_argument("deliveryId", metavar="DELIVERY")
        changed = calling(f"deliveries.{verb}", lambda record: [line_of_delivery(record)], "deliveryId")
        add_relay_command(one, changed, again=True)
    flush = verbs.add_parser("flush", help="let in what waits for a participant, whatever it waits for")
    flush.add_argument("agent", metavar="HANDLE")
    flush.add_argument("--mode", choices=[mode.value for mode in DeliveryMode], help="only those in one mode")
    add_relay_command(flush, calling("deliveries.flush", _lines, "agent", "mode"), again=True)


def _lines(found: DeliveriesResult) -> list[str]:
    return [*map(line_of_delivery, found.deliveries)] or ["There is none."]


async def _list(relay: Relay, options: argparse.Namespace) -> int:
    await calling("deliveries.list", _lines, "agent", "state", "stuck", "limit")(relay, options)
    if options.watch:
        async for event in relay.follow("delivery.*", agent=options.agent):
            reason = f": {event.data['reason']}" if event.data.get("reason") else ""
            agent: dict[str, str] = event.data.get("agent") or {}
            who = agent.get("handle", "")
            print(f"{event.data['deliveryId']}  {who}  {event.type.partition('.')[2]}{reason}", flush=True)
    return 0
