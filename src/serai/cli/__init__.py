"""The command: `serai`.

Each subcommand is a module of its own, imported only when it is asked for, so that `serai --help` is quick.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from serai.errors import SeraiError
from serai.version import __version__

__all__ = ["main"]

_COMMANDS = {
    "serve": "start the host",
    "chat": "talk to a session",
    "sessions": "see and manage sessions",
    "doctor": "look at database, key, agents, port and leftovers",
    "backup": "copy the database, also while the host runs",
    "restore": "put a copy in the place of the database",
    "config": "show settings and where they come from; trust folders",
    "ahp": "look into the Agent Host Protocol",
}
"""Every subcommand and what it does. Its module here has `configure(parser)`, which sets `run`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 when done, 1 for an error, 2 for a wrong call."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser = _parser(words)
    options = parser.parse_args(words)
    run = getattr(options, "run", None)
    if run is None:
        parser.print_help()
        return 0
    try:
        code = run(options)
        sys.stdout.flush()
    except SeraiError as error:
        if options.debug:
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


def _parser(words: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="serai",
        description="An inn for AI agents: a host where agent sessions live.",
        epilog="'serai COMMAND --help' tells more about a command.",
    )
    parser.add_argument("--version", action="version", version=f"serai {__version__}")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    wanted = next((word for word in words if not word.startswith("-")), None)
    for name, summary in _COMMANDS.items():
        sentence = f"{summary[0].upper()}{summary[1:]}."
        command = commands.add_parser(name, help=summary, description=sentence)
        if name == wanted:
            import_module(f"serai.cli.{name}").configure(command)
    return parser
