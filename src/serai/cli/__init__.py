"""The command: `serai`.

Each subcommand is a module of its own, imported only when it is asked for, so that `serai --help` is quick.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Any

from serai.errors import SeraiError
from serai.version import __version__

__all__ = ["main", "read_words"]

_COMMANDS = {
    "serve": "start the host",
    "ask": "ask an agent something, without a host",
    "chat": "talk to a session",
    "sessions": "see and manage sessions",
    "watch": "see what all sessions are doing, live",
    "send": "send a message to a room, an agent or a person",
    "inbox": "see what waits for you",
    "rooms": "see, make and change rooms",
    "search": "look for words in messages and sessions",
    "deliveries": "see what became of messages; try again, flush, cancel",
    "actions": "see what agents and programs do for others; ask for it",
    "listen": "follow what happens in the workspace",
    "pair": "let a phone or another browser in; list and revoke those that are",
    "token": "make tokens for participants and observers",
    "webhooks": "have events posted to a URL",
    "secrets": "have a value masked that is read from standard input",
    "mcp": "be an MCP server with the tools of the host's relay, over standard input and output",
    "agents": "see which agents there are; ask one what it can do",
    "export": "write a session as a workflow file",
    "workflow": "check, format and draw workflow files",
    "changes": "see what was discarded, and undo it",
    "terminals": "see, open and use the host's terminals",
    "doctor": "look at database, key, agents, port and leftovers",
    "backup": "copy the database, also while the host runs",
    "restore": "put a copy in the place of the database",
    "service": "have the system start the host when you log in",
    "config": "show and change settings and where they come from; trust folders",
    "acp": "look into the Agent Client Protocol",
    "ahp": "look into the Agent Host Protocol",
}
"""Every subcommand and what it does. Its module has `configure(parser)`, which sets `run`."""

_ELSEWHERE = {
    "chat": "chat.command:configure",
    "send": "relay:configure_send",
    "inbox": "relay:configure_inbox",
    "search": "relay:configure_search",
    "rooms": "relay:configure_rooms",
    "deliveries": "relay:configure_deliveries",
    "actions": "relay:configure_actions",
    "listen": "relay:configure_listen",
    "token": "relay:configure_token",
    "webhooks": "relay:configure_webhooks",
    "secrets": "relay:configure_secrets",
    "backup": "database:configure_backup",
    "restore": "database:configure_restore",
    "ahp": "protocols:configure_ahp",
    "acp": "protocols:configure_acp",
}
"""The modules and functions of subcommands that have no module of their own name."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 when done, 1 for an error, 2 for a wrong call."""
    _fill_in_streams()
    options: argparse.Namespace | None = None
    try:
        options = read_words(sys.argv[1:] if arguments is None else arguments)
        code = options.run(options)
        sys.stdout.flush()
    except SeraiError as error:
        if options is None or options.debug:
            raise
        print(f"serai: {error} [{error.code}]", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Whoever read our output has gone. What is left of it must not be tried again at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    return code


def _fill_in_streams() -> None:
    """Whoever started us may have closed what we read or write: then it is empty, or goes nowhere.

    In this order, so that each gets its own number back, and no file of ours does.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 - it stays open


def read_words(words: Sequence[str]) -> argparse.Namespace:
    """What the words of a command line mean: their options, with `run`, which does it.

    Raises:
        SystemExit: They mean nothing, or ask for help; that has been printed.
    """
    parser = _Parser(
        prog="serai",
        description="An inn for AI agents: a host where agent sessions live.",
        epilog="'serai' alone starts the host, or finds the one that runs, and opens its page."
        " 'serai COMMAND --help' tells more about a command.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"serai {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    wanted = _command_in(words)
    for name, summary in _COMMANDS.items():
        sentence = f"{summary[0].upper()}{summary[1:]}."
        command = commands.add_parser(name, help=summary, description=sentence)
        if name == wanted:
            module, function = _ELSEWHERE.get(name, f"{name}:configure").split(":")
            getattr(import_module(f"serai.cli.{module}"), function)(command)
    parser.set_defaults(run=partial(_alone, parser), home=None, debug=False)
    return parser.parse_args(words)


def _alone(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Without a command: the page, for a person at a terminal; for a program, the help."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        parser.print_help()
        return 0
    from serai.cli.link import enter  # noqa: PLC0415 - see above

    return enter(options)


def _command_in(words: Sequence[str]) -> str | None:
    """The first word that is no option, nor the directory of `--home`."""
    before = ""
    for word in words:
        if not word.startswith("-") and before != "--home":
            return word
        before = word
    return None


class _Parser(argparse.ArgumentParser):
    """A parser of ours or of a command: what may stand before a command may stand after it, too."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        # Without a default: that of a subcommand would take the place of what stood before it.
        self.add_argument(
            "--home",
            metavar="DIR",
            default=argparse.SUPPRESS,
            help="where Serai keeps its files (also SERAI_HOME)",
        )
        self.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help="show tracebacks")
