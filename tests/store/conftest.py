"""The stores under test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from serai.store.contract import Opening, Store
from serai.store.sqlite.store import SqliteStore
from store.kinds import KEY, Kind, Memory, Sqlite

Opened = Callable[[Store], Awaitable[Opening]]


@pytest.fixture(params=["memory", "sqlite"])
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> Kind:
    """Each kind of store in turn."""
    return Memory() if request.param == "memory" else Sqlite(tmp_path)


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    """Open a store, which is closed at the end of the test."""
    stores: list[Store] = []

    async def open_store(store: Store) -> Opening:
        opening = await store.open()
        stores.append(store)
        return opening

    yield open_store
    for store in stores:
        await store.close()


@pytest.fixture
async def store(kind: Kind, opened: Opened) -> Store:
    """An open store of each kind."""
    store = kind.make()
    await opened(store)
    return store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a database may be."""
    return tmp_path / "history.db"


@pytest.fixture
async def sqlite(path: Path, opened: Opened) -> SqliteStore:
    """An open SQLite store."""
    store = SqliteStore(path, KEY)
    await opened(store)
    return store
