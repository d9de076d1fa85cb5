"""What the commands that work on the home itself have in common."""

from __future__ import annotations

import os

from serai.config.keys import DatabaseKey, find_database_key
from serai.config.load import load
from serai.config.paths import Paths
from serai.errors import StorageUnreadable

__all__ = ["database_key", "present_key"]


def database_key(paths: Paths) -> DatabaseKey:
    """The key of the database, from wherever the host would take it. None is made.

    Raises:
        ConfigInvalid: A configuration file is wrong, or the file with the key cannot be used.
        StorageUnreadable: There is no key.
    """
    settings = load(paths, os.environ).settings
    return find_database_key(paths, os.environ, use_keyring=settings.use_keyring, make=False)


def present_key(paths: Paths) -> DatabaseKey:
    """The key of a database that has to be there.

    Raises:
        ConfigInvalid: As for `database_key`.
        StorageUnreadable: There is no database, or no key.
    """
    if not paths.database.exists():
        raise StorageUnreadable(f"there is no database {paths.database}", remedy="'serai serve' makes one")
    return database_key(paths)
