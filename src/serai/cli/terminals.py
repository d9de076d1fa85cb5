"""`serai terminals`: which terminals the host has, a new one, and the way into one."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from functools import partial

from serai.ahp.types import TerminalClientClaim, TerminalInfo, TerminalSessionClaim
from serai.cli.console.attach import attach
from serai.cli.console.output import clean, print_json, rows_of, short_ids
from serai.cli.console.target import add_connection_options, client_of, match_terminal, session_id
from serai.client import Client, TerminalClient

__all__ = ["configure"]

_Command = Callable[[Client, argparse.Namespace], Awaitable[int]]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `serai terminals`."""
    _options(parser, _list)
    parser.add_argument("--json", action="store_true", help="print JSON")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    listing = commands.add_parser("list", help="list all terminals (the same as no command)")
    listing.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
    _options(listing, _list, again=True)
    opening = commands.add_parser(
        "open",
        help="start a shell in a new one, and go into it",
        description="Start a shell in a new terminal of the host, and go into it; Ctrl-] leaves it.",
        epilog="Where nobody can type, its URI is printed instead.",
    )
    opening.add_argument("--name", help="what people see")
    _options(opening, _open, again=True)
    attaching = commands.add_parser(
        "attach",
        help="go into one: see what it shows, and type",
        description="Show a terminal of the host here, and send it what is typed; Ctrl-] leaves it.",
    )
    attaching.add_argument("terminal", metavar="TERMINAL", help="its id, the beginning of its id, or its URI")
    _options(attaching, _attach, again=True)
    # To say what is wrong before anything is started.
    attaching.set_defaults(run=partial(_with_a_person, attaching))


def _options(parser: argparse.ArgumentParser, command: _Command, *, again: bool = False) -> None:
    add_connection_options(parser, again=again)
    parser.set_defaults(run=partial(_start, command))


def _start(command: _Command, options: argparse.Namespace) -> int:
    return asyncio.run(_run(command, options))


async def _run(command: _Command, options: argparse.Namespace) -> int:
    async with client_of(options) as client:
        return await command(client, options)


def _with_a_person(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if not _has_person():
        parser.error("it needs a terminal to show it on, and to type")
    return _start(_attach, options)


# -- commands ----------------------------------------------------------------------------------------------


async def _list(client: Client, options: argparse.Namespace) -> int:
    terminals = _all(client)
    if options.json:
        print_json(terminals)
    elif terminals:
        print("\n".join(_table(terminals)))
    else:
        print("There are no terminals. `serai terminals open` starts one.", file=sys.stderr)
    return 0


async def _open(client: Client, options: argparse.Namespace) -> int:
    size = os.get_terminal_size(1) if _has_person() else None
    terminal = await client.create_terminal(
        name=options.name, size=(size.columns, size.lines) if size and size.columns else None
    )
    if not _has_person():
        print(terminal.uri)
        return 0
    return await _go_into(client, terminal)


async def _attach(client: Client, options: argparse.Namespace) -> int:
    uri = match_terminal(options.terminal, [info.resource for info in _all(client)])
    return await _go_into(client, await client.open_terminal(uri))


async def _go_into(client: Client, terminal: TerminalClient) -> int:
    how = "Ctrl-] leaves it." if terminal.state.exit_code is None else "This is what was left on it:"
    print(f"[{clean(terminal.state.title)} ({session_id(terminal.uri)}). {how}]", flush=True)
    print(f"[{await attach(client, terminal)}]", flush=True)
    return 0


def _has_person() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _all(client: Client) -> list[TerminalInfo]:
    return (client.root.terminals or []) if client.root else []


# -- words -------------------------------------------------------------------------------------------------


def _table(terminals: list[TerminalInfo]) -> list[str]:
    ids = short_ids([session_id(info.resource) for info in terminals])
    rows = [["ID", "TITLE", "HELD BY", "STATUS"]]
    for name, info in zip(ids, terminals, strict=True):
        status = "runs" if info.exit_code is None else f"ended with {info.exit_code}"
        rows.append([name, info.title, _holder(info), status])
    return rows_of(rows, gives_way=1)


def _holder(info: TerminalInfo) -> str:
    match info.claim:
        case TerminalSessionClaim(session=uri):
            return f"session {session_id(uri)[:8]}"
        case TerminalClientClaim(client_id=name):
            return f"client {name[:14]}" if name else "nobody"
        case _:
            return "someone"
