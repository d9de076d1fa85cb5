"""The lock for one host per database: a file beside it, which names the holder.

The lock is the kernel's (`flock`), so it is free as soon as its holder is gone. The file stays: removing it
would let two hosts lock two files of one name.
"""

from __future__ import annotations

import fcntl
import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from serai.errors import DatabaseLocked, StorageUnreadable


class Holder(msgspec.Struct, frozen=True):
    """The holder of a database."""

    pid: int
    since: str
    """Time of its opening, in ISO 8601."""
    address: str | None = None
    """Address of the host, once it is known."""

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
        """Take the lock, and write the holder into its file.

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
        """Return the present holder; `None` without one. The lock stays as it is."""
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
        """Release the lock. Doing it again does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def write_address(database: Path, address: str) -> None:
    """Write the holder's address into the lock file: for the holder itself."""
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
    """Read the holder; an unknown one, when it cannot be read."""
    try:
        return msgspec.json.decode(os.pread(descriptor, 4096, 0), type=Holder)
    except (OSError, msgspec.DecodeError):
        return Holder(0, "")


def _write(descriptor: int, holder: Holder) -> None:
    """Write the holder. A full disk does not matter here: the lock holds."""
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, msgspec.json.encode(holder), 0)
    except OSError:
        pass
