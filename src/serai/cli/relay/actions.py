"""`serai actions`: see which actions there are, and invoke one."""

from __future__ import annotations

import argparse

import msgspec

from serai.cli.relay.target import add_relay_command, calling, show
from serai.contract import ActionDescriptor, ActionState, InvokeResult
from serai.errors import InvalidParams
from serai.relay.sdk import Relay

__all__ = ["configure"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai actions`."""
    add_relay_command(parser, calling("actions.list", lambda found: [*map(_line, found.actions)]))
    verbs = parser.add_subparsers(title="what to do", metavar="WHAT")
    invoke = verbs.add_parser("invoke", help="ask for an action, and wait for its outcome")
    invoke.add_argument("name", metavar="NAME")
    invoke.add_argument("input", metavar="JSON", nargs="?", help="what it is called with")
    invoke.add_argument("--wait", metavar="SECONDS", type=float, default=600.0, help="how long to wait")
    add_relay_command(invoke, _invoke, again=True)


async def _invoke(relay: Relay, options: argparse.Namespace) -> int:
    try:
        given = None if options.input is None else msgspec.json.decode(options.input)
    except msgspec.DecodeError as error:
        raise InvalidParams(f"the input is no JSON: {error}", field="input") from None
    outcome = await relay.invoke(options.name, given, wait_ms=round(options.wait * 1000))
    show(outcome, options, _lines)
    return 0 if outcome.state in {ActionState.COMPLETED, ActionState.INVOKED} else 1


def _line(one: ActionDescriptor) -> str:
    return f"{one.name}  {one.description}" + (f"  (by {one.owner})" if one.owner else "")


def _lines(outcome: InvokeResult) -> list[str]:
    if outcome.error is not None:
        return [f"{outcome.state.value}: {outcome.error} [{outcome.code}]"]
    if outcome.state == ActionState.INVOKED:
        return [f"{outcome.invocation_id} has begun; its outcome is an event"]
    return [msgspec.json.format(msgspec.json.encode(outcome.output)).decode()]
