"""What the commands that work on the home itself have in common."""

from __future__ import annotations

import argparse
import os

from serai.config.keys import DatabaseKey, find_database_key
from serai.config.load import load
from serai.config.paths import HOME_VARIABLE, Paths

__all__ = ["add_home", "database_key"]


def add_home(parser: argparse.ArgumentParser) -> None:
    """Add `--home`."""
    parser.add_argument("--home", metavar="DIR", help=f"where Serai keeps its files (also {HOME_VARIABLE})")


def database_key(paths: Paths) -> DatabaseKey:
    """The key of the database, from wherever the host would take it."""
    settings = load(paths, os.environ).settings
    return find_database_key(paths, os.environ, use_keyring=settings.use_keyring)
