"""`serai terminals`: lists the terminals of the host, opens a new one, and attaches to one."""

from __future__ import annotations

import argparse
import sys
from functools import partial

from serai.ahp.types import TerminalClientClaim, TerminalInfo, TerminalSessionClaim
from serai.cli.console.attach import attach
from serai.cli.console.output import clean, print_json, short_ids, table
from serai.cli.console.target import (
    add_client_command,
    add_command,
    add_json_option,
    match,
    run_connected,
    session_id,
)
from serai.cli.console.terminal import has_person, screen_size
from serai.client import Client, TerminalClient


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `serai terminals`."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    listing = add_command(commands, "list", "list all terminals (the same as no command)")
    for each in (parser, listing):
        add_json_option(each)
        add_client_command(each, _list)
    otherwise = "Where nobody can type, its URI is printed instead."
    summary = "start a shell in a new one, and go into it; Ctrl-] leaves it"
    opening = add_command(commands, "open", summary, client=_open, epilog=otherwise)
    opening.add_argument("--name", help="what people see")
    summary = "go into one: see what it shows, and type; Ctrl-] leaves it"
    attaching = add_command(commands, "attach", summary, client=_attach)
    attaching.add_argument("terminal", metavar="TERMINAL", help="its id, the beginning of its id, or its URI")
    attaching.set_defaults(run=partial(_start_attach, attaching))


def _start_attach(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if not has_person():
        parser.error("it needs a terminal to show it on, and to type")
    return run_connected(options)


async def _list(client: Client, options: argparse.Namespace) -> int:
    terminals = _all(client)
    if options.json:
        print_json(terminals)
        return 0
    if not terminals:
        print("There are no terminals. `serai terminals open` starts one.", file=sys.stderr)
        return 0
    ids = short_ids([session_id(info.resource) for info in terminals])
    rows = [["ID", "TITLE", "HELD BY", "STATUS"]]
    for name, info in zip(ids, terminals, strict=True):
        status = "runs" if info.exit_code is None else f"ended with {info.exit_code}"
        rows.append([name, info.title, _holder(info), status])
    print("\n".join(table(rows, gives_way=1)))
    return 0


async def _open(client: Client, options: argparse.Namespace) -> int:
    terminal = await client.create_terminal(name=options.name, size=screen_size())
    if not has_person():
        print(terminal.uri)
        return 0
    return await _go_into(client, terminal)


async def _attach(client: Client, options: argparse.Namespace) -> int:
    uri = match("terminal", options.terminal, [info.resource for info in _all(client)])
    terminal = await client.open_terminal(uri)
    if isinstance(claim := terminal.state.claim, TerminalSessionClaim):
        await client.open_session(claim.session)  # followers of a session hold its terminals
    return await _go_into(client, terminal)


async def _go_into(client: Client, terminal: TerminalClient) -> int:
    how = "Ctrl-] leaves it." if terminal.state.exit_code is None else "This is what was left on it:"
    print(f"[{clean(terminal.state.title)} ({session_id(terminal.uri)}). {how}]", flush=True)
    print(f"[{await attach(client, terminal)}]", flush=True)
    return 0


def _all(client: Client) -> list[TerminalInfo]:
    return (client.root.terminals or []) if client.root else []


def _holder(info: TerminalInfo) -> str:
    match info.claim:
        case TerminalSessionClaim(session=uri):
            return f"session {session_id(uri)[:8]}"
        case TerminalClientClaim(client_id=name):
            return f"client {name[:14]}" if name else "nobody"
        case _:
            return "someone"
