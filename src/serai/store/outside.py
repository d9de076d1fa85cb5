"""What another program may do with a database, also while a host runs on it.

It copies it, looks it over, and lists the sessions that are kept though they were disposed of.

It takes part in SQLite's own locking and not in the host's, and writes nothing. All of it blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import apsw

from serai.errors import StorageUnreadable
from serai.store import care
from serai.store.connection import connect, raw_key, salt_of, unreadable
from serai.store.contract import SessionRow
from serai.store.database import Database
from serai.store.files import HighWater, beside, copy_to_new_file
from serai.store.migrations import MIGRATIONS
from serai.store.opening import check_header, check_schema, refuse_empty, refuse_second_name
from serai.store.queries import SQL

__all__ = ["back_up", "disposed_sessions", "look_over"]

T = TypeVar("T")


def back_up(database: Path, key: bytes | str, destination: Path) -> None:
    """Write a consistent copy of a database to a new file, under the same key.

    Raises:
        StorageUnreadable: The database cannot be opened.
        StorageUnavailable: The file exists, or cannot be written.
    """
    _visit(database, key, lambda connection: copy_to_new_file(connection, destination))


def look_over(database: Path, key: bytes | str, *, full: bool) -> list[str]:
    """What is wrong with a database, with its name; empty when nothing is.

    Raises:
        StorageUnreadable: It cannot be opened, or a host would refuse it.
    """
    has_log = beside(database, "-wal").exists()

    def check(connection: Database) -> list[str]:
        check_schema(connection, database, newest=MIGRATIONS[-1].version)
        ceiling, _, clean = connection.execute(SQL["state"]).get
        problems = care.check(connection, full=full)
        if HighWater(database).misses_log(ceiling, clean=bool(clean), has_log=has_log):
            problems.append(
                "its log was lost, or an older copy put in its place: what happened since is gone"
            )
        return problems

    return [f"{database}: {problem}" for problem in _visit(database, key, check)]


def disposed_sessions(database: Path, key: bytes | str) -> list[SessionRow]:
    """The sessions that were disposed of and not purged, the last modified one first.

    Raises:
        StorageUnreadable: The database cannot be opened.
    """

    def read(connection: Database) -> list[SessionRow]:
        check_schema(connection, database, newest=MIGRATIONS[-1].version)
        return [SessionRow(*row) for row in connection.execute(SQL["disposed_sessions"])]

    return _visit(database, key, read)


def _visit(database: Path, key: bytes | str, job: Callable[[Database], T]) -> T:
    if not database.exists():
        raise StorageUnreadable(f"there is no database {database}", remedy="'serai serve' makes one")
    if not database.is_file():
        raise StorageUnreadable(f"{database} is no file", remedy="Move it away, or name another --home")
    if not database.stat().st_size:
        refuse_empty(database)
    refuse_second_name(database)
    check_header(database)
    try:
        connection = connect(database, raw_key(key, salt_of(database)))
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()  # a wrong key shows here
            return job(connection)
        finally:
            connection.close()
    except apsw.Error as error:
        raise unreadable(error, database) from error
