"""The files of a database: those that lie beside it, and copies of it."""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from serai.errors import StorageUnavailable
from serai.store.database import Database

__all__ = ["HighWater", "beside", "copy_database", "copy_to_new_file", "sync"]


def beside(path: Path, suffix: str) -> Path:
    """The file that SQLite keeps beside a database: `-wal`, `-shm` or `-journal`."""
    return path.with_name(path.name + suffix)


def copy_database(connection: Database, destination: Path) -> None:
    """Write a consistent copy under the same key, or nothing: it gets its name when it is complete.

    A file of that name is replaced. The copy holds no trace of what was deleted.

    Raises:
        apsw.Error: The database cannot be read, or the copy not written.
        OSError: The copy cannot be made.
    """
    partial = destination.with_name(f"{destination.name}.partial")
    # SQLite writes into an empty file, and this one can be read by nobody else.
    os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    try:
        connection.execute("VACUUM INTO ?", (os.fspath(partial),))
        sync(partial)
        partial.replace(destination)
        sync(destination.parent)
    finally:
        partial.unlink(missing_ok=True)


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


def sync(path: Path) -> None:
    """Have a file, or the entries of a folder, on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class HighWater:
    """The first number that was surely not given out, in a file beside the database, `NAME-highwater`.

    The database knows it too, but in its log: whoever loses the log loses that as well. The file is written
    before the numbers below it are given out, a block at a time, so it costs nothing per commit.

    Args:
        database: The database file. The mark is that of this file alone: its salt stands before the number.
    """

    def __init__(self, database: Path) -> None:
        self._path = beside(database, "-highwater")
        with database.open("rb") as file:
            self._salt = file.read(16).hex()

    def read(self) -> int:
        """The number; 0 when there is none for this database."""
        try:
            salt, number = self._path.read_text(encoding="ascii").split()
            return int(number) if salt == self._salt else 0
        except (OSError, ValueError):
            return 0

    def misses_log(self, ceiling: int, *, clean: bool, has_log: bool) -> bool:
        """Whether the log was lost.

        Args:
            ceiling: What the database says of the same number.
            clean: Whether the database was closed by its last host. Else its log is there.
            has_log: Whether it is.
        """
        mark = self.read()
        return mark > ceiling or (mark == ceiling and not clean and not has_log)

    def write(self, number: int) -> None:
        """Have it on the disk. It is shorter than a sector, which is written as a whole.

        Raises:
            OSError: It could not be written.
        """
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.pwrite(descriptor, f"{self._salt} {number:020}\n".encode(), 0)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
