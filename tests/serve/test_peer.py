"""A peer, without a network: what it does when things go wrong, or happen at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import pytest

from conformance.memory import Wire
from serai.ahp.types import ROOT
from serai.config.settings import Settings
from serai.errors import DatabaseCorrupt, StorageUnavailable
from serai.harness.demo import DemoHarness
from serai.host.host import Host
from serai.serve.frames import text_frame
from serai.store.contract import HeadRow, StoredRow
from serai.store.memory import MemoryStore

SESSIONS = [f"ahp-session:/{name}" for name in "abcd"]
LOGS = "ahp-otlp:/logs/fatal"
EVERYTHING = [*SESSIONS, LOGS]
NEW: dict[str, Any] = {
    "clientId": "one",
    "protocolVersions": ["0.2.0"],
    "initialSubscriptions": EVERYTHING,
}
BACK: dict[str, Any] = {"clientId": "one", "lastSeenServerSeq": 0, "subscriptions": EVERYTHING}
WITHIN = 30.0


class Unreadable(MemoryStore):
    """A store whose reads can be made to fail, or to take a while."""

    def __init__(self) -> None:
        super().__init__()
        self.damaged = False
        self.broken = False
        """Whether it fails in a way that nobody has thought of."""
        self.slow = False

    async def head(self, uri: str) -> HeadRow | None:
        await self._read()
        return await super().head(uri)

    async def replay(
        self, channels: Sequence[str], *, after: int, until: int, max_rows: int, max_bytes: int
    ) -> list[StoredRow] | None:
        await self._read()
        return await super().replay(
            channels, after=after, until=until, max_rows=max_rows, max_bytes=max_bytes
        )

    async def _read(self) -> None:
        if self.damaged:
            raise DatabaseCorrupt("the database is damaged")
        if self.broken:
            raise ZeroDivisionError
        for _ in range(20 if self.slow else 0):
            await asyncio.sleep(0)


@pytest.fixture
def store() -> Unreadable:
    return Unreadable()


async def open_host(store: MemoryStore) -> Host:
    settings = Settings(idle_memory_bytes=0)
    demo = DemoHarness(pace="instant")
    host = Host(store, [demo], text_frame, settings=settings, summary_delay=0.001)
    await host.open()
    return host


@pytest.fixture
async def host(store: Unreadable) -> AsyncIterator[Host]:
    """A host that has four sessions, and none of them in memory."""
    first = await open_host(store)
    wire = Wire(first)
    await answer(wire, wire.request("initialize", protocolVersions=["0.2.0"], clientId="one"))
    for session in SESSIONS:
        await answer(wire, wire.request("createSession", session))
    async with asyncio.timeout(WITHIN):
        while any(session.is_busy for session in first.sessions.in_memory()):
            await first.journal.committed()
    wire.drop()
    await first.close()
    host = await open_host(store)
    yield host
    store.damaged = store.broken = False
    await host.close()


async def answer(wire: Wire, request: int) -> dict[str, Any]:
    """Wait for the answer to a request; all before it is thrown away."""
    async with asyncio.timeout(WITHIN):
        while True:
            while wire.link.inbox:
                message = wire.link.inbox.popleft()
                if message.get("id") == request:
                    return message
            await asyncio.sleep(0)


async def until(holds: Callable[[], Any]) -> None:
    """Let the event loop turn until something holds."""
    async with asyncio.timeout(WITHIN):
        while not holds():  # noqa: ASYNC110 - what is looked at here has no events
            await asyncio.sleep(0)


async def connected(host: Host, *subscriptions: str, name: str = "one") -> Wire:
    wire = Wire(host)
    request = wire.request(
        "initialize", protocolVersions=["0.2.0"], clientId=name, initialSubscriptions=list(subscriptions)
    )
    found = await answer(wire, request)
    assert [snapshot["resource"] for snapshot in found["result"]["snapshots"]] == list(subscriptions)
    return wire


def dispatch(wire: Wire, session: str, title: str, seq: int = 0) -> None:
    action = {"type": "session/titleChanged", "title": title}
    wire.notify("dispatchAction", channel=session, clientSeq=seq, action=action)


class TestMemory:
    async def test_all_sessions_that_a_client_wants_are_there_however_little_memory(
        self, host: Host, store: Unreadable
    ) -> None:
        store.slow = True
        wire = await connected(host, *SESSIONS)
        wire.drop()
        other = await connected(host, SESSIONS[0], name="two")
        again = Wire(host)
        request = again.request("reconnect", clientId="one", lastSeenServerSeq=0, subscriptions=SESSIONS)
        assert (await answer(again, request))["result"]["missing"] == []
        other.drop()

    async def test_what_is_dispatched_on_sessions_that_come_and_go_is_not_lost(
        self, host: Host, store: Unreadable
    ) -> None:
        store.slow = True
        wires = [await connected(host, name=f"client-{number}") for number in range(4)]
        for number in range(10):
            for wire, session in zip(wires, SESSIONS, strict=True):
                dispatch(wire, session, f"{session} {number}")
        for wire in wires:
            await answer(wire, wire.request("ping"))
        listed = await answer(wires[0], wires[0].request("listSessions"))
        titles = {item["resource"]: item["title"] for item in listed["result"]["items"]}
        assert titles == {session: f"{session} 9" for session in SESSIONS}


class TestDamage:
    async def test_a_session_that_cannot_be_read_is_an_answer_and_not_the_end(
        self, host: Host, store: Unreadable
    ) -> None:
        wire = await connected(host, ROOT)
        store.damaged = True
        found = await answer(wire, wire.request("subscribe", SESSIONS[0]))
        assert found["error"]["data"]["code"] == "database_corrupt"
        dispatch(wire, SESSIONS[1], "lost", seq=1)
        await answer(wire, wire.request("ping"))
        store.damaged = False
        assert "result" in await answer(wire, wire.request("subscribe", SESSIONS[0]))

    async def test_an_action_on_a_session_that_cannot_be_read_goes_back(
        self, host: Host, store: Unreadable
    ) -> None:
        wire = await connected(host)
        store.damaged = True
        dispatch(wire, SESSIONS[0], "lost", seq=7)
        await until(lambda: wire.link.inbox)
        envelope = wire.link.inbox.popleft()["params"]
        assert envelope["rejectionReason"].startswith("database_corrupt")
        assert envelope["origin"] == {"clientId": "one", "clientSeq": 7}


class TestFullDisk:
    """What comes in the very tick in which the disk turns out to be full."""

    @pytest.fixture(autouse=True)
    def room_in_the_end(self, store: Unreadable) -> Iterator[None]:
        yield
        store.failure = None

    async def test_who_asks_is_answered_and_leaves_nothing_behind(
        self, host: Host, store: Unreadable
    ) -> None:
        wire = await connected(host, SESSIONS[0])
        store.failure = StorageUnavailable("the disk is full")
        dispatch(wire, SESSIONS[0], "waits")
        ping = wire.request("ping")
        wrong = wire.request("no such method")
        asked = [
            wire.request("listSessions"),
            wire.request("subscribe", SESSIONS[0]),
            wire.request("resolveSessionConfig", provider="demo"),
        ]
        wire.notify("unsubscribe", channel=SESSIONS[0])
        assert (await answer(wire, ping))["result"] is None
        await until(lambda: len(wire.link.inbox) == len(asked) + 1)
        found = {message["id"]: message["error"] for message in wire.link.inbox}
        assert [found[request]["data"]["code"] for request in asked] == ["storage_unavailable"] * 3
        assert found[wrong]["code"] == -32601
        assert not host.journal.subscriptions.is_followed(SESSIONS[0])
        assert not host.sessions._wanted

    async def test_a_session_that_is_to_be_made_keeps_nobody_waiting(
        self, host: Host, store: Unreadable
    ) -> None:
        wire = await connected(host, ROOT)
        store.failure = StorageUnavailable("the disk is full")
        host.journal.record("serai-test:x", b"{}")
        made = wire.request("createSession", "ahp-session:/new")
        ping = wire.request("ping")
        assert (await answer(wire, made))["error"]["data"]["code"] == "storage_unavailable"
        assert (await answer(wire, ping))["result"] is None
        assert not host.sessions.knows("ahp-session:/new")


class TestReconnecting:
    async def test_what_happens_meanwhile_comes_after_the_answer(self, host: Host, store: Unreadable) -> None:
        wire = await connected(host, SESSIONS[0])
        other = await connected(host, SESSIONS[0], name="two")
        wire.drop()
        store.slow = True
        again = Wire(host)
        request = again.request("reconnect", clientId="one", lastSeenServerSeq=0, subscriptions=[SESSIONS[0]])
        numbers: list[int] = []
        async with asyncio.timeout(WITHIN):
            for number in range(60):
                dispatch(other, SESSIONS[0], f"{number}")
                await asyncio.sleep(0)
            await host.journal.committed()
        await until(lambda: again.link.inbox)
        first = again.link.inbox.popleft()
        assert first["id"] == request
        numbers += [envelope["serverSeq"] for envelope in first["result"]["actions"]]
        numbers += [message["params"]["serverSeq"] for message in again.link.inbox]
        assert numbers == sorted(set(numbers))
        titles = [e["action"].get("title") for e in first["result"]["actions"]]
        titles += [message["params"]["action"]["title"] for message in again.link.inbox]
        assert [title for title in titles if title] == [str(number) for number in range(60)]

    async def test_a_connection_that_is_gone_before_its_answer_leaves_nothing_behind(
        self, host: Host, store: Unreadable
    ) -> None:
        (await connected(host)).drop()
        store.slow = True
        asked: list[tuple[str, dict[str, Any]]] = [
            ("initialize", NEW),
            ("reconnect", BACK),
        ]
        for method, params in asked:
            wire = Wire(host)
            wire.request(method, **params)
            await asyncio.sleep(0)
            wire.drop()
            await until(lambda wire=wire: wire.peer._in_line is None)
            await host.journal.committed()
            assert not host.clients.is_connected("one")
            assert not any(host.journal.subscriptions.is_followed(channel) for channel in EVERYTHING)
            assert not host.sessions._wanted

    async def test_a_store_that_cannot_be_read_makes_it_snapshots(
        self, host: Host, store: Unreadable
    ) -> None:
        (await connected(host)).drop()
        other = await connected(host, *SESSIONS, name="two")  # they are in memory
        wire = Wire(host)
        store.broken = True
        host.journal.recent.start_after(host.journal.last_seq)  # as after a restart
        request = wire.request("reconnect", **BACK)
        assert (await answer(wire, request))["result"]["type"] == "snapshot"
        dispatch(other, SESSIONS[0], "news")
        await until(lambda: wire.link.inbox)
        assert wire.link.inbox.popleft()["params"]["action"]["title"] == "news"
