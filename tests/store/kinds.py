"""The stores that keep the contract, and how each of them is made, stopped and lost."""

from __future__ import annotations

import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

from serai.store.contract import Store
from serai.store.memory import MemoryStore
from serai.store.sqlite.store import SqliteStore, Tuning

KEY = b"thirty-two bytes make a raw key."

BLOCK = 1_000


class Calendar:
    """A clock, in seconds since 1970, that stands still until days go by."""

    def __init__(self) -> None:
        self._seconds = 20_000 * 86_400.0 + 3_600

    def __call__(self) -> float:
        return self._seconds

    def go_by(self, days: float) -> None:
        """Some days go by; with a number below 0 the clock is set back."""
        self._seconds += days * 86_400


Clock = Callable[[], float]


class Kind(ABC):
    """One kind of store."""

    @abstractmethod
    def make(self, *, locator_interval: int = 4_000, now: Clock = time.time) -> Store: ...

    @abstractmethod
    async def restart(self, store: Store) -> Store:
        """Close it, and return one that is not open yet, on what it kept."""

    @abstractmethod
    async def crash(self, store: Store) -> Store:
        """Return one that is not open yet, on what a killed process would have left."""


class Memory(Kind):
    def make(self, *, locator_interval: int = 4_000, now: Clock = time.time) -> Store:  # noqa: ARG002 - it has none
        return MemoryStore(Tuning(block=BLOCK, now=now))

    async def restart(self, store: Store) -> Store:
        await store.close()
        return store

    async def crash(self, store: Store) -> Store:
        assert isinstance(store, MemoryStore)
        store.crash()
        return store


class Sqlite(Kind):
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made = 0

    def make(self, *, locator_interval: int = 4_000, now: Clock = time.time) -> Store:
        path = self._new_path()
        return SqliteStore(path, KEY, Tuning(block=BLOCK, locator_interval=locator_interval, now=now))

    async def restart(self, store: Store) -> Store:
        assert isinstance(store, SqliteStore)
        await store.close()
        return self._on(store.path, store)

    async def crash(self, store: Store) -> Store:
        assert isinstance(store, SqliteStore)
        path = self._new_path()
        copy_files(store.path, path)
        await store.close()
        return self._on(path, store)

    def _on(self, path: Path, like: SqliteStore) -> SqliteStore:
        return SqliteStore(path, KEY, like._tuning)

    def _new_path(self) -> Path:
        self._made += 1
        folder = self._folder / str(self._made)
        folder.mkdir()
        return folder / "history.db"


def contents(store: Store) -> bytes:
    """Every value of every table of a store in memory."""
    assert isinstance(store, MemoryStore)
    db = store._db
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    selects = [f'SELECT * FROM "{table}"' for table in tables]  # noqa: S608 - they are the schema's own
    values = [value for select in selects for row in db.execute(select) for value in row]
    texts = [value.encode() if isinstance(value, str) else value for value in values]
    return b"\n".join(text for text in texts if isinstance(text, bytes))


def copy_files(database: Path, destination: Path) -> None:
    """Copy a database as it lies on the disk, without the index of its log, which a crash need not leave."""
    for suffix in ("", "-wal", "-highwater"):
        file = database.with_name(database.name + suffix)
        if file.exists():
            shutil.copyfile(file, destination.with_name(destination.name + suffix))


def put(file: Path, data: bytes) -> None:
    """Write a file as it is to be."""
    file.write_bytes(data)


def remove(file: Path) -> None:
    """Take a file away."""
    file.unlink()


def damage(file: Path, offset: int) -> None:
    """Overwrite a few bytes of a file; a negative offset counts from its end."""
    with file.open("r+b") as stream:
        stream.seek(offset, 2 if offset < 0 else 0)
        stream.write(b"damage")


def size_of(file: Path) -> int:
    """How long a file is; 0 when there is none."""
    return file.stat().st_size if file.exists() else 0
