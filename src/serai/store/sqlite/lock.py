"""One host per database: a lock file beside it, which says who holds it.

The lock is the kernel's (`flock`), so it is free at once when its holder is gone, however it went. The file
stays: taking it away would let two hosts lock two files of one name.
"""

from __future__ import annotations

import fcntl
import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from serai.errors import DatabaseLocked, StorageUnreadable


class Holder(msgspec.Struct, frozen=True):
    """Who holds a database."""

    pid: int
    since: str
    """When it was opened, in ISO 8601."""
    address: str | None = None
    """Where the host can be reached, when it has said so."""

    def __str__(self) -> str:
        if not self.pid:
            return "another process"
        where = f" at {self.address}" if self.address else ""
        return f"the process {self.pid}{where}, since {self.since}"


class FileLock:
    """The lock of one database file.

    Args:
        database: The file that is locked; the lock is `<its name>.lock`.
    """

    def __init__(self, database: Path) -> None:
        self._database = database
        self._path = database.with_name(f"{database.name}.lock")
        self._descriptor: int | None = None

    def take(self) -> None:
        """Take the lock and write down who holds it.

        Raises:
            DatabaseLocked: Another host holds it; the message says which.
            StorageUnreadable: The lock file cannot be made.
        """
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StorageUnreadable(
                f"{self._path} cannot be written ({error.strerror})", remedy="Check the folder's permissions"
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = _read(descriptor)
            os.close(descriptor)
            raise DatabaseLocked(
                f"{self._database} is in use by {holder}",
                remedy="Stop that host, or name another --home",
            ) from error
        self._descriptor = descriptor
        _write(descriptor, Holder(os.getpid(), datetime.now(UTC).isoformat(timespec="seconds")))

    def holder(self) -> Holder | None:
        """Who else holds it now; `None` when nobody does. To look changes nothing."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return _read(descriptor)
        finally:
            os.close(descriptor)
        return None

    def release(self) -> None:
        """Give the lock up. Doing it again does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def say_where(database: Path, address: str) -> None:
    """Write down where the holder of a database can be reached, once it knows: for the holder itself."""
    path = database.with_name(f"{database.name}.lock")
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:
        return  # the lock holds all the same
    try:
        holder = _read(descriptor)
        if holder.pid == os.getpid():
            _write(descriptor, msgspec.structs.replace(holder, address=address))
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> Holder:
    """Who is written down; somebody, when it cannot be read."""
    try:
        return msgspec.json.decode(os.pread(descriptor, 4096, 0), type=Holder)
    except (OSError, msgspec.DecodeError):
        return Holder(0, "")


def _write(descriptor: int, holder: Holder) -> None:
    """Write down who holds it. A full disk does not matter here: the lock holds."""
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, msgspec.json.encode(holder), 0)
    except OSError:
        pass
