"""`serai changes`: lists the discards of the last week, and undoes one. It works with a host or without."""

from __future__ import annotations

import argparse
import os
import time

from serai.changes.undo import Trash
from serai.config.paths import find_paths
from serai.errors import DiscardUnknown


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai changes`."""
    parser.epilog = "What a discard took away is kept for a week, with all that was in it."
    parser.set_defaults(run=_list)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    commands.add_parser("list", help="list what was discarded").set_defaults(run=_list)
    undo = commands.add_parser("undo", help="give everything back that a discard took away")
    undo.add_argument("discard", metavar="ID", nargs="?", help="which one; by default the last discard")
    undo.set_defaults(run=_undo)


def _list(options: argparse.Namespace) -> int:
    found = Trash(find_paths(options.home, os.environ).home).discards()
    for one in found:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(one.at))
        cut_short = "" if one.is_done else " (cut short)"
        print(f"{one.id}  {when}  {one.what}{cut_short}  {one.directory}")
    if not found:
        print("Nothing was discarded in the last week.")
    return 0


def _undo(options: argparse.Namespace) -> int:
    trash = Trash(find_paths(options.home, os.environ).home)
    found = [
        one
        for one in trash.discards()
        if (one.id.startswith(options.discard) if options.discard else one.undoes is None)
    ]
    if not found:
        raise DiscardUnknown(
            "there is no such discard" if options.discard else "nothing was discarded in the last week",
            remedy="`serai changes list` lists them",
        )
    trash.undo(found[0])
    print(f"Gave back {found[0].what} in {found[0].directory}.")
    return 0
