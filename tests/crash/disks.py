"""Hosts on a disk that can be made to fail."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

from conformance.client import Client
from hosts import KEY, House, housing
from serai.store.sqlite.store import SqliteStore, Tuning
from store.faults import Disk

SESSION = "ahp-session:/one"

_names = count()


def new_disk() -> Disk:
    # A layer cannot be taken away while SQLite's cipher holds it, so each test has one of its own.
    return Disk(f"crash-{next(_names)}")


@asynccontextmanager
async def house_on(disk: Disk, path: Path, **options: Any) -> AsyncGenerator[House]:
    """A host whose database lies on a disk."""
    async with housing(lambda: SqliteStore(path, KEY, Tuning(vfs=disk.name)), **options) as house:
        yield house


async def ready_session(client: Client, uri: str = SESSION) -> str:
    await client.request("createSession", uri)
    await client.subscribe(uri)
    await client.until(lambda: client.session(uri).lifecycle == "ready")
    return uri
