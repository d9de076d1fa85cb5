"""Connections to an encrypted SQLite file, and the meaning of their errors for a host."""

from __future__ import annotations

import hashlib
import os
import re
from array import array
from importlib.resources import files
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

Database = apsw.Connection

RESTORE = "bring back a copy with 'serai restore'"
"""Remedy for a database that is lost."""

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
    """Return the key of the cipher: the 32 bytes, or derived from a passphrase and the file's salt.

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
    """Return the salt of an encrypted database: its first bytes."""
    with path.open("rb") as file:
        return file.read(SALT_SIZE)


def connect(path: Path, key: bytes, *, salt: bytes = b"", vfs: str | None = None) -> Database:
    """Open an existing file with a raw key. Nothing is read yet, so a wrong key is not noticed here.

    Args:
        path: The file; an empty one becomes a database with the first write.
        key: What `raw_key` returned.
        salt: The first bytes of an empty file.
        vfs: The file system layer of SQLite; `None` for the default one.
    """
    return _unlock(os.fspath(path), apsw.SQLITE_OPEN_READWRITE, key + salt, vfs)


def open_read_only(path: Path, key: bytes) -> Database:
    """Open an existing file to read all committed rows, without changing a byte in its folder.

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
    connection = apsw.Connection(filename, flags=flags, vfs=vfs, statementcachesize=_STATEMENTS)
    connection.set_busy_timeout(_BUSY_MILLISECONDS)
    connection.pragma("cipher", "chacha20")
    connection.pragma("hexkey", (b"raw:" + key).hex())
    return connection


def unreadable(error: apsw.Error, path: Path) -> StorageUnreadable:
    """Convert an error while opening."""
    code = _code(error) & 0xFF
    if code == apsw.SQLITE_NOTADB:
        return WrongKey(
            f"the key does not open {path}",
            remedy="Set SERAI_DATABASE_KEY to the key that it was made with, or, if its beginning is damaged,"
            f" {RESTORE}; nothing was changed",
        )
    if code == apsw.SQLITE_CORRUPT:
        return DatabaseCorrupt(
            f"{path} is damaged ({error})", remedy=f"{RESTORE.capitalize()}; nothing was changed"
        )
    if code in {apsw.SQLITE_BUSY, apsw.SQLITE_LOCKED}:
        return DatabaseLocked(f"another program has {path} open", remedy="Close it and start again")
    return StorageUnreadable(
        f"{path} cannot be opened ({error})", remedy="Check the folder's permissions and the free space"
    )


def write_fault(error: apsw.Error, *, committing: bool) -> StorageUnavailable | StorageFailed:
    """Convert an error while writing.

    Args:
        error: The error of SQLite.
        committing: Whether the commit failed, and not a statement before it. Of statements nothing can
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
    """Convert an error while reading."""
    if _code(error) & 0xFF in _DAMAGED:
        return DatabaseCorrupt(f"{path} is damaged ({error})", remedy="Run 'serai doctor'")
    return StorageUnavailable(f"{path} cannot be read now ({error})")


def _code(error: apsw.Error) -> int:
    """Return the extended result code. An error that apsw itself raises has none."""
    return int(getattr(error, "extendedresult", apsw.SQLITE_ERROR))


def table_of(numbers: array[int]) -> object:
    """Bind an array, which is not empty, as a table: for `carray(?)`."""
    return apsw.carray(numbers)


_NAME = re.compile(r"^-- (\w+) --$", re.MULTILINE)
_COMMENT = re.compile(r"^--.*\n", re.MULTILINE)


def parse(text: str) -> dict[str, str]:
    """Parse statements by name: `-- name --`, comment lines, then the statement.

    Raises:
        ValueError: A name stands there twice, or has no statement.
    """
    _, *parts = _NAME.split(text)
    statements: dict[str, str] = {}
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        statement = " ".join(_COMMENT.sub("", body).split())
        if not statement or name in statements:
            raise ValueError(f"the query {name!r} stands there twice, or is empty")
        statements[name] = statement
    return statements


_FILES = ("queries.sql", "relay.sql", "agent_sessions.sql", "workflow_runs.sql")
SQL = parse(
    "".join(files("serai.store.sqlite").joinpath("sql", name).read_text(encoding="utf-8") for name in _FILES)
)
"""All statements: of the store, the relay, agent sessions and workflow runs."""


def beside(path: Path, suffix: str) -> Path:
    """Return the file that SQLite keeps beside a database: `-wal`, `-shm` or `-journal`."""
    return path.with_name(path.name + suffix)


def sync(path: Path) -> None:
    """Sync a file, or the entries of a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
