"""The command: `serai`.

Each subcommand is a module of its own, imported only when it is asked for, so that `serai --help` is quick.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Any

from serai.errors import SeraiError
from serai.version import __version__

_COMMANDS = {
    "serve": ("serve", "start the host"),
    "ask": ("ask", "ask an agent something, without a host"),
    "chat": ("chat.command", "talk to a session"),
    "sessions": ("sessions", "see and manage sessions"),
    "watch": ("sessions", "see all sessions, live"),
    "send": ("relay", "send a message to a room, an agent or a person"),
    "inbox": ("relay", "see your messages"),
    "rooms": ("relay", "see, make and change rooms"),
    "search": ("relay", "look for words in messages and sessions"),
    "deliveries": ("relay", "see the deliveries of messages; retry, flush, cancel"),
    "actions": ("relay", "see and invoke the actions of agents and programs"),
    "listen": ("relay", "follow the events of the workspace"),
    "pair": ("link", "pair a phone or another browser; list and revoke devices"),
    "token": ("relay", "make tokens for participants and observers"),
    "webhooks": ("relay", "post events to a URL"),
    "secrets": ("relay", "mask a secret value, read from standard input"),
    "mcp": ("mcp", "run an MCP server with the tools of the host's relay, over standard input and output"),
    "agents": ("agents", "see which agents there are; ask one what it can do"),
    "export": ("workflow", "write a session as a workflow file"),
    "workflow": ("workflow", "check, format and draw workflow files"),
    "changes": ("database", "see what was discarded, and undo it"),
    "terminals": ("terminals", "see, open and use the host's terminals"),
    "doctor": ("doctor", "check database, key, agents, port and leftovers"),
    "backup": ("database", "copy the database, also while the host runs"),
    "restore": ("database", "replace the database by a copy"),
    "service": ("service", "start the host whenever you log in"),
    "config": ("config", "show and change settings and where they come from; trust folders"),
    "acp": ("protocols", "look into the Agent Client Protocol"),
    "ahp": ("protocols", "look into the Agent Host Protocol"),
}
"""Module and summary of every subcommand. The module has `configure(parser)`, which sets `run`, or a
`configure_NAME` for each of its commands."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 when done, 1 for an error, 2 for a wrong call."""
    _fill_in_streams()
    options: argparse.Namespace | None = None
    try:
        gc.disable()  # what a command imports stays: none of it is garbage
        try:
            options = read_words(sys.argv[1:] if arguments is None else arguments)
        finally:
            gc.enable()
        code = options.run(options)
        sys.stdout.flush()
    except SeraiError as error:
        if options is None or options.debug:
            raise
        print(f"serai: {error} [{error.code}]", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader of our output is gone. The rest must not be written again at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    return code


def _fill_in_streams() -> None:
    """Replace closed standard streams by the null device, so that no file of ours gets their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 - it stays open


def read_words(words: Sequence[str]) -> argparse.Namespace:
    """Parse a command line. The options have `run`, which runs the command.

    Raises:
        SystemExit: The words are invalid, or ask for help. A message has been printed.
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
    for name, (module, summary) in _COMMANDS.items():
        sentence = f"{summary[0].upper()}{summary[1:]}."
        command = commands.add_parser(name, help=summary, description=sentence)
        if name == wanted:
            function = "configure" if module == name else f"configure_{name}"
            getattr(import_module(f"serai.cli.{module}"), function)(command)
    parser.set_defaults(run=partial(_alone, parser), home=None, debug=False, json=False, url=None, token=None)
    return parser.parse_args(words)


def _alone(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Run `serai` without a command: open the page for a person at a terminal, else print the help."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        parser.print_help()
        return 0
    from serai.cli.link import enter  # noqa: PLC0415 - see above

    return enter(options)


def _command_in(words: Sequence[str]) -> str | None:
    """Return the first word that is neither an option nor the directory of `--home`."""
    before = ""
    for word in words:
        if not word.startswith("-") and before != "--home":
            return word
        before = word
    return None


class _Parser(argparse.ArgumentParser):
    """A parser whose common options may stand before or after a command."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        # Common options have no default: that of a subcommand would replace a value before the subcommand.
        self.add_argument(
            "--home",
            metavar="DIR",
            default=argparse.SUPPRESS,
            help="where Serai keeps its files (also SERAI_HOME)",
        )
        self.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help="show tracebacks")
