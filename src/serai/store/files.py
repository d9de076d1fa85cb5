"""The files of a database: those that SQLite keeps beside it, and copies of it."""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from serai.errors import StorageUnavailable
from serai.store.database import Database

__all__ = ["beside", "copy_database", "copy_to_new_file", "sync"]


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
