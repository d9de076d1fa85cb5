"""The options and the connection that commands share, and the sessions and terminals that a person names."""

from __future__ import annotations

import argparse
import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from serai.ahp.types import URI
from serai.client import Client, connect
from serai.client.address import find_address
from serai.errors import SessionGone

if TYPE_CHECKING:
    from serai.relay.sdk import Relay

Run: TypeAlias = Callable[[argparse.Namespace], int]
"""Runs a command. Returns its exit code."""

ClientCommand: TypeAlias = Callable[[Client, argparse.Namespace], Awaitable[int]]
"""Runs a command with a connected client. Returns its exit code."""

RelayCommand: TypeAlias = "Callable[[Relay, argparse.Namespace], Awaitable[int]]"
"""Runs a command with a connected relay. Returns its exit code."""


def add_command(
    commands: Any,
    name: str,
    summary: str,
    *arguments: str,
    run: Run | None = None,
    client: ClientCommand | None = None,
    relay: RelayCommand | None = None,
    epilog: str | None = None,
) -> argparse.ArgumentParser:
    """Add a subcommand, with the arguments of these names, and with one of three ways to run it."""
    sentence = f"{summary[0].upper()}{summary[1:]}."
    parser: argparse.ArgumentParser
    parser = commands.add_parser(name, help=summary, description=sentence, epilog=epilog)
    for argument in arguments:
        parser.add_argument(argument, metavar=argument.upper())
    if client is not None:
        add_client_command(parser, client)
    elif relay is not None:
        add_relay_command(parser, relay)
    elif run is not None:
        parser.set_defaults(run=run)
    return parser


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add `--json`, which may stand before a subcommand or after it."""
    parser.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")


def add_client_command(parser: argparse.ArgumentParser, command: ClientCommand) -> None:
    """Have a parser run a command with a connected client."""
    add_connection_options(parser)
    parser.set_defaults(run=run_connected, command=command)


def run_connected(options: argparse.Namespace) -> int:
    """Connect a client, and run the command of the options."""

    async def run() -> int:
        async with connect(options.url, options.token, home=options.home) as client:
            return await options.command(client, options)

    return asyncio.run(run())


def add_relay_command(parser: argparse.ArgumentParser, command: RelayCommand) -> None:
    """Have a parser run a command with a connected relay. `--json` prints the result of the relay."""
    add_connection_options(parser)
    add_json_option(parser)
    parser.set_defaults(run=partial(_run_with_relay, command))


def _run_with_relay(command: RelayCommand, options: argparse.Namespace) -> int:
    from serai.relay.sdk import Relay  # noqa: PLC0415 - not every command needs it

    async def run() -> int:
        async with await Relay.connect(options.url, options.token, home=options.home) as relay:
            return await command(relay, options)

    return asyncio.run(run())


def add_connection_options(parser: argparse.ArgumentParser) -> None:
    """Add `--url` and `--token`, which may stand before a subcommand or after it."""
    for option, what, variable in (
        ("--url", "the host's address", "SERAI_URL, else this machine's host"),
        ("--token", "its token", "SERAI_TOKEN, else the one of this machine's host"),
    ):
        parser.add_argument(option, default=argparse.SUPPRESS, help=f"{what} (default: {variable})")


def is_on_this_machine(options: argparse.Namespace) -> bool:
    """Tell whether the options name a host on this machine."""
    return find_address(options.url, options.token, home=options.home).is_local


def session_id(uri: URI) -> str:
    """Return the last part of the URI of a session or a terminal."""
    return uri.rpartition("/")[2]


def match(kind: str, name: str, uris: Sequence[URI], lists: str | None = None) -> URI:
    """Return the URI that a person means: by itself, by its id, or by the beginning of its id.

    Args:
        kind: `session`, `terminal` or `run`.
        name: The words of the person.
        uris: All URIs.
        lists: The command that lists them, for the error.

    Raises:
        SessionGone: No URI matches, or more than one.
    """
    if name.startswith(f"ahp-{kind}:"):
        return name
    found = [uri for uri in uris if session_id(uri) == name] or [
        uri for uri in uris if name and session_id(uri).startswith(name)
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        remedy = lists or f"`serai {kind}s` lists them"
        raise SessionGone(f"there is no {kind} {name!r}", remedy=remedy)
    ids = ", ".join(session_id(uri) for uri in found[:5])
    raise SessionGone(f"{len(found)} {kind}s begin with {name!r}: {ids}", remedy="Write more of the id")


_UNSPECIFIED = {
    "0.0.0.0": (socket.AF_INET, "127.0.0.1", "192.0.2.1"),  # noqa: S104 - nothing is bound to it here
    "::": (socket.AF_INET6, "::1", "2001:db8::1"),
}
"""By address that stands for all addresses: its family, the loopback address, and an address for examples."""


def called_by(host: str) -> list[str]:
    """Return the addresses of a host that listens on an address, the nearest first."""
    host = host.strip("[]")
    if host not in _UNSPECIFIED:
        return [host]
    kind, here, far_away = _UNSPECIFIED[host]
    try:
        with socket.socket(kind, socket.SOCK_DGRAM) as one:
            one.connect((far_away, 9))  # sends nothing, and shows the way that a datagram would take
            return list(dict.fromkeys([here, str(one.getsockname()[0])]))
    except OSError:
        return [here]  # there is no network
