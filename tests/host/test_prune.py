"""Old actions go where a person has said so, and sessions are the same without them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from pathlib import Path
from typing import Any

import pytest

from hosts import deliveries
from serai.ahp import actions as a
from serai.ahp.commands import CreateSessionParams
from serai.ahp.types import ROOT, SessionState, UserMessage
from serai.config.load import load
from serai.config.paths import find_paths
from serai.config.settings import Settings
from serai.errors import ConfigInvalid, StorageUnavailable
from serai.harness.callback import CallbackHarness
from serai.host.host import Host
from serai.host.session.prune import prune, prune_daily
from serai.host.session.session import Session
from serai.host.turn import Turn
from serai.journal.subscriptions import Subscriber
from serai.store.memory import MemoryStore
from serai.store.sqlite.writer import Tuning
from store.kinds import Calendar

WITHIN = 30.0
SESSION = "ahp-session:/1"
OTHER = "ahp-session:/2"


class Nobody(Subscriber):
    def publish(self, frames: bytes) -> None:
        del frames


Open = Callable[..., Awaitable[Host]]


class CountingStore(MemoryStore):
    """It counts how often it is pruned, and fails while it is told to."""

    def __init__(self, now: Calendar) -> None:
        super().__init__(Tuning(now=now))
        self.is_full = False
        self.pruned: list[list[str]] = []
        self.refused = 0

    async def prune(self, days: int, *, whole: Collection[str] = ()) -> list[str]:
        if self.is_full:
            self.refused += 1
            raise StorageUnavailable("the disk is full")
        self.pruned.append(await super().prune(days, whole=whole))
        return self.pruned[-1]


@pytest.fixture
def calendar() -> Calendar:
    return Calendar()


@pytest.fixture
def store(calendar: Calendar) -> CountingStore:
    return CountingStore(calendar)


async def answer(turn: Turn) -> None:
    await turn.say("an answer")


@pytest.fixture
async def open_host(store: CountingStore, calendar: Calendar) -> AsyncIterator[Open]:
    """Start a host; one that was started before is stopped first."""
    running: list[Host] = []

    async def open_host(**settings: Any) -> Host:
        for host in running:
            await host.close()
        running.clear()
        host = Host(
            store,
            [CallbackHarness("agent", answer)],
            lambda message: message,
            settings=Settings(default_agent="agent", **settings),
            summary_delay=0.001,
            now=lambda: round(calendar() * 1000),
        )
        await host.open()
        running.append(host)
        return host

    yield open_host
    for host in running:
        await host.close()


async def converse(host: Host, uri: str = SESSION) -> Session:
    """A session with one turn that is over."""
    session = await host.create(CreateSessionParams(channel=uri), "client")
    async with asyncio.timeout(WITHIN):
        await session.ready()
        start = a.SessionTurnStartedAction(turn_id="t", user_message=UserMessage(text="hello"))
        session.dispatch(start, a.ActionOrigin(client_id="client", client_seq=1), Nobody())
        while not session.live.head.turns:
            await host.journal.committed()
        await host.journal.committed()
    return session


async def state_of(host: Host, uri: str = SESSION) -> SessionState:
    session = await host.sessions.bring(uri)
    assert session is not None
    return session.live.snapshot()


async def test_a_session_is_the_same_without_its_actions(
    open_host: Open, store: CountingStore, calendar: Calendar
) -> None:
    host = await open_host()
    await converse(host)
    before = await state_of(host)
    records = await deliveries(host, SESSION)
    calendar.go_by(9)
    await prune(host.journal, host.sessions, 3)
    assert (await store.rows(SESSION, 0), await store.rows(ROOT, 0)) == ([], [])
    assert await deliveries(host, SESSION) == records != []
    assert await state_of(await open_host()) == before


async def test_a_session_that_nobody_opened_gets_a_head_and_is_put_out_again(
    open_host: Open, store: CountingStore, calendar: Calendar
) -> None:
    host = await open_host()
    await converse(host)
    await converse(host, OTHER)
    before = {uri: await state_of(host, uri) for uri in (SESSION, OTHER)}
    calendar.go_by(9)
    host = await open_host()
    await prune(host.journal, host.sessions, 3)
    assert store.pruned == [[SESSION, OTHER], []]
    assert not host.sessions.in_memory()
    assert host.sessions.count() == 2
    assert (await store.rows(SESSION, 0), await store.rows(OTHER, 0)) == ([], [])
    # With a head that reflects all, it need not be read the next time.
    await prune(host.journal, host.sessions, 3)
    assert store.pruned[2:] == [[]]
    assert {uri: await state_of(host, uri) for uri in before} == before


async def test_one_that_is_disposed_of_keeps_its_turns_alone(
    open_host: Open, store: CountingStore, calendar: Calendar
) -> None:
    host = await open_host()
    await converse(host)
    await host.dispose(SESSION)
    await host.journal.committed()
    calendar.go_by(9)
    await prune(host.journal, host.sessions, 3)
    assert await store.rows(SESSION, 0) == []
    assert len(await store.turns(SESSION)) == 1
    assert await store.head(SESSION) is not None


async def test_one_that_cannot_be_read_keeps_its_actions_and_stops_nothing(
    open_host: Open, store: CountingStore, calendar: Calendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = await open_host()
    await converse(host)
    await converse(host, OTHER)
    calendar.go_by(9)
    host = await open_host()
    turns = store.turns

    async def broken(uri: str, **bounds: Any) -> Any:
        if uri == SESSION:
            raise StorageUnavailable("a bad sector")
        return await turns(uri, **bounds)

    monkeypatch.setattr(store, "turns", broken)
    await prune(host.journal, host.sessions, 3)
    assert await store.rows(SESSION, 0) != []
    assert await store.rows(OTHER, 0) == []


async def test_it_is_done_soon_after_the_start_and_once_a_day(
    open_host: Open, store: CountingStore, calendar: Calendar
) -> None:
    host = await open_host()
    session = await converse(host)
    calendar.go_by(9)
    work = prune_daily(host.journal, host.sessions, 3, host.now, at_first=0, every=0)
    pruning = asyncio.create_task(work)
    try:
        async with asyncio.timeout(WITHIN):
            while store.pruned[-1:] != [[]]:  # a pass is over once nothing is left behind
                await host.journal.committed()
            assert await store.rows(SESSION, 0) == []
            often = len(store.pruned)
            session.act(a.SessionTitleChangedAction(title="later"))
            for _ in range(20):
                await host.journal.committed()
            assert len(store.pruned) == often
            calendar.go_by(4)
            while await store.rows(SESSION, 0):
                await host.journal.committed()
    finally:
        pruning.cancel()


async def test_what_failed_is_tried_again(
    open_host: Open, store: CountingStore, calendar: Calendar, caplog: pytest.LogCaptureFixture
) -> None:
    host = await open_host()
    await converse(host)
    calendar.go_by(9)
    store.is_full = True
    work = prune_daily(host.journal, host.sessions, 3, host.now, at_first=0, every=0)
    pruning = asyncio.create_task(work)
    try:
        async with asyncio.timeout(WITHIN):
            while store.refused < 2:
                await host.journal.committed()
            store.is_full = False
            while await store.rows(SESSION, 0):
                await host.journal.committed()
    finally:
        pruning.cancel()
    assert "the disk is full" in caplog.text


@pytest.mark.parametrize("days", [None, 3])
async def test_a_host_does_it_only_where_it_is_said_for_how_long(
    open_host: Open,
    store: CountingStore,
    calendar: Calendar,
    monkeypatch: pytest.MonkeyPatch,
    days: int | None,
) -> None:
    host = await open_host()
    await converse(host)
    calendar.go_by(9)
    monkeypatch.setattr(prune_daily, "__kwdefaults__", {"at_first": 0, "every": 3600})
    host = await open_host(retention_days=days)
    async with asyncio.timeout(WITHIN):
        while days and await store.rows(SESSION, 0):
            await host.journal.committed()
    for _ in range(20):
        await host.journal.committed()
    assert bool(await store.rows(SESSION, 0)) == (days is None)
    assert bool(store.pruned) == (days is not None)


@pytest.mark.parametrize("days", ["0", "many"])
def test_less_than_a_day_is_refused(tmp_path: Path, days: str) -> None:
    paths = find_paths(tmp_path / "home", {})
    paths.make_home()
    with pytest.raises(ConfigInvalid, match="retention_days"):
        load(paths, {"SERAI_RETENTION_DAYS": days})
