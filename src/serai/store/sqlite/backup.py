"""Copies of a database: made while a host runs on it, and put in its place while none does.

Other programs also look a database over here, and list the sessions that are kept though they were disposed
of. They take part in SQLite's own locking and not in the host's, and write nothing. All of it blocks.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import apsw

from serai.errors import DatabaseCorrupt, StorageUnavailable, StorageUnreadable
from serai.store.contract import SessionRow
from serai.store.sqlite import care
from serai.store.sqlite.connection import (
    SQL,
    Database,
    beside,
    connect,
    copy_database,
    look_at,
    raw_key,
    salt_of,
    sync,
    unreadable,
)
from serai.store.sqlite.file import (
    HighWater,
    check_header,
    check_schema,
    inspect,
    refuse_empty,
    refuse_second_name,
)
from serai.store.sqlite.lock import FileLock
from serai.store.sqlite.migrations import MIGRATIONS

__all__ = [
    "back_up",
    "copy_to_new_file",
    "disposed_sessions",
    "look_over",
]

T = TypeVar("T")

_ANOTHER = "name another copy"
"""What a person does about a copy that cannot be restored."""

# A restored copy does not know which numbers were given out after it was made. No host gives out as many as
# this between two restores, and there is room for two million of them below 2 ** 53.
_RESTORE_JUMP = 1 << 32

# The same copy may be restored again, and what was given out in between be lost. So a restored database has
# numbers from now on, in microseconds: no host uses them up faster. 2 ** 53 of them last to 2255.
_NUMBERS_PER_SECOND = 1_000_000


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


def restore(
    backup: Path, destination: Path, key: bytes | str, *, now: Callable[[], float] = time.time
) -> Path | None:
    """Put a copy in the place of a database, and return where the present one was moved to, if there is one.

    The copy is checked in full first. It blocks; no host may run on the database.
    No number is given out that was given out before, also when the same copy is restored a second time.

    Raises:
        DatabaseLocked: A host runs on the database.
        StorageUnreadable: The copy cannot be used. The present database is as it was.
    """
    destination = destination.resolve()
    lock = FileLock(destination)
    lock.take()
    try:
        if not backup.is_file() or not backup.stat().st_size or backup.resolve() == destination:
            raise StorageUnreadable(
                f"{backup} is no copy of a database", remedy="Name a file of 'serai backup'"
            )
        fresh = destination.with_name(f"{destination.name}.new")
        try:
            raw = inspect(backup, key, newest=MIGRATIONS[-1].version, otherwise=_ANOTHER)
            _clear(fresh)
            for suffix in ("", "-wal"):
                if beside(backup, suffix).exists():
                    shutil.copyfile(beside(backup, suffix), beside(fresh, suffix))
                    beside(fresh, suffix).chmod(0o600)
            given_out = max(_given_out(destination, key), round(now() * _NUMBERS_PER_SECOND))
            _adopt(fresh, raw, backup, given_out)
            sync(fresh)
            aside = _move_aside(destination)
            fresh.replace(destination)
            sync(destination.parent)
        finally:
            _clear(fresh)
    except OSError as error:
        raise StorageUnreadable(
            f"{backup} could not be restored to {destination} ({error.strerror})",
            remedy="Check the folder's permissions and the free space",
        ) from error
    finally:
        lock.release()
    return aside


def _given_out(database: Path, key: bytes | str) -> int:
    """Which numbers a database may have given out; 0 when it cannot be read, or is not there."""
    try:
        connection = look_at(database, raw_key(key, salt_of(database)))
        try:
            state: tuple[int, int, int] | None = connection.execute(SQL["state"]).get
            return state[0] if state else 0
        finally:
            connection.close()
    except (OSError, apsw.Error):
        return 0


def _adopt(fresh: Path, raw: bytes, backup: Path, given_out: int) -> None:
    """Check a copy in full, and set aside the numbers that may have been given out since it was made."""
    try:
        connection = connect(fresh, raw)
        try:
            # Copies are not in this mode; the log of what was no copy is taken in when it is closed.
            connection.pragma("journal_mode", "wal")
            problems = care.check(connection, full=True)
            if problems:
                raise DatabaseCorrupt(
                    f"{backup} is damaged ({problems[0]})",
                    remedy=f"{_ANOTHER.capitalize()}; nothing was changed",
                )
            ceiling = connection.execute(SQL["state"]).get[0]
            connection.execute(SQL["open_state"], (max(ceiling + _RESTORE_JUMP, given_out),))
        finally:
            connection.close()
    except apsw.Error as error:
        raise unreadable(error, backup, otherwise=_ANOTHER) from error


def _move_aside(database: Path) -> Path | None:
    if not database.exists():
        return None
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    aside = database.with_name(f"{database.name}.replaced-{stamp}")
    # The log goes first: it must never lie beside another database.
    for suffix in ("-wal", "-shm", ""):
        file = beside(database, suffix)
        if file.exists():
            file.replace(beside(aside, suffix))
    return aside


def _clear(fresh: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        beside(fresh, suffix).unlink(missing_ok=True)


def copy_to_new_file(connection: Database, destination: Path) -> None:
    """Write a consistent copy under the same key to a file that a person has named.

    Raises:
        apsw.Error: The database cannot be read.
        StorageUnavailable: There is something of that name, be it a link that leads nowhere, or the copy
            cannot be written.
    """
    if os.path.lexists(destination):
        raise StorageUnavailable(f"{destination} exists", remedy="Name a new file; nothing is overwritten")
    try:
        copy_database(connection, destination)
    except (OSError, apsw.FullError, apsw.IOError, apsw.CantOpenError, apsw.ReadOnlyError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise StorageUnavailable(
            f"{destination} cannot be written ({why})", remedy="Check the folder and the free space"
        ) from error
