"""How a command of the relay reaches it, and prints what comes back."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import msgspec

from serai.cli.console.target import add_connection_options
from serai.contract import DeliveryRecord, Record, RelayMessage, to_wire
from serai.relay.sdk import Relay

__all__ = ["add_relay_command", "calling", "line_of_delivery", "line_of_message", "show"]

RelayCommand = Callable[[Relay, argparse.Namespace], Awaitable[int]]


def add_relay_command(parser: argparse.ArgumentParser, command: RelayCommand, *, again: bool = False) -> None:
    """Have a parser run a command with a connected relay; `again` for a subcommand."""
    add_connection_options(parser, again=again)
    parser.add_argument("--json", action="store_true", help="print what the relay returns, as JSON")
    parser.set_defaults(run=partial(_run, command))


def _run(command: RelayCommand, options: argparse.Namespace) -> int:
    async def run() -> int:
        async with await Relay.connect(options.url, options.token, home=options.home) as relay:
            return await command(relay, options)

    return asyncio.run(run())


def calling(method: str, lines: Callable[[Any], list[str]], *fields: str) -> RelayCommand:
    """A command that calls one method with the options of these names, and prints what it returns.

    A field `url=to` is called `url` there and `to` among the options.
    """

    async def call(relay: Relay, options: argparse.Namespace) -> int:
        params = {one.partition("=")[0]: getattr(options, one.rpartition("=")[2], None) for one in fields}
        show(await relay.call(method, **params), options, lines)
        return 0

    return call


def show(result: Record, options: argparse.Namespace, lines: Callable[[Any], list[str]]) -> None:
    """Print what a method returned: as JSON, or as lines for people."""
    if options.json:
        print(msgspec.json.encode(to_wire(result)).decode())
    else:
        for line in lines(result):
            print(line)


def line_of_message(message: RelayMessage) -> str:
    """A message on a line or more, for people."""
    where = f" in {message.channel.name}" if message.channel else ""
    reply = " (reply)" if message.thread_id else ""
    return f"{message.created_at:%H:%M} @{message.sender.name}{where}{reply}: {message.text}  [{message.id}]"


def line_of_delivery(record: DeliveryRecord) -> str:
    """A delivery on a line, for people."""
    waits = f", waits for {record.waits_for}" if record.waits_for else ""
    error = f": {record.error}" if record.error else ""
    asked = f" (asked for {record.requested_mode.value})" if record.requested_mode else ""
    return f"{record.id}  {record.agent}  {record.state.value}{waits}{error}  {record.mode.value}{asked}"
