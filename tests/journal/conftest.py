"""A journal on a store that can be held up, or made to fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from serai.ahp.types import SessionState, SessionSummary
from serai.journal.journal import Journal
from serai.journal.sessions import KeptSession
from serai.store.contract import Batch
from serai.store.memory import MemoryStore

SESSION = "ahp-session:/1"


class FaultyStore(MemoryStore):
    """A store whose commits wait for `gate` and raise what stands in `faults`."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.gate.set()
        self.faults: list[Exception] = []
        self.batches: list[Batch] = []
        self.tries = 0

    def append(self, batch: Batch) -> asyncio.Future[int]:
        self.tries += 1
        return asyncio.ensure_future(self._append_later(batch))

    async def _append_later(self, batch: Batch) -> int:
        await self.gate.wait()
        if self.faults:
            raise self.faults.pop(0)
        self.batches.append(batch)
        return await super().append(batch)


class Listener:
    """A subscriber that keeps what it hears, one JSON text per line."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []

    def publish(self, frames: bytes) -> None:
        self.writes.append(frames)

    @property
    def lines(self) -> list[bytes]:
        return b"".join(self.writes).splitlines()


@pytest.fixture
def store() -> FaultyStore:
    return FaultyStore()


@pytest.fixture
async def journal(store: FaultyStore) -> AsyncIterator[Journal]:
    journal = Journal(store, frame=lambda message: message + b"\n")
    await journal.open()
    yield journal
    store.faults.clear()
    store.gate.set()
    await journal.close()


@pytest.fixture
def kept() -> KeptSession:
    return KeptSession.create(SESSION, empty_session())


def empty_session(uri: str = SESSION) -> SessionState:
    return SessionState(
        summary=SessionSummary(
            resource=uri, provider="demo", title="", status=1, created_at=0, modified_at=0
        ),
        lifecycle="ready",
        turns=[],
    )
