"""What the commands that work on the home itself have in common."""

from __future__ import annotations

import os

from serai.config.keys import DatabaseKey, find_database_key
from serai.config.load import load
from serai.config.paths import Paths

__all__ = ["database_key"]


def database_key(paths: Paths) -> DatabaseKey:
    """The key of the database, from wherever the host would take it."""
    settings = load(paths, os.environ).settings
    return find_database_key(paths, os.environ, use_keyring=settings.use_keyring)
