"""Copies of a database: made while a host runs on it, and restored while none does.

Other programs also check a database here, and list the sessions that were disposed of and not purged. They
take SQLite's own locks and not the host's, and write nothing. Sessions are erased while no host runs on the
database. All functions block.
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

from serai.errors import DatabaseCorrupt, StorageUnavailable, StorageUnreadable, WrongKey
from serai.store.contract import SessionRow
from serai.store.sqlite import care
from serai.store.sqlite.connection import (
    SQL,
    Database,
    beside,
    connect,
    copy_database,
    raw_key,
    salt_of,
    sync,
    unreadable,
    write_fault,
)
from serai.store.sqlite.file import HighWater, check_header, check_schema, inspect
from serai.store.sqlite.lock import FileLock
from serai.store.sqlite.migrations import MIGRATIONS

T = TypeVar("T")

# A copy does not know which numbers were given out after it was made, and it may be restored more than once.
# So a restored database has numbers from now on, in microseconds: no host uses them up faster, and 2 ** 53 of
# them last to 2255.
_NUMBERS_PER_SECOND = 1_000_000


def back_up(database: Path, key: bytes | str, destination: Path) -> None:
    """Write a consistent copy of a database to a new file, under the same key.

    Raises:
        StorageUnreadable: The database cannot be opened.
        StorageUnavailable: The file exists, or cannot be written.
    """
    if os.path.lexists(destination):
        raise StorageUnavailable(f"{destination} exists", remedy="Name a new file; nothing is overwritten")

    def copy(connection: Database) -> None:
        try:
            copy_database(connection, destination)
        except (OSError, apsw.FullError, apsw.IOError, apsw.CantOpenError, apsw.ReadOnlyError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise StorageUnavailable(
                f"{destination} cannot be written ({why})", remedy="Check the folder and the free space"
            ) from error

    _visit(database, key, copy)


def look_over(database: Path, key: bytes | str, *, full: bool) -> list[str]:
    """Return the problems of a database, with its name; empty when there are none.

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
    """Return the sessions that were disposed of and not purged, the last modified one first.

    Raises:
        StorageUnreadable: The database cannot be opened.
    """

    def read(connection: Database) -> list[SessionRow]:
        check_schema(connection, database, newest=MIGRATIONS[-1].version)
        return [SessionRow(*row) for row in connection.execute(SQL["disposed_sessions"])]

    return _visit(database, key, read)


def purge(database: Path, key: bytes | str, uri: str) -> None:
    """Erase all that is kept of a session, for good; no host may run on the database. It may take long.

    These are its rows, head and turns, the blobs that only it uses, and the records of its terminals. First
    the rows are deleted. Then the file is written anew: moving rows leaves copies of them in the unused space
    of pages, where deleting does not reach. Last, the log is emptied, which holds pages as they were.

    Raises:
        DatabaseLocked: A host runs on the database.
        StorageFailed: It is not known what is on the disk.
        StorageUnavailable: Something is not yet erased; purge it again.
        StorageUnreadable: The database cannot be opened.
    """

    def erase(connection: Database) -> None:
        check_schema(connection, database, newest=MIGRATIONS[-1].version)
        try:
            care.erase(connection, uri)
            connection.execute("VACUUM")
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.Error as error:
            raise write_fault(error, committing=True) from error

    lock = FileLock(database.resolve())
    lock.take()
    try:
        _visit(database, key, erase)
    finally:
        lock.release()


def _visit(database: Path, key: bytes | str, job: Callable[[Database], T]) -> T:
    if not database.exists():
        raise StorageUnreadable(f"there is no database {database}", remedy="'serai serve' makes one")
    if not database.is_file():
        raise StorageUnreadable(f"{database} is no file", remedy="Move it away, or name another --home")
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
    """Put a copy in the place of a database. Returns the new place of the present one, if there is one.

    The copy is checked in full first. It blocks; no host may run on the database.
    No number is given out twice, even when the same copy is restored a second time.

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
            raw = inspect(backup, key, newest=MIGRATIONS[-1].version)
            _clear(fresh)
            for suffix in ("", "-wal"):
                if beside(backup, suffix).exists():
                    shutil.copyfile(beside(backup, suffix), beside(fresh, suffix))
                    beside(fresh, suffix).chmod(0o600)
            _adopt(fresh, raw, backup, round(now() * _NUMBERS_PER_SECOND))
            sync(fresh)
            aside = _move_aside(destination)
            fresh.replace(destination)
            sync(destination.parent)
        finally:
            _clear(fresh)
    except (DatabaseCorrupt, WrongKey) as error:
        error.remedy = "Name another copy, or the key that it was made with; nothing was changed"
        raise
    except OSError as error:
        raise StorageUnreadable(
            f"{backup} could not be restored to {destination} ({error.strerror})",
            remedy="Check the folder's permissions and the free space",
        ) from error
    finally:
        lock.release()
    return aside


def _adopt(fresh: Path, raw: bytes, backup: Path, first_new: int) -> None:
    """Check a copy in full, and let its numbers begin at one that was not given out yet."""
    try:
        connection = connect(fresh, raw)
        try:
            # Copies are not in this mode; the log of what was no copy is taken in when it is closed.
            connection.pragma("journal_mode", "wal")
            problems = care.check(connection, full=True)
            if problems:
                raise DatabaseCorrupt(f"{backup} is damaged ({problems[0]})")
            ceiling = connection.execute(SQL["state"]).get[0]
            connection.execute(SQL["open_state"], (max(ceiling + 1, first_new),))
        finally:
            connection.close()
    except apsw.Error as error:
        raise unreadable(error, backup) from error


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
