"""`serai sessions --disposed`: the sessions that have ended and are kept, which only a purge erases.

A host does not speak of them. They are read from its database, also while it runs.
"""

from __future__ import annotations

import argparse
import os

from serai.ahp.types import SessionSummary
from serai.cli.connecting import is_on_this_machine
from serai.cli.home import present_key
from serai.config.paths import find_paths
from serai.errors import ConfigInvalid
from serai.journal.sessions import listed
from serai.store.sqlite.backup import disposed_sessions

__all__ = ["add_disposed_option", "find_disposed"]


def add_disposed_option(parser: argparse.ArgumentParser, *, again: bool = False) -> None:
    """Add `--disposed`; `again` for a subcommand, which must not undo what stood before it."""
    parser.add_argument(
        "--disposed",
        action="store_true",
        default=argparse.SUPPRESS if again else False,
        help="those that have ended and are kept in this machine's database, until they are purged",
    )


def find_disposed(options: argparse.Namespace) -> list[SessionSummary]:
    """The sessions that were disposed of in the home that the options mean, the last modified one first.

    Raises:
        ConfigInvalid: The options mean a host on another machine.
        StorageUnreadable: There is no database, or it cannot be opened.
    """
    named = options.url or (None if options.home else os.environ.get("SERAI_URL"))
    if named and not is_on_this_machine(options):
        raise ConfigInvalid(
            "sessions that were disposed of are listed from the database, and this host's is elsewhere",
            remedy="Run it on the host's machine, without --url",
        )
    paths = find_paths(options.home, os.environ)
    return [listed(row)[0] for row in disposed_sessions(paths.database, present_key(paths).value)]
