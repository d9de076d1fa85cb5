"""What another program may do with a database, also while a host runs on it: copy it, and look it over.

It takes part in SQLite's own locking and not in the host's, and writes nothing. All of it blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import apsw

from serai.errors import StorageUnavailable, StorageUnreadable
from serai.store import care
from serai.store.connection import connect, raw_key, salt_of, unreadable
from serai.store.database import Database
from serai.store.files import copy_database

__all__ = ["back_up", "look_over"]

T = TypeVar("T")


def back_up(database: Path, key: bytes | str, destination: Path) -> None:
    """Write a consistent copy of a database to a new file, under the same key.

    Raises:
        StorageUnreadable: The database cannot be opened.
        StorageUnavailable: The file exists, or cannot be written.
    """
    if destination.exists():
        raise StorageUnavailable(f"{destination} exists", remedy="Name a new file; nothing is overwritten")
    try:
        _visit(database, key, lambda connection: copy_database(connection, destination))
    except OSError as error:
        raise StorageUnavailable(
            f"{destination} cannot be written: {error.strerror}", remedy="Check the folder and the free space"
        ) from None


def look_over(database: Path, key: bytes | str, *, full: bool) -> list[str]:
    """What is wrong with a database; empty when nothing is.

    Raises:
        StorageUnreadable: It cannot be opened at all.
    """
    return _visit(database, key, lambda connection: care.check(connection, full=full))


def _visit(database: Path, key: bytes | str, job: Callable[[Database], T]) -> T:
    if not database.is_file():
        raise StorageUnreadable(f"there is no database {database}", remedy="'serai serve' makes one")
    try:
        connection = connect(database, raw_key(key, salt_of(database)))
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # a wrong key shows here
            return job(connection)
        finally:
            connection.close()
    except apsw.Error as error:
        raise unreadable(error, database) from error
