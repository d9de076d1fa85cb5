"""What comes behind a handshake that is refused, since the disk is full, does not happen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from conformance.memory import Wire
from serai.errors import StorageUnavailable
from serai.harness.demo import DemoHarness
from serai.host.host import Host
from serai.serve.frames import text_frame
from serai.store.memory import MemoryStore

SESSION = "ahp-session:/a"
WITHIN = 30.0


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
async def host(store: MemoryStore) -> AsyncIterator[Host]:
    host = Host(store, [DemoHarness(pace="instant")], text_frame)
    await host.open()
    yield host
    store.failure = None
    await host.close()


async def until(holds: Callable[[], Any]) -> None:
    """Let the event loop turn until something holds."""
    async with asyncio.timeout(WITHIN):
        while not holds():  # noqa: ASYNC110 - what is looked at here has no events
            await asyncio.sleep(0)


async def answer(wire: Wire, request: int) -> dict[str, Any]:
    """Wait for the answer to a request; all before it is thrown away."""
    await until(lambda: any(message.get("id") == request for message in wire.link.inbox))
    while (message := wire.link.inbox.popleft()).get("id") != request:
        pass
    return message


def initialize(wire: Wire, name: str = "one", *subscriptions: str) -> int:
    return wire.request(
        "initialize", clientId=name, protocolVersions=["0.2.0"], initialSubscriptions=list(subscriptions)
    )


async def outcome(wire: Wire, seq: int, title: str) -> str | None:
    """Change the title; why that was refused."""
    action = {"type": "session/titleChanged", "title": title}
    wire.notify("dispatchAction", channel=SESSION, clientSeq=seq, action=action)
    async with asyncio.timeout(WITHIN):
        while True:
            while wire.link.inbox:
                params = wire.link.inbox.popleft().get("params", {})
                if params.get("origin", {}).get("clientSeq") == seq:
                    return params.get("rejectionReason")
            await asyncio.sleep(0)


@pytest.fixture
async def client(host: Host) -> Wire:
    """One that has counted up to 50."""
    wire = Wire(host)
    await answer(wire, initialize(wire))
    await answer(wire, wire.request("createSession", SESSION))
    await answer(wire, wire.request("subscribe", SESSION))
    assert await outcome(wire, 50, "fifty") is None
    return wire


async def room(host: Host, store: MemoryStore) -> None:
    store.failure = None
    async with asyncio.timeout(WITHIN):
        await host.journal.committed()


async def test_what_is_sent_behind_a_handshake_that_is_refused_does_not_happen(
    host: Host, store: MemoryStore, client: Wire
) -> None:
    store.failure = StorageUnavailable("the disk is full")
    wire = Wire(host)
    request = initialize(wire, "one", SESSION)
    action = {"type": "session/titleChanged", "title": "of nobody"}
    wire.notify("dispatchAction", channel=SESSION, clientSeq=1, action=action)
    assert "error" in await answer(wire, request)
    await room(host, store)
    found = await answer(client, client.request("subscribe", SESSION))
    assert found["result"]["snapshot"]["state"]["summary"]["title"] == "fifty"
