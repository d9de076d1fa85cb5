"""Rows against a simple model: a list, searched from end to end."""

from __future__ import annotations

import asyncio
import random
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings, strategies as st

from serai.store.contract import Batch, HeadRow, Row, Store, StoredRow
from store.kinds import Calendar, Kind, Memory, Sqlite

CHANNELS = [f"channel-{number}" for number in range(7)]
WHOLE, SESSIONS = CHANNELS[:2], CHANNELS[2:5]
"""Channels whose old rows are needed by nothing, and those with heads. Of the others all rows stay."""

ITEMS = st.none() | st.builds(
    Row, st.sampled_from(CHANNELS), st.binary(max_size=30), st.none() | st.binary(max_size=9)
)
HEADS = st.builds(HeadRow, st.sampled_from(SESSIONS), st.just(b"{}"), st.just(0), st.just(-1), st.just(0))
BATCHES = st.builds(
    Batch,
    items=st.lists(ITEMS, max_size=9),
    heads=st.lists(HEADS, max_size=2),
    durable=st.just(value=False),
)
# A batch, or what happens between two of them.
STEPS = st.lists(BATCHES | st.sampled_from(["restart", "crash", "a day goes by", "prune"]), max_size=20)


class Model:
    """What was appended, in a list."""

    def __init__(self) -> None:
        self.rows: list[StoredRow] = []
        self.last = 0
        """The last number that was kept, whether it still is or not."""
        self.today = 0
        self._days: dict[int, int] = {}
        self._heads: dict[str, int] = {}
        self._pruned: dict[str, int] = {}

    def append(self, first: int, batch: Batch) -> None:
        rows = [StoredRow(seq, *row) for seq, row in enumerate(batch.items, first) if row is not None]
        self.rows += rows
        self.last = rows[-1].seq if rows else self.last
        self._days |= {row.seq: self.today for row in rows}
        self._heads |= {head.uri: first + head.seq for head in batch.heads}

    def prune(self, days: int) -> list[str]:
        old = [row for row in self.rows if self._days[row.seq] < self.today - days]
        gone = [row for row in old if row.channel in WHOLE or row.seq <= self._heads.get(row.channel, 0)]
        self._pruned |= {row.channel: row.seq for row in gone}
        self.rows = [row for row in self.rows if row not in gone]
        return sorted({row.channel for row in old if row not in gone and row.channel in self._heads})

    def find(self, channels: list[str], after: int, until: int) -> list[StoredRow]:
        return [row for row in self.rows if row.channel in channels and after < row.seq <= until]

    async def compare(self, store: Store, chance: random.Random) -> None:
        last = self.last
        for channel in CHANNELS:
            after = chance.randint(0, last)
            assert await store.rows(channel, after) == self.find([channel], after, last)
        for _ in range(3):
            channels = chance.sample(CHANNELS, chance.randint(1, len(CHANNELS)))
            after = chance.randint(0, last)
            until = chance.randint(after, last)
            found = await store.replay(channels, after=after, until=until, max_rows=10**6, max_bytes=10**9)
            is_whole = all(self._pruned.get(channel, 0) <= after for channel in channels)
            assert found == (self.find(channels, after, until) if is_whole else None)


async def play(kind: Kind, steps: list[Batch | str], chance: random.Random) -> None:
    calendar = Calendar()
    store = kind.make(locator_interval=5, now=calendar)
    model = Model()
    next_number = (await store.open()).first_new
    try:
        for step in steps:
            if isinstance(step, Batch):
                first = await store.append(step)
                assert first == next_number
                next_number = first + len(step.items)
                model.append(first, step)
            elif step == "a day goes by":
                calendar.go_by(1)
                model.today += 1
            elif step == "prune":
                assert await store.prune(1, whole=WHOLE) == model.prune(1)
            else:
                store = await (kind.restart(store) if step == "restart" else kind.crash(store))
                opening = await store.open()
                assert opening.last_committed == model.last
                assert opening.first_new >= next_number
                assert opening.clean == (step == "restart")
                next_number = opening.first_new
        await model.compare(store, chance)
        assert await store.check(full=True) == []
    finally:
        await store.close()


@settings(max_examples=25)
@given(steps=STEPS, chance=st.randoms())
def test_memory_finds_what_the_model_finds(steps: list[Batch | str], chance: random.Random) -> None:
    asyncio.run(play(Memory(), steps, chance))


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS, chance=st.randoms())
def test_sqlite_finds_what_the_model_finds(steps: list[Batch | str], chance: random.Random) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(Sqlite(Path(folder)), steps, chance))
