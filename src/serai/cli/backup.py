"""`serai backup`: copy the database, also while the host runs."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from serai.cli.home import present_key
from serai.config.paths import find_paths
from serai.store.sqlite.backup import back_up

__all__ = ["configure"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai backup`."""
    parser.description = "Copy the database to a new file, also while the host runs. The key stays the same."
    parser.add_argument("file", metavar="FILE", help="the copy; it must not exist yet")
    parser.set_defaults(run=_backup)


def _backup(options: argparse.Namespace) -> int:
    paths = find_paths(options.home, os.environ)
    copy = Path(options.file)
    key = present_key(paths)
    back_up(paths.database, key.value, copy)
    print(f"{copy} is a copy of {paths.database}.")
    print(f"It opens with the same key ({key.source}); keep that too, and apart from it.")
    return 0
