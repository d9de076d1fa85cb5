"""Clients that leave at an awkward moment: while a session comes into memory, or while they run a tool."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from conformance.client import Client, connecting
from conformance.conftest import ONE, ROOT, new_session
from conformance.lending import TOOLS, claim
from hosts import WITHIN, House, housing
from serai.config.settings import Settings
from serai.store.contract import HeadRow
from serai.store.memory import MemoryStore


async def gone(house: House, client: Client, witness: Client) -> None:
    """Be gone, and wait until the host knows."""
    client.drop()
    async with asyncio.timeout(WITHIN):
        while house.host.clients.is_connected(client.id):
            await witness.ping()


# -- while a session comes into memory ---------------------------------------------------------------------


class Gate:
    """Where the threads of a host wait for a test."""

    def __init__(self) -> None:
        self._reached = threading.Event()
        self._is_open = threading.Event()
        self._is_open.set()

    def close(self) -> None:
        self._reached.clear()
        self._is_open.clear()

    def open(self) -> None:
        self._is_open.set()

    def pass_through(self) -> None:
        self._reached.set()
        assert self._is_open.wait(WITHIN)

    async def reached(self) -> None:
        assert await asyncio.to_thread(self._reached.wait, WITHIN)


@asynccontextmanager
async def a_slow_house() -> AsyncGenerator[tuple[House, Gate]]:
    """A host that waits at a gate whenever a session is about to be in memory."""
    settings, gate = Settings(idle_memory_bytes=0), Gate()

    class SlowStore(MemoryStore):
        async def head(self, uri: str) -> HeadRow | None:
            await asyncio.to_thread(gate.pass_through)
            return await super().head(uri)

    async with housing(SlowStore, settings=settings) as house:
        try:
            yield house, gate
        finally:
            gate.open()


@pytest.mark.parametrize("comes_back", [False, True])
async def test_whoever_leaves_while_its_session_is_being_made_keeps_nobody_else_out(comes_back: bool) -> None:
    async with a_slow_house() as (house, gate), connecting(house.url, "other") as other:
        await other.initialize(ROOT)
        async with connecting(house.url, "hasty") as hasty:
            await hasty.initialize()
            gate.close()
            await hasty.ask("createSession", ONE, activeClient={"clientId": "hasty", "tools": []})
            await gate.reached()
            await gone(house, hasty, other)
        async with connecting(house.url, "hasty" if comes_back else "stranger") as second:
            await second.initialize()
            gate.open()
            await other.note("root/sessionAdded")
            await other.subscribe(ONE)
            active = other.session(ONE).active_client
            assert (active is not None) is comes_back
            await (second if comes_back else other).subscribe(ONE)
            await claim(second if comes_back else other, ONE)


@asynccontextmanager
async def after_someone_who_left(action: str, **fields: Any) -> AsyncGenerator[Client]:
    """Someone else, who follows a session after a client has dispatched an action while it was brought back,
    and has left before it was there."""
    async with a_slow_house() as (house, gate):
        async with connecting(house.url, "first") as first:
            await first.initialize()
            await new_session(first)
        await house.restart()
        async with connecting(house.url, "other") as other, connecting(house.url, "hasty") as hasty:
            await other.initialize(ROOT)
            await hasty.initialize()
            gate.close()
            await hasty.dispatch(ONE, action, **fields)
            await gate.reached()
            await gone(house, hasty, other)
            gate.open()
            await other.subscribe(ONE)
            yield other


async def test_whoever_leaves_while_the_session_is_brought_back_does_not_become_active() -> None:
    active = {"clientId": "hasty", "tools": TOOLS}
    async with after_someone_who_left("activeClientChanged", activeClient=active) as other:
        assert other.session(ONE).active_client is None
        await claim(other, ONE)


async def test_what_else_someone_did_before_leaving_happens_all_the_same() -> None:
    async with after_someone_who_left("titleChanged", title="Before I go") as other:
        await other.until(lambda: other.session(ONE).summary.title == "Before I go")


# -- while they run a tool ---------------------------------------------------------------------------------


"""A time that passes only when a test says so."""
