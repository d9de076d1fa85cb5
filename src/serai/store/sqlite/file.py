"""The database file: its checks before anything is written, its creation, and the mark beside it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import apsw

from serai.errors import DatabaseCorrupt, SchemaNewer, StorageUnreadable, WrongKey
from serai.store.sqlite.connection import (
    RESTORE,
    SALT_SIZE,
    SQL,
    Database,
    beside,
    connect,
    open_read_only,
    raw_key,
    salt_of,
    sync,
    unreadable,
)
from serai.store.sqlite.migrations import APPLICATION_ID, Migration, migrate

PAGE_SIZE = 2048
"""Half the usual size. A commit of a dozen small rows writes a few pages, however full: with pages of 4 KiB
the log takes 6 bytes for each byte of the rows, with these 5, in the same time."""

# What stands unencrypted in the header after the salt: the page size, two bytes that say which journal is
# used, the bytes per page that the cipher needs, and three constants of SQLite.
_HEADER_SIZE = SALT_SIZE + 8
_PAGE_SIZE_FIELD = PAGE_SIZE.to_bytes(2, "big")
_CONSTANTS = bytes([32, 64, 32, 32])


def prepare(path: Path, key: bytes | str, migrations: Sequence[Migration]) -> bytes:
    """Make sure that there is a sound database of ours at a path, whose lock is held. Returns its raw key.

    An empty file is refused as a lost database: none is empty when it gets its name, whenever a crash comes.

    Raises:
        StorageUnreadable: It cannot be opened, or is not sound; nothing was changed.
    """
    try:
        if not path.exists():
            _refuse_remains(path)
            return create(path, key, migrations)
        return inspect(path, key, newest=migrations[-1].version)
    except OSError as error:
        raise StorageUnreadable(
            f"{error.filename or path} cannot be used ({error.strerror})",
            remedy="Check the folder's permissions and the free space",
        ) from error


def inspect(path: Path, key: bytes | str, *, newest: int) -> bytes:
    """Check key, header and schema, with the log, and without changing a byte. Returns the raw key.

    Raises:
        DatabaseCorrupt: It is damaged.
        SchemaNewer: A newer Serai wrote it.
        WrongKey: The key does not open it, or it is not ours.
    """
    check_header(path)
    raw = raw_key(key, salt_of(path))
    try:
        connection = open_read_only(path, raw)
        try:
            check_schema(connection, path, newest=newest)
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            if connection.execute(SQL["state"]).get is None:
                raise DatabaseCorrupt(f"{path} has lost its state", remedy=RESTORE.capitalize())
            connection.execute(SQL["last_number"]).fetchall()
        finally:
            connection.close()
    except apsw.SQLError as error:
        raise DatabaseCorrupt(f"{path} lacks a table ({error})", remedy=RESTORE.capitalize()) from error
    except apsw.Error as error:
        raise unreadable(error, path) from error
    return raw


def check_schema(connection: Database, path: Path, *, newest: int) -> None:
    """Check that a database is ours, and that its schema is known.

    Raises:
        apsw.Error: It cannot be read, perhaps because the key is wrong.
        SchemaNewer: A newer Serai wrote it.
        WrongKey: It is not ours.
    """
    version = int(connection.pragma("user_version"))
    if connection.pragma("application_id") != APPLICATION_ID:
        raise WrongKey(
            f"{path} is a database, but not one of Serai's", remedy="Name another file, or move it away"
        )
    if version > newest:
        raise SchemaNewer(
            f"{path} was written by a newer Serai (schema {version}; this one knows {newest})",
            remedy="Update Serai, or restore a copy from before",
        )


def create(path: Path, key: bytes | str, migrations: Sequence[Migration]) -> bytes:
    """Make a new database, whole or not at all. Returns its raw key."""
    salt = os.urandom(SALT_SIZE)
    raw = raw_key(key, salt)
    fresh = path.with_name(f"{path.name}.new")
    for leftover in (fresh, beside(fresh, "-journal"), beside(fresh, "-wal"), beside(fresh, "-shm")):
        leftover.unlink(missing_ok=True)
    # SQLite gives the files beside a database the permissions of the database.
    os.close(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        connection = connect(fresh, raw, salt=salt)
        try:
            connection.pragma("page_size", PAGE_SIZE)
            connection.pragma("auto_vacuum", 0)
            migrate(connection, migrations, path=path, keep_copy=False)
            connection.pragma("journal_mode", "wal")
        finally:
            connection.close()
    except apsw.Error as error:
        raise unreadable(error, path) from error
    sync(fresh)
    fresh.replace(path)
    sync(path.parent)
    return raw


def check_header(path: Path) -> None:
    """Check that a file looks like a database of ours. The key is not needed for that.

    Raises:
        WrongKey: It does not.
    """
    with path.open("rb") as file:
        header = file.read(_HEADER_SIZE)
    if header.startswith(b"SQLite format 3\0"):
        raise WrongKey(f"{path} is not encrypted, so it is not Serai's", remedy="Name another file")
    constants = header[SALT_SIZE : SALT_SIZE + 2] + header[SALT_SIZE + 4 :]
    if constants != _PAGE_SIZE_FIELD + _CONSTANTS:
        raise WrongKey(
            f"{path} is no database of Serai's, or its beginning is lost",
            remedy=f"{RESTORE.capitalize()}, or move the file away to start anew; nothing was changed",
        )


def _refuse_remains(path: Path) -> None:
    """Refuse a log without its database: it would be taken for the log of the new one."""
    log = beside(path, "-wal")
    if log.exists() and log.stat().st_size:
        raise DatabaseCorrupt(
            f"{path} is gone, but its log {log} is there",
            remedy=f"{RESTORE.capitalize()}, or move the log away to start anew",
        )


class HighWater:
    """The high-water mark: the first number that was surely not given out, in a file `NAME-highwater`.

    The database has it too, but perhaps only in its log, which may be lost. The file is written before the
    numbers below it are given out, a block at a time, so it costs nothing per commit.

    Args:
        database: The database file. The mark is that of this file alone: its salt stands before the number.
            A database in memory (`None`) has no mark.
    """

    def __init__(self, database: Path | None) -> None:
        self._path = beside(database, "-highwater") if database else None
        self._salt = salt_of(database).hex() if database else ""

    def read(self) -> int:
        """Return the number; 0 when there is none for this database."""
        if self._path is None:
            return 0
        try:
            salt, number = self._path.read_text(encoding="ascii").split()
            return int(number) if salt == self._salt else 0
        except (OSError, ValueError):
            return 0

    def misses_log(self, ceiling: int, *, clean: bool, has_log: bool) -> bool:
        """Tell whether the log was lost.

        Args:
            ceiling: The same number in the database.
            clean: Whether the database was closed by its last host. Else its log must be there.
            has_log: Whether the log is there.
        """
        mark = self.read()
        return mark > ceiling or (mark == ceiling and not clean and not has_log)

    def write(self, number: int) -> None:
        """Write the number to the disk. It is shorter than a sector, which is written as a whole.

        Raises:
            OSError: It could not be written.
        """
        if self._path is None:
            return
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.pwrite(descriptor, f"{self._salt} {number:020}\n".encode(), 0)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
