"""Connections to an encrypted SQLite file, and what their errors mean to a host."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from urllib.parse import quote

import apsw

from serai.errors import (
    ConfigInvalid,
    DatabaseCorrupt,
    DatabaseLocked,
    StorageFailed,
    StorageUnavailable,
    StorageUnreadable,
    WrongKey,
)
from serai.store.database import Database, open_database
from serai.store.files import beside

__all__ = [
    "RESTORE",
    "SALT_SIZE",
    "connect",
    "look_at",
    "raw_key",
    "read_fault",
    "salt_of",
    "unreadable",
    "write_fault",
]

RESTORE = "bring back a copy with 'serai restore'"
"""What a person does about a database that is lost."""

KEY_SIZE = 32
SALT_SIZE = 16

# What the cipher itself does with a passphrase. We do the same once, instead of once per connection.
_ITERATIONS = 64_007

_BUSY_MILLISECONDS = 5_000

# One insert statement per size of a batch is kept prepared, beside all others.
_STATEMENTS = 256

# Codes of a failed commit after which the write-ahead log surely holds no commit frame of it: the frame is
# written last, and these say that a write failed, or that none was begun.
_NOT_WRITTEN = frozenset(
    {
        apsw.SQLITE_FULL,
        apsw.SQLITE_READONLY,
        apsw.SQLITE_BUSY,
        apsw.SQLITE_LOCKED,
        apsw.SQLITE_IOERR_WRITE,
        apsw.SQLITE_IOERR_READ,
        apsw.SQLITE_IOERR_LOCK,
        apsw.SQLITE_IOERR_RDLOCK,
    }
)

# Codes that are never harmless: what the kernel has dropped after a failed sync, no later sync brings back.
_SYNC_FAILED = frozenset({apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_DIR_FSYNC})

_DAMAGED = frozenset({apsw.SQLITE_CORRUPT, apsw.SQLITE_NOTADB})


def raw_key(key: bytes | str, salt: bytes) -> bytes:
    """The key of the cipher: 32 bytes as they are, or derived from a passphrase and the file's salt.

    Raises:
        ConfigInvalid: Bytes of another length, or an empty passphrase.
    """
    if isinstance(key, bytes):
        if len(key) != KEY_SIZE:
            raise ConfigInvalid(f"a database key of bytes has {KEY_SIZE} of them, not {len(key)}")
        return key
    if not key:
        raise ConfigInvalid("the database key is empty", remedy="Set SERAI_DATABASE_KEY to a passphrase")
    return hashlib.pbkdf2_hmac("sha256", key.encode(), salt, _ITERATIONS, KEY_SIZE)


def salt_of(path: Path) -> bytes:
    """The salt of an encrypted database: its first bytes."""
    with path.open("rb") as file:
        return file.read(SALT_SIZE)


def connect(path: Path, key: bytes, *, salt: bytes = b"", vfs: str | None = None) -> Database:
    """Open an existing file with a raw key. Nothing is read yet, so a wrong key is not noticed here.

    Args:
        path: The file; an empty one becomes a database with the first write.
        key: What `raw_key` returned.
        salt: What an empty file is to begin with.
        vfs: Which file system layer of SQLite to use; the default one when it is `None`.
    """
    return _unlock(os.fspath(path), apsw.SQLITE_OPEN_READWRITE, key + salt, vfs)


def look_at(path: Path, key: bytes) -> Database:
    """Open an existing file to read all that was committed, without changing a byte in its folder.

    Nobody else may write meanwhile: the caller holds the lock.
    """
    if not beside(path, "-wal").exists():
        # Then the file is all there is, and SQLite need not look, nor make, anything beside it.
        uri = f"file:{quote(os.fspath(path))}?immutable=1"
        return _unlock(uri, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI, key, None)
    connection = connect(path, key)
    # The index of the log is built in memory, and the log stays as it is when the connection is closed.
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    connection.pragma("locking_mode", "exclusive")
    return connection


def _unlock(filename: str, flags: int, key: bytes, vfs: str | None) -> Database:
    connection = open_database(filename, flags=flags, vfs=vfs, statements=_STATEMENTS)
    connection.set_busy_timeout(_BUSY_MILLISECONDS)
    connection.pragma("cipher", "chacha20")
    connection.pragma("hexkey", (b"raw:" + key).hex())
    return connection


def unreadable(error: apsw.Error, path: Path, *, otherwise: str = RESTORE) -> StorageUnreadable:
    """What an error while opening says to the person who opens.

    Args:
        error: What SQLite said.
        path: The file.
        otherwise: What to do when the file is damaged.
    """
    code = _code(error) & 0xFF
    if code == apsw.SQLITE_NOTADB:
        return WrongKey(
            f"the key does not open {path}",
            remedy="Set SERAI_DATABASE_KEY to the key that it was made with, or, if its beginning is damaged,"
            f" {otherwise}; nothing was changed",
        )
    if code == apsw.SQLITE_CORRUPT:
        return DatabaseCorrupt(
            f"{path} is damaged ({error})",
            remedy=f"{otherwise.capitalize()}; nothing was changed",
        )
    if code in {apsw.SQLITE_BUSY, apsw.SQLITE_LOCKED}:
        return DatabaseLocked(f"another program has {path} open", remedy="Close it and start again")
    return StorageUnreadable(
        f"{path} cannot be opened ({error})", remedy="Check the folder's permissions and the free space"
    )


def write_fault(error: apsw.Error, *, committing: bool) -> StorageUnavailable | StorageFailed:
    """What an error while writing leaves behind.

    Args:
        error: What SQLite said.
        committing: Whether it was the commit that failed, and not a statement before it. Of those nothing can
            be left behind: frames without a commit are no part of the log.
    """
    code = _code(error)
    if code in _SYNC_FAILED:
        return StorageFailed(f"the database could not be synced ({error})", remedy=_START_AGAIN)
    if code & 0xFF in _DAMAGED:
        return StorageFailed(f"the database is damaged ({error})", remedy="Run 'serai doctor'")
    if committing and code not in _NOT_WRITTEN and code & 0xFF not in _NOT_WRITTEN:
        return StorageFailed(f"it is not known whether a commit was written ({error})", remedy=_START_AGAIN)
    return StorageUnavailable(
        f"the database cannot be written now ({error})",
        remedy="Make room on its disk, or check its permissions",
    )


_START_AGAIN = "Start again: what was committed is recovered"


def read_fault(error: apsw.Error, path: Path) -> StorageUnavailable | DatabaseCorrupt:
    """What an error while reading means."""
    if _code(error) & 0xFF in _DAMAGED:
        return DatabaseCorrupt(f"{path} is damaged ({error})", remedy="Run 'serai doctor'")
    return StorageUnavailable(f"{path} cannot be read now ({error})")


def _code(error: apsw.Error) -> int:
    """The extended result code. An error that apsw itself raises has none."""
    return int(getattr(error, "extendedresult", apsw.SQLITE_ERROR))
