"""`serai restore`: put a copy in the place of the database."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from serai.cli.home import database_key
from serai.config.paths import find_paths
from serai.store.sqlite.backup import restore

__all__ = ["configure"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai restore`."""
    parser.description = (
        "Put a copy in the place of the database. The present one is moved aside, not erased."
    )
    parser.add_argument("file", metavar="FILE", help="a file of 'serai backup'")
    parser.set_defaults(run=_restore)


def _restore(options: argparse.Namespace) -> int:
    paths = find_paths(options.home, os.environ)
    key = database_key(paths)
    paths.make_home()
    aside = restore(Path(options.file), paths.database, key.value)
    print(f"{paths.database} is restored from {options.file}.")
    if aside is not None:
        print(f"What was there is in {aside}.")
    return 0
