"""What becomes of a client's actions when the disk is full, or does not answer."""

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
from serai.store.contract import Batch
from serai.store.memory import MemoryStore

SESSION = "ahp-session:/a"
WITHIN = 30.0


class Slow(MemoryStore):
    """A store whose commits wait for `gate`. As on a disk, numbers alone need no room."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.gate.set()

    def append(self, batch: Batch) -> asyncio.Future[int]:
        if any(batch.items) or batch.has_more:
            return super().append(batch) if self.gate.is_set() else asyncio.ensure_future(self._later(batch))
        failure, self.failure = self.failure, None
        try:
            return super().append(batch)
        finally:
            self.failure = failure

    async def _later(self, batch: Batch) -> int:
        await self.gate.wait()
        return await super().append(batch)


async def opened(store: MemoryStore) -> Host:
    host = Host(store, [DemoHarness(pace="instant")], text_frame)
    await host.open()
    return host


@pytest.fixture
def store() -> Slow:
    return Slow()


@pytest.fixture
async def host(store: Slow) -> AsyncIterator[Host]:
    host = await opened(store)
    yield host
    store.failure = None
    store.gate.set()
    await host.close()


async def until(holds: Callable[[], Any]) -> None:
    """Let the event loop turn until something holds."""
    async with asyncio.timeout(WITHIN):
        while not holds():  # noqa: ASYNC110 - what is looked at here has no events
            await asyncio.sleep(0)


async def answer(wire: Wire, request: int) -> dict[str, Any]:
    """Wait for the answer to a request. What else has come stays."""
    await until(lambda: any(message.get("id") == request for message in wire.link.inbox))
    return next(message for message in wire.link.inbox if message.get("id") == request)


def dispatch(wire: Wire, seq: int, title: str) -> None:
    action = {"type": "session/titleChanged", "title": title}
    wire.notify("dispatchAction", channel=SESSION, clientSeq=seq, action=action)


def told(wire: Wire) -> list[tuple[int, str, str | None]]:
    """What the client has heard of titles: its own numbers, the titles, and why each was refused."""
    envelopes = [message["params"] for message in wire.link.inbox if message.get("method") == "action"]
    return [
        (one["origin"]["clientSeq"], one["action"]["title"], one.get("rejectionReason", "").split(":")[0])
        for one in envelopes
        if one["action"]["type"] == "session/titleChanged"
    ]


@pytest.fixture
async def client(host: Host) -> Wire:
    """One that has counted up to 2, and heard of nothing else."""
    wire = Wire(host)
    await answer(wire, wire.request("initialize", clientId="one", protocolVersions=["0.2.0"]))
    await answer(wire, wire.request("createSession", SESSION))
    await answer(wire, wire.request("subscribe", SESSION))
    dispatch(wire, 1, "one")
    dispatch(wire, 2, "two")
    await host.journal.committed()
    assert [seq for seq, _, _ in told(wire)] == [1, 2]
    wire.link.inbox.clear()
    return wire


async def back(host: Host) -> Wire:
    """The same client on a new connection."""
    wire = Wire(host)
    request = wire.request("reconnect", clientId="one", lastSeenServerSeq=1 << 40, subscriptions=[SESSION])
    assert "result" in await answer(wire, request)
    wire.link.inbox.clear()
    return wire


async def fill(host: Host, store: MemoryStore) -> None:
    """Have something else meet the full disk."""
    store.failure = StorageUnavailable("the disk is full")
    host.journal.record("serai-test:x", b"{}")
    await until(lambda: host.journal.unavailable)


async def room(host: Host, store: MemoryStore) -> None:
    store.failure = None
    async with asyncio.timeout(WITHIN):
        await host.journal.committed()
        await host.journal.committed()  # what was sent back when there was room again


def title(host: Host) -> str:
    session = host.sessions.get(SESSION)
    assert session is not None
    return session.live.head.summary.title


class TestFullDisk:
    async def test_what_was_refused_may_come_again_under_its_number(
        self, host: Host, store: Slow, client: Wire
    ) -> None:
        await fill(host, store)
        dispatch(client, 3, "refused")
        dispatch(client, 3, "refused again")
        await until(lambda: len(told(client)) == 2)
        assert [reason for _, _, reason in told(client)] == ["storage_unavailable"] * 2
        await room(host, store)
        dispatch(client, 3, "happens")
        dispatch(client, 3, "no more")
        await host.journal.committed()
        assert told(client)[2:] == [(3, "happens", ""), (3, "no more", "duplicate")]
        assert title(host) == "happens"

    async def test_a_repeat_is_told_when_there_is_room_again(
        self, host: Host, store: Slow, client: Wire
    ) -> None:
        store.failure = StorageUnavailable("the disk is full")
        dispatch(client, 3, "waits")
        await until(lambda: host.journal.unavailable)
        dispatch(client, 3, "again")
        dispatch(client, 2, "written")
        await room(host, store)
        assert told(client) == [(3, "waits", ""), (3, "again", "duplicate"), (2, "written", "duplicate")]
        assert title(host) == "waits"

    async def test_what_was_lost_with_the_host_is_no_repeat_for_the_next_one(
        self, host: Host, store: Slow, client: Wire
    ) -> None:
        store.failure = StorageUnavailable("the disk is full")
        dispatch(client, 3, "lost")
        await until(lambda: host.journal.unavailable)
        client.drop()
        await host.close()
        store.failure = None
        again = await opened(store)
        wire = await back(again)
        assert title(again) == "two"
        dispatch(wire, 2, "repeat")
        dispatch(wire, 3, "happens")
        await again.journal.committed()
        assert told(wire) == [(2, "repeat", "duplicate"), (3, "happens", "")]
        await again.close()


async def test_what_waits_for_its_session_happens_once_though_its_connection_dies(
    host: Host, store: Slow, client: Wire
) -> None:
    client.drop()
    await host.close()
    again = await opened(store)
    gone = Wire(again)
    request = gone.request("reconnect", clientId="one", lastSeenServerSeq=1 << 40, subscriptions=[])
    await answer(gone, request)
    assert again.sessions.peek(SESSION) is None
    dispatch(gone, 3, "three")
    gone.drop()
    await again.journal.committed()
    wire = await back(again)
    dispatch(wire, 3, "repeat")
    await until(lambda: told(wire))
    await again.journal.committed()
    assert (title(again), told(wire)[-1]) == ("three", (3, "repeat", "duplicate"))
    await again.close()


async def test_what_was_asked_before_it_happens_too_and_nobody_who_is_gone_is_active(
    host: Host, store: Slow, client: Wire
) -> None:
    other = Wire(host)
    await answer(other, other.request("initialize", clientId="two", protocolVersions=["0.2.0"]))
    await host.journal.committed()
    two = {"clientId": "two", "tools": []}
    client.drop()
    await host.close()
    again = await opened(store)
    gone = Wire(again)
    await answer(gone, gone.request("initialize", clientId="two", protocolVersions=["0.2.0"]))
    made = "ahp-session:/b"
    dispatch(gone, 1, "one")  # its session is not in memory: all else waits for it
    gone.request("listSessions")
    gone.request("createSession", made, activeClient=two)
    action = {"type": "session/titleChanged", "title": "made"}
    gone.notify("dispatchAction", channel=made, clientSeq=2, action=action)
    claim = {"type": "session/activeClientChanged", "activeClient": two}
    for channel in (SESSION, made):
        gone.notify("dispatchAction", channel=channel, clientSeq=3, action=claim)
    assert gone.peer._backlog
    gone.drop()
    await until(lambda: gone.peer._in_line is None)
    await again.journal.committed()
    for uri, expected in ((SESSION, "one"), (made, "made")):
        session = again.sessions.get(uri)
        assert session is not None
        assert session.live.head.summary.title == expected
        assert session.live.head.active_client is None
    assert not again.clients._counts
    await again.close()


@pytest.mark.parametrize("hello", ["initialize", "reconnect"])
async def test_what_comes_behind_a_handshake_that_dies_happens_once(
    host: Host, client: Wire, hello: str
) -> None:
    client.drop()
    await host.journal.committed()
    gone = Wire(host)
    if hello == "initialize":
        gone.request("initialize", clientId="one", protocolVersions=["0.2.0"])
    else:
        gone.request("reconnect", clientId="one", lastSeenServerSeq=1 << 40, subscriptions=[])
    dispatch(gone, 3, "three")
    gone.drop()
    wire = await back(host)
    dispatch(wire, 3, "repeat")
    await until(lambda: told(wire))
    await host.journal.committed()
    assert (title(host), told(wire)[-1]) == ("three", (3, "repeat", "duplicate"))
