"""Which host a command talks to, and which session or terminal a person means."""

from __future__ import annotations

import argparse
import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from serai.ahp.types import URI
from serai.client import Client, connect
from serai.client.address import find_address
from serai.errors import SessionGone

ClientCommand: TypeAlias = Callable[[Client, argparse.Namespace], Awaitable[int]]
"""What a command does once it is connected. Returns the exit code."""


def add_command(commands: Any, name: str, does: str, *, epilog: str | None = None) -> argparse.ArgumentParser:
    """A subcommand, with what it does in the list of commands and in its own help."""
    sentence = f"{does[0].upper()}{does[1:]}."
    return commands.add_parser(name, help=does, description=sentence, epilog=epilog)


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add `--json`, which may stand before a subcommand or after it."""
    parser.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")


def add_client_command(parser: argparse.ArgumentParser, command: ClientCommand) -> None:
    """Have a parser run a command with a connected client."""
    add_connection_options(parser)
    parser.set_defaults(run=run_connected, command=command)


def run_connected(options: argparse.Namespace) -> int:
    """Connect, and do what the command does."""

    async def run() -> int:
        async with connect(options.url, options.token, home=options.home) as client:
            return await options.command(client, options)

    return asyncio.run(run())


def add_connection_options(parser: argparse.ArgumentParser) -> None:
    """Add `--url` and `--token`, which may stand before a subcommand or after it."""
    for option, what, variable in (
        ("--url", "the host's address", "SERAI_URL, else this machine's host"),
        ("--token", "its token", "SERAI_TOKEN, else the one of this machine's host"),
    ):
        parser.add_argument(option, default=argparse.SUPPRESS, help=f"{what} (default: {variable})")


def is_on_this_machine(options: argparse.Namespace) -> bool:
    """Whether the host that the options mean is on this machine."""
    return find_address(options.url, options.token, home=options.home).is_local


def session_id(uri: URI) -> str:
    """The last part of a session's URI, or of a terminal's."""
    return uri.rpartition("/")[2]


def match(kind: str, name: str, uris: Sequence[URI], lists: str | None = None) -> URI:
    """Which of these URIs a person means: by the URI, the id, or the beginning of the id.

    Args:
        kind: `session` or `terminal`.
        name: What they wrote.
        uris: Those that there are.
        lists: Where they are listed, for people.

    Raises:
        SessionGone: None of them, or more than one.
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


# An address for examples: a datagram "to" it shows which way it would go, and none is sent.
_EVERYWHERE = {
    "0.0.0.0": (socket.AF_INET, "127.0.0.1", "192.0.2.1"),  # noqa: S104 - nothing is bound to it here
    "::": (socket.AF_INET6, "::1", "2001:db8::1"),
}


def called_by(host: str) -> list[str]:
    """The addresses by which a host that listens there can be called, the nearest first."""
    host = host.strip("[]")
    if host not in _EVERYWHERE:
        return [host]
    kind, here, far_away = _EVERYWHERE[host]
    try:
        with socket.socket(kind, socket.SOCK_DGRAM) as one:
            one.connect((far_away, 9))
            return list(dict.fromkeys([here, str(one.getsockname()[0])]))
    except OSError:
        return [here]  # there is no network
