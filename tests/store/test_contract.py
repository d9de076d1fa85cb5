"""What every store promises. All of it runs against each kind."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from serai.errors import Fenced
from serai.store.contract import (
    Batch,
    BlobRow,
    ClientRow,
    HeadRow,
    MarkRow,
    Opening,
    Row,
    SessionRow,
    Store,
    StoredRow,
    TurnRow,
)
from store.conftest import Opened
from store.kinds import BLOCK, Kind

A, B = "ahp-session:/a", "ahp-session:/b"

EVERYTHING = 1 << 62


async def replay(store: Store, *channels: str, after: int = 0, until: int = EVERYTHING) -> list[StoredRow]:
    rows = await store.replay(channels, after=after, until=until, max_rows=10**6, max_bytes=10**9)
    assert rows is not None
    return rows


async def append(store: Store, *items: Row | None, **more: Any) -> int:
    return await store.append(Batch(items=list(items), **more))


class TestNumbers:
    async def test_the_first_start_begins_at_one(self, kind: Kind, opened: Opened) -> None:
        assert await opened(kind.make()) == Opening(last_committed=0, first_new=1, clean=True)

    async def test_a_batch_without_rows_takes_them_too(self, store: Store) -> None:
        assert await append(store, None, None) == 1
        assert await append(store) == 3
        assert await append(store, None) == 3
        assert await append(store, Row(A, b"4")) == 4

    @pytest.mark.parametrize("kept", [True, False])
    async def test_they_go_on_beyond_what_was_set_aside(self, store: Store, *, kept: bool) -> None:
        item = Row(A, b"{}") if kept else None
        assert await store.append(Batch(items=[item] * (BLOCK - 1), durable=False)) == 1
        assert await store.append(Batch(items=[item] * 3 * BLOCK, durable=False)) == BLOCK
        assert await append(store, item) == 4 * BLOCK

    async def test_none_is_used_twice_after_a_crash(self, kind: Kind, store: Store, opened: Opened) -> None:
        await append(store, Row(A, b"1"))
        seen = await append(store, *[None] * 50) + 49
        again = await kind.crash(store)
        opening = await opened(again)
        assert not opening.clean
        assert opening.last_committed == 1
        assert opening.first_new > seen
        assert await append(again, Row(A, b"x")) == opening.first_new

    async def test_every_start_records_its_gap(self, kind: Kind, store: Store, opened: Opened) -> None:
        await append(store, Row(A, b"1"), None)
        again = await kind.restart(store)
        await opened(again)
        lost = await kind.crash(again)
        opening = await opened(lost)
        assert await lost.gaps() == [(0, 1), (1, 3), (1, opening.first_new)]


class TestRows:
    async def test_a_row_comes_back_as_it_was(self, store: Store) -> None:
        await append(store, Row(A, b'{"type":"x"}', b'{"clientId":"c"}'), Row(B, "größer".encode()))
        assert await store.rows(A, 0) == [StoredRow(1, A, b'{"type":"x"}', b'{"clientId":"c"}')]
        assert await store.rows(B, 0) == [StoredRow(2, B, "größer".encode(), None)]

    async def test_replay_of_too_many_rows_is_refused(self, store: Store) -> None:
        await append(store, *[Row(A, b"{}") for _ in range(3)])
        bounds = {"after": 0, "until": 9, "max_bytes": 100}
        assert await store.replay([A], max_rows=2, **bounds) is None
        assert len(await store.replay([A], max_rows=3, **bounds) or []) == 3

    async def test_replay_of_too_many_bytes_is_refused(self, store: Store) -> None:
        await append(store, Row(A, b"12345", b"678"), Row(A, b"90"))
        bounds = {"after": 0, "until": 9, "max_rows": 100}
        assert await store.replay([A], max_bytes=9, **bounds) is None
        assert len(await store.replay([A], max_bytes=10, **bounds) or []) == 2


class TestHeads:
    async def test_its_index_becomes_a_number(self, store: Store) -> None:
        await append(store, Row(A, b"1"))
        await append(store, Row(A, b"2"), None, Row(B, b"4"), heads=[HeadRow(A, b"{}", 0, 1)])
        assert await store.head(A) == HeadRow(A, b"{}", 0, seq=3)

    async def test_one_that_reflects_nothing_of_its_batch_has_the_number_before(self, store: Store) -> None:
        await append(store, Row(A, b"1"))
        await append(store, Row(A, b"2"), heads=[HeadRow(A, b"{}", 0, -1)])
        await append(store, heads=[HeadRow(B, b"{}", 0, -1)])
        assert await store.head(A) == HeadRow(A, b"{}", 0, seq=1)
        assert await store.head(B) == HeadRow(B, b"{}", 0, seq=2)

    @pytest.mark.parametrize("index", [-2, 1])
    async def test_an_index_outside_of_the_batch_is_refused(self, store: Store, index: int) -> None:
        with pytest.raises(ValueError, match="head"):
            await append(store, Row(A, b"1"), heads=[HeadRow(A, b"{}", 0, index)])
        assert await append(store, Row(A, b"1")) == 1


def turn(uri: str, ordinal: int) -> TurnRow:
    return TurnRow(uri, ordinal, f"turn-{ordinal}", b'{"n":%d}' % ordinal)


class TestTurns:
    @pytest.fixture(autouse=True)
    async def five_turns(self, store: Store) -> None:
        await append(store, turns=[turn(A, ordinal) for ordinal in range(5)])
        await append(store, turns=[turn(B, 0)])

    async def test_they_come_oldest_first(self, store: Store) -> None:
        assert await store.turns(A) == [turn(A, ordinal) for ordinal in range(5)]
        assert await store.turns(B) == [turn(B, 0)]
        assert await store.turns("unknown") == []

    async def test_pages_go_back_from_the_last(self, store: Store) -> None:
        assert [row.ordinal for row in await store.turns(A, limit=2)] == [3, 4]
        assert [row.ordinal for row in await store.turns(A, before=3, limit=2)] == [1, 2]
        assert [row.ordinal for row in await store.turns(A, before=1, limit=2)] == [0]
        assert await store.turns(A, before=0, limit=2) == []
        assert await store.turns(A, limit=0) == []

    async def test_truncated_ones_are_passed_over(self, store: Store) -> None:
        await append(store, truncations=[(A, 3)])
        assert [row.ordinal for row in await store.turns(A)] == [0, 1, 2]
        await append(store, turns=[turn(A, 5)])
        assert [row.ordinal for row in await store.turns(A)] == [0, 1, 2, 5]
        assert [row.ordinal for row in await store.turns(A, limit=2)] == [2, 5]
        assert [row.ordinal for row in await store.turns(A, before=5, limit=2)] == [1, 2]
        assert [row.ordinal for row in await store.turns(B)] == [0]

    async def test_a_truncation_does_not_reach_the_turns_of_its_own_batch(self, store: Store) -> None:
        await append(store, turns=[turn(A, 5)], truncations=[(A, 4)])
        assert [row.ordinal for row in await store.turns(A)] == [0, 1, 2, 3, 5]

    async def test_an_ordinal_is_never_used_again(self, store: Store) -> None:
        await append(store, truncations=[(A, 3)])
        with pytest.raises(ValueError, match="ordinal"):
            await append(store, Row(A, b"{}"), turns=[turn(A, 3)])
        assert await store.rows(A, 0) == []


class TestSessions:
    async def test_the_last_modified_one_comes_first(self, store: Store) -> None:
        rows = [SessionRow(A, b"a", 5), SessionRow(B, b"b", 9), SessionRow("c", b"c", 5)]
        await append(store, sessions=rows)
        assert await store.sessions() == [rows[1], rows[0], rows[2]]
        await append(store, sessions=[SessionRow(A, b"new", 10)])
        assert (await store.sessions())[0] == SessionRow(A, b"new", 10)

    async def test_one_that_is_disposed_of_is_kept_but_not_listed(self, store: Store) -> None:
        await append(store, sessions=[SessionRow(A, b"a", 5), SessionRow(B, b"b", 9)])
        await append(store, Row(A, b"1"), heads=[HeadRow(A, b"{}", 0, 0)], disposed=[A])
        await append(store, sessions=[SessionRow(A, b"late", 11)])
        assert [row.uri for row in await store.sessions()] == [B]
        assert await store.head(A) is not None
        assert len(await store.rows(A, 0)) == 1

    async def test_one_with_another_epoch_is_fenced(self, store: Store) -> None:
        await append(store, sessions=[SessionRow(A, b"a", 5, epoch=2)])
        for epoch in (1, 3):
            with pytest.raises(Fenced):
                await append(store, Row(A, b"{}"), epochs={B: 1, A: epoch})
            with pytest.raises(Fenced):
                await append(store, None, epochs={A: epoch})
        assert await append(store, Row(A, b"{}"), epochs={A: 2, B: 1}) == 1

    async def test_a_new_owner_fences_the_old_one(self, store: Store) -> None:
        await append(store, sessions=[SessionRow(A, b"a", 5)], epochs={A: 1})
        await append(store, epochs={A: 1})
        await append(store, sessions=[SessionRow(A, b"a", 5, epoch=2)], epochs={A: 1})
        with pytest.raises(Fenced):
            await append(store, epochs={A: 1})

    async def test_a_batch_is_written_as_a_whole_or_not_at_all(self, store: Store) -> None:
        await append(store, turns=[turn(A, 0)], sessions=[SessionRow(B, b"b", 1, epoch=2)])
        batch = Batch(
            items=[Row("new channel", b"1"), Row(A, b"2")],
            sessions=[SessionRow(A, b"a", 5)],
            turns=[turn(B, 0), turn(A, 0)],
            heads=[HeadRow(A, b"{}", 1, 0)],
            marks=[MarkRow("client", 3)],
            clients=[ClientRow("client", "0.2.0", "digest")],
            blobs=[BlobRow("digest", "text/plain", b"data")],
        )
        with pytest.raises(ValueError, match="ordinal"):
            await store.append(batch)
        batch.turns.pop()
        batch.epochs = {B: 1}
        with pytest.raises(Fenced):
            await store.append(batch)
        assert await replay(store, "new channel", A) == []
        assert [row.uri for row in await store.sessions()] == [B]
        assert (await store.turns(B), await store.head(A)) == ([], None)
        assert (await store.mark("client"), await store.client("client")) == (0, None)
        assert await store.blob("digest") is None
        batch.epochs = {B: 2}
        assert await store.append(batch) == 1
        assert [row.seq for row in await replay(store, "new channel", A)] == [1, 2]


class TestClients:
    async def test_a_mark_is_the_last_one_written(self, store: Store) -> None:
        assert await store.mark("client") == 0
        await append(store, marks=[MarkRow("client", 3), MarkRow("other", 1)])
        await append(store, marks=[MarkRow("client", 7)])
        assert (await store.mark("client"), await store.mark("other")) == (7, 1)
        await append(store, marks=[MarkRow("client", 0)])
        assert await store.mark("client") == 0


def blob(data: bytes, session: str | None = None) -> BlobRow:
    return BlobRow(hashlib.sha256(data).hexdigest(), "text/plain", data, session)


class TestBlobs:
    async def test_it_is_found_by_its_digest(self, store: Store) -> None:
        row = blob(b"large" * 50_000, A)
        await append(store, blobs=[row])
        await append(store, blobs=[row, row._replace(session=B)])
        assert await store.blob(row.digest) == row._replace(session=None)
        assert await store.blob("unknown") is None


class TestCheck:
    @pytest.mark.parametrize("full", [True, False])
    async def test_nothing_is_wrong_with_a_store_that_was_written(self, store: Store, *, full: bool) -> None:
        await append(store, Row(A, b"1"), None, turns=[turn(A, 0)], heads=[HeadRow(A, b"{}", 1, 1)])
        await append(store, blobs=[blob(b"data", A)], marks=[MarkRow("client", 1)])
        assert await store.check(full=full) == []
