"""The stores that keep the contract, and how each of them is made, stopped and lost."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from pathlib import Path

from serai.store.contract import Store
from serai.store.memory import MemoryStore
from serai.store.sqlite import SqliteStore

KEY = b"thirty-two bytes make a raw key."

BLOCK = 1_000


class Kind(ABC):
    """One kind of store."""

    @abstractmethod
    def make(self, *, locator_interval: int = 4_000) -> Store: ...

    @abstractmethod
    async def restart(self, store: Store) -> Store:
        """Close it, and return one that is not open yet, on what it kept."""

    @abstractmethod
    async def crash(self, store: Store) -> Store:
        """Return one that is not open yet, on what a killed process would have left."""


class Memory(Kind):
    def make(self, *, locator_interval: int = 4_000) -> Store:  # noqa: ARG002 - it has none
        return MemoryStore(block=BLOCK)

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

    def make(self, *, locator_interval: int = 4_000) -> Store:
        return SqliteStore(self._new_path(), KEY, block=BLOCK, locator_interval=locator_interval)

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
        return SqliteStore(path, KEY, block=BLOCK, locator_interval=like._settings.locator_interval)

    def _new_path(self) -> Path:
        self._made += 1
        folder = self._folder / str(self._made)
        folder.mkdir()
        return folder / "history.db"


def copy_files(database: Path, destination: Path) -> None:
    """Copy a database as it lies on the disk, without the index of its log, which a crash need not leave."""
    for suffix in ("", "-wal"):
        file = database.with_name(database.name + suffix)
        if file.exists():
            shutil.copyfile(file, destination.with_name(destination.name + suffix))


def put(file: Path, data: bytes) -> None:
    """Write a file as it is to be."""
    file.write_bytes(data)


def damage(file: Path, offset: int) -> None:
    """Overwrite a few bytes of a file; a negative offset counts from its end."""
    with file.open("r+b") as stream:
        stream.seek(offset, 2 if offset < 0 else 0)
        stream.write(b"damage")


def size_of(file: Path) -> int:
    """How long a file is; 0 when there is none."""
    return file.stat().st_size if file.exists() else 0
