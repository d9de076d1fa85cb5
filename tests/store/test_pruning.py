"""Old rows go, and nothing else does. What every store promises comes first, then what SQLite adds to it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection
from pathlib import Path
from typing import Any

import apsw
import pytest

from serai.errors import StorageUnavailable
from serai.store.contract import Batch, HeadRow, Row, Store, StoredRow
from serai.store.sqlite.connection import connect
from serai.store.sqlite.file import create
from serai.store.sqlite.migrations import MIGRATIONS
from serai.store.sqlite.prune import Piece
from serai.store.sqlite.store import SqliteStore
from serai.store.sqlite.writer import Tuning, Writer
from store.conftest import Opened
from store.faults import Disk
from store.kinds import BLOCK, KEY, Calendar, Kind, Sqlite, size_of

ROOT, A, B = "ahp-root://", "ahp-session:/a", "ahp-session:/b"
RECORDS = f"serai-deferred:{A}"


@pytest.fixture
def calendar() -> Calendar:
    return Calendar()


@pytest.fixture
async def store(kind: Kind, calendar: Calendar, opened: Opened) -> Store:
    """An open store whose rows are in locators (on a disk), or in their tail (in memory)."""
    store = kind.make(locator_interval=3, now=calendar)
    await opened(store)
    return store


async def append(store: Store, *channels: str, **more: Any) -> int:
    return await store.append(Batch(items=[Row(channel, b"{}") for channel in channels], **more))


async def append_with_head(store: Store, uri: str, rows: int = 1) -> int:
    """Append rows of a session, with a head that reflects all of them."""
    return await append(store, *[uri] * rows, heads=[HeadRow(uri, b"{}", 0, rows - 1)])


async def numbers(store: Store, channel: str) -> list[int]:
    return [row.seq for row in await store.rows(channel, 0)]


async def replay(store: Store, *channels: str, after: int) -> list[StoredRow] | None:
    return await store.replay(channels, after=after, until=1 << 62, max_rows=10**6, max_bytes=10**9)


class TestNumbers:
    @pytest.mark.parametrize("stop", ["restart", "crash"])
    async def test_none_is_used_twice_when_all_rows_are_gone(
        self, kind: Kind, store: Store, calendar: Calendar, opened: Opened, stop: str
    ) -> None:
        await append(store, *[ROOT] * 7)
        seen = await append(store, *[ROOT] * BLOCK) + BLOCK - 1
        calendar.go_by(9)
        assert await store.prune(3, whole=[ROOT]) == []
        assert await numbers(store, ROOT) == []
        again = await (kind.restart(store) if stop == "restart" else kind.crash(store))
        opening = await opened(again)
        assert opening.first_new > seen
        assert await append(again, ROOT) == opening.first_new


class TestWhatGoes:
    async def test_of_a_session_what_its_head_reflects(self, store: Store, calendar: Calendar) -> None:
        await append_with_head(store, A, 5)
        await append(store, A, A)
        calendar.go_by(9)
        assert await store.prune(3) == [A]
        assert await numbers(store, A) == [6, 7]
        # With a newer head the rest can go.
        await store.append(Batch(heads=[HeadRow(A, b"new", 0, -1)]))
        assert await store.prune(3) == []
        assert await numbers(store, A) == []


class TestAge:
    async def test_rows_stay_for_so_many_days(self, store: Store, calendar: Calendar) -> None:
        for _ in range(6):
            await append(store, ROOT, ROOT)
            calendar.go_by(1)
        await store.prune(3, whole=[ROOT])
        # It is one o'clock: the rows of three days ago are just three days old.
        assert await numbers(store, ROOT) == [7, 8, 9, 10, 11, 12]
        await store.prune(2, whole=[ROOT])
        assert await numbers(store, ROOT) == [9, 10, 11, 12]

    async def test_none_goes_before_it_is_so_old(self, store: Store, calendar: Calendar) -> None:
        await append(store, ROOT)
        calendar.go_by(22 / 24)
        await append(store, ROOT)  # an hour before midnight
        calendar.go_by(1)
        await store.prune(1, whole=[ROOT])
        assert await numbers(store, ROOT) == [1, 2]
        calendar.go_by(1 / 24)
        await store.prune(1, whole=[ROOT])
        assert await numbers(store, ROOT) == []


async def filled(store: Store, calendar: Calendar, count: int = 3_000) -> int:
    """Rows of twenty sessions, of the root channel and of records, among each other; returns the last."""
    chance = random.Random(5)
    uris = [f"ahp-session:/{number}" for number in range(20)]
    seq = 0
    for start in range(0, count, 50):
        items = [Row(chance.choice([*uris, ROOT, RECORDS]), chance.randbytes(200)) for _ in range(50)]
        heads = [HeadRow(uri, b"{}", 0, 49) for uri in chance.sample(uris, 3)]
        seq = await store.append(Batch(items=[*items], heads=heads, durable=False)) + 49
        if start % 1_000 == 0:
            calendar.go_by(1)
    calendar.go_by(9)
    return seq


async def all_rows(store: Store) -> dict[str, list[int]]:
    names = [*(f"ahp-session:/{number}" for number in range(20)), ROOT, RECORDS]
    return {name: await numbers(store, name) for name in names}


class TestSqlite:
    @pytest.fixture
    async def store(self, path: Path, calendar: Calendar, opened: Opened) -> SqliteStore:
        store = SqliteStore(path, KEY, Tuning(locator_interval=700, now=calendar))
        await opened(store)
        return store

    def pieces(self, monkeypatch: pytest.MonkeyPatch) -> asyncio.Queue[Piece]:
        """Every piece that is deleted from now on."""
        found: asyncio.Queue[Piece] = asyncio.Queue()
        loop, prune = asyncio.get_running_loop(), Writer.prune

        def told(writer: Writer, first_day: int, whole: Collection[str], after: int) -> Piece:
            piece = prune(writer, first_day, whole, after)
            loop.call_soon_threadsafe(found.put_nowait, piece)
            return piece

        monkeypatch.setattr(Writer, "prune", told)
        return found

    @pytest.mark.parametrize("after", [1, 3])
    async def test_a_crash_between_two_pieces_leaves_the_rest_for_the_next_time(
        self,
        store: SqliteStore,
        calendar: Calendar,
        tmp_path: Path,
        opened: Opened,
        monkeypatch: pytest.MonkeyPatch,
        after: int,
    ) -> None:
        last = await filled(store, calendar)
        before = await all_rows(store)
        pieces = self.pieces(monkeypatch)
        pruning = asyncio.create_task(store.prune(3, whole=[ROOT]))
        async with asyncio.timeout(30):
            gone = {seq for _ in range(after) for seq in (await pieces.get()).numbers}
        pruning.cancel()
        again = await Sqlite(tmp_path).crash(store)
        opening = await opened(again)
        assert (opening.last_committed, opening.first_new > last) == (last, True)
        left = await all_rows(again)
        assert not gone & {seq for rows in left.values() for seq in rows}
        assert left[RECORDS] == before[RECORDS]
        assert await again.check(full=True) == []
        # The second time ends where one that was not interrupted does.
        behind = await again.prune(3, whole=[ROOT])
        for uri, rows in (await all_rows(again)).items():
            head = await again.head(uri)
            assert rows == [seq for seq in before[uri] if uri == RECORDS or (head and seq > head.seq)]
            assert (uri in behind) == bool(rows and head)
        assert await again.check(full=True) == []

    async def test_batches_and_readers_go_on_meanwhile(
        self, store: SqliteStore, calendar: Calendar, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await filled(store, calendar)
        pieces = self.pieces(monkeypatch)
        pruning = asyncio.create_task(store.prune(3, whole=[ROOT]))
        written: list[int] = []
        between = 0
        while not pruning.done():
            written.append(await append(store, B, RECORDS, durable=False))
            rows = await replay(store, B, after=0)
            assert [row.seq for row in rows or []] == written
            assert (rows := await replay(store, ROOT, after=0)) is None or len(rows) > 100
            between += not pieces.empty()
        await pruning
        assert between > 3
        assert await numbers(store, ROOT) == []
        assert await store.check(full=True) == []

    async def test_pages_are_overwritten_and_used_again(
        self, store: SqliteStore, path: Path, calendar: Calendar
    ) -> None:
        async def fill() -> None:
            for number in range(40):
                items = [Row(ROOT, b"secret-%d-%d" % (number, n) * 20) for n in range(50)]
                await store.append(Batch(items=[*items], durable=False))
            calendar.go_by(9)

        await fill()
        await store.prune(3, whole=[ROOT])
        # A copy of the live file, for what is in it: the log is taken in by closing.
        await store.close()
        size = size_of(path)
        database: Any = connect(path, KEY)
        assert b"secret-7-" not in database.serialize("main")
        database.close()
        await store.open()
        await fill()
        await store.close()
        assert size_of(path) <= size * 1.05
        await store.open()

    async def test_a_full_disk_leaves_all_rows(self, path: Path, calendar: Calendar, opened: Opened) -> None:
        disk = Disk("pruning")
        store = SqliteStore(path, KEY, Tuning(vfs=disk.name, now=calendar))
        await opened(store)
        await append_with_head(store, A, 4)
        calendar.go_by(9)
        with disk.failing("write", "-wal", apsw.SQLITE_FULL), pytest.raises(StorageUnavailable):
            await store.prune(3)
        assert await numbers(store, A) == [1, 2, 3, 4]
        assert await replay(store, A, after=0) is not None
        assert await store.prune(3) == []
        assert await numbers(store, A) == []
        assert await store.check(full=True) == []

    async def test_a_database_from_before_begins_to_count_when_it_is_opened(
        self, tmp_path: Path, calendar: Calendar, opened: Opened
    ) -> None:
        make_old(tmp_path / "old.db")
        store = SqliteStore(tmp_path / "old.db", KEY, Tuning(now=calendar))
        await opened(store)
        assert (tmp_path / "old.db.before-0002").exists()
        await append(store, ROOT)
        await store.prune(1, whole=[ROOT])
        assert len(await numbers(store, ROOT)) == 3
        calendar.go_by(2)
        await append(store, ROOT)
        await store.prune(1, whole=[ROOT])
        assert len(await numbers(store, ROOT)) == 1
        assert await store.check(full=True) == []


def make_old(path: Path) -> None:
    """A database of the first schema, with two rows on the root channel."""
    create(path, KEY, MIGRATIONS[:1])
    database = connect(path, KEY)
    database.execute("INSERT INTO channels (name) VALUES (?)", (ROOT,))
    database.execute("INSERT INTO journal (seq, channel, action) VALUES (1, 1, x'7b7d'), (2, 1, x'7b7d')")
    database.execute("UPDATE state SET ceiling = 3")
    database.close()
