"""The events of a session are counted: without gaps, over restarts, and also when old rows are gone."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from serai.store.contract import Batch, EventRow, HeadRow, Row, Store
from serai.store.sqlite.connection import connect
from serai.store.sqlite.file import create
from serai.store.sqlite.migrations import MIGRATIONS
from serai.store.sqlite.store import SqliteStore
from store.conftest import Opened
from store.kinds import KEY, Calendar, Kind

A, B = "ahp-session:/a", "ahp-session:/b"
ALL = 1 << 62


@pytest.fixture
def calendar() -> Calendar:
    return Calendar()


@pytest.fixture
async def store(kind: Kind, calendar: Calendar, opened: Opened) -> Store:
    """An open store whose rows are in locators (on a disk), or in their tail (in memory)."""
    store = kind.make(locator_interval=3, now=calendar)
    await opened(store)
    return store


class Sessions:
    """What two sessions have had so far, and what became of it."""

    def __init__(self, store: Store, calendar: Calendar) -> None:
        self.store = store
        self.calendar = calendar
        self.events: dict[str, list[EventRow]] = {A: [], B: []}

    async def begin(self) -> None:
        await self.store.append(Batch(heads=[HeadRow(uri, b"{}", 0, -1) for uri in self.events]))

    async def append(self, chance: random.Random) -> None:
        """A batch of rows, some of which are not kept, perhaps with a head."""
        batch = Batch()
        for _ in range(chance.randrange(1, 5)):
            uri = chance.choice([A, B, "other", ""])
            batch.items.append(Row(uri, b"%d" % chance.randrange(1000)) if uri else None)
            if uri in self.events:
                [_, action, _] = batch.items[-1] or Row("", b"")
                row = EventRow(len(self.events[uri]) + 2, round(self.calendar() * 1000), action)
                self.events[uri].append(row)
        for uri, events in self.events.items():
            if chance.random() < 0.3:
                batch.heads.append(HeadRow(uri, b"{}", 0, len(batch.items) - 1, len(events) + 1))
        await self.store.append(batch)

    async def check(self, chance: random.Random, *, has_all: bool) -> None:
        for uri, events in self.events.items():
            found = await self.store.events(uri, 0, ALL)
            assert found == events[len(events) - len(found) :]
            assert not has_all or len(found) == len(events)
            after, limit = chance.randrange(len(events) + 3), chance.randrange(1, 6)
            rest = [row for row in found if row.number > after]
            assert await self.store.events(uri, after, limit) == rest[:limit]


async def test_any_part_of_them_is_the_same_part_of_the_whole(
    store: Store, calendar: Calendar, kind: Kind, opened: Opened
) -> None:
    chance = random.Random(store.__class__.__name__)
    sessions = Sessions(store, calendar)
    await sessions.begin()
    for number in range(120):
        await sessions.append(chance)
        await sessions.check(chance, has_all=True)
        if number % 30 == 29:
            sessions.store = await (kind.restart if chance.random() < 0.5 else kind.crash)(sessions.store)
            await opened(sessions.store)


async def test_what_is_left_after_pruning_keeps_its_numbers(store: Store, calendar: Calendar) -> None:
    chance = random.Random(7)
    sessions = Sessions(store, calendar)
    await sessions.begin()
    for _ in range(60):
        await sessions.append(chance)
        calendar.go_by(0.2)
        await store.prune(3)
        await sessions.check(chance, has_all=False)
    first, *_ = await store.events(A, 0, 1)
    assert first.number > 2
    assert (await store.events(A, len(sessions.events[A]), 1))[0].number == len(sessions.events[A]) + 1


async def test_a_session_without_a_head_has_none(store: Store) -> None:
    await store.append(Batch(items=[Row(A, b"{}")]))
    assert await store.events(A, 0, ALL) == []


async def test_of_a_database_from_before_the_rows_are_counted_once(tmp_path: Path, opened: Opened) -> None:
    path = tmp_path / "history.db"
    create(path, KEY, [step for step in MIGRATIONS if step.version < 4])
    database = connect(path, KEY)
    database.execute("INSERT INTO channels (id, name) VALUES (1, ?), (2, ?)", (A, B))
    database.execute("INSERT INTO heads (uri, turns, seq, state) VALUES (?, 0, 3, x'7b7d')", (A,))
    database.execute("INSERT INTO heads (uri, turns, seq, state) VALUES (?, 0, 0, x'7b7d')", (B,))
    rows = [(1, 1), (2, 2), (3, 1), (4, 1)]
    database.executemany("INSERT INTO journal (seq, channel, action) VALUES (?, ?, x'7b7d')", rows)
    database.execute("UPDATE state SET ceiling = 5")
    database.close()
    store = SqliteStore(path, KEY)
    await opened(store)
    assert [head.events for uri in (A, B) if (head := await store.head(uri))] == [3, 1]
    assert [(row.number, row.at) for row in await store.events(A, 0, ALL)] == [
        (2, None),
        (3, None),
        (4, None),
    ]
    assert [row.number for row in await store.events(B, 0, ALL)] == [2]
