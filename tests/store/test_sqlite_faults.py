"""A disk that is full, or fails, or loses its power."""

from __future__ import annotations

import asyncio
import random
from itertools import count
from pathlib import Path

import apsw
import pytest

from serai.errors import StorageFailed, StorageUnavailable, StorageUnreadable
from serai.store.contract import Batch, Row, TurnRow
from serai.store.sqlite.connection import write_fault
from serai.store.sqlite.store import SqliteStore
from serai.store.sqlite.writer import Tuning, Writer
from store.conftest import Opened
from store.faults import Disk, failure
from store.kinds import KEY

A = "ahp-session:/a"

_names = count()


def batch(*actions: bytes, durable: bool = True) -> Batch:
    return Batch(items=[Row(A, action) for action in actions], durable=durable)


@pytest.fixture
def disk() -> Disk:
    # A layer cannot be taken away while SQLite's cipher holds it, so each test has one of its own.
    return Disk(f"faulty-{next(_names)}")


@pytest.fixture
async def store(disk: Disk, path: Path, opened: Opened) -> SqliteStore:
    store = SqliteStore(path, KEY, Tuning(vfs=disk.name))
    await opened(store)
    return store


def writer_of(store: SqliteStore) -> Writer:
    assert store._engine is not None
    return store._engine.writer


class TestNothingWasWritten:
    @pytest.mark.parametrize("code", [apsw.SQLITE_FULL, apsw.SQLITE_IOERR_WRITE])
    @pytest.mark.parametrize("durable", [True, False])
    async def test_the_same_batch_may_be_tried_again(
        self, store: SqliteStore, disk: Disk, code: int, *, durable: bool
    ) -> None:
        await store.append(batch(b"1"))
        again = Batch(
            items=[Row("new", b"2"), Row(A, b"3")], turns=[TurnRow(A, 0, "t", b"{}")], durable=durable
        )
        with disk.failing("write", "-wal", code):
            for _ in range(2):
                with pytest.raises(StorageUnavailable):
                    await store.append(again)
            assert [row.seq for row in await store.rows(A, 0)] == [1]
        assert await store.append(again) == 2
        assert [row.seq for row in await store.rows(A, 0)] == [1, 3]
        assert [row.seq for row in await store.rows("new", 0)] == [2]
        assert await store.check(full=True) == []

    async def test_numbers_alone_are_given_out_on_a_full_disk(self, store: SqliteStore, disk: Disk) -> None:
        with disk.failing("write", "-wal", apsw.SQLITE_FULL):
            assert await store.append(Batch(items=[None, None])) == 1
        assert await store.append(batch(b"3")) == 3

    async def test_there_are_always_some_of_them_left(self, disk: Disk, path: Path, opened: Opened) -> None:
        store = SqliteStore(path, KEY, Tuning(vfs=disk.name, block=100))
        await opened(store)
        for _ in range(30):
            await store.append(batch(*[b"x"] * 9))
            with disk.failing("write", "-wal", apsw.SQLITE_FULL):
                await store.append(Batch(items=[None] * 40))

    async def test_a_checkpoint_on_a_full_disk_does_no_harm(
        self, disk: Disk, path: Path, opened: Opened
    ) -> None:
        store = SqliteStore(path, KEY, Tuning(vfs=disk.name, checkpoint_pages=1))
        await opened(store)
        with disk.failing("write", "history.db", apsw.SQLITE_FULL):
            for number in range(30):
                await store.append(batch(b"%d" % number, durable=False))
        assert await store.append(batch(b"last")) == 31
        assert len(await store.rows(A, 0)) == 31


class TestItIsNotKnown:
    async def test_after_a_failed_sync_nothing_is_written_any_more(
        self, store: SqliteStore, disk: Disk
    ) -> None:
        await store.append(batch(b"1"))
        with disk.failing("sync", "-wal", apsw.SQLITE_IOERR_FSYNC), pytest.raises(StorageFailed):
            await store.append(batch(b"2"))
        for later in (batch(b"3"), Batch(items=[None])):
            with pytest.raises(StorageFailed):
                await store.append(later)
        assert [row.action for row in await store.rows(A, 0)] == [b"1"]

    async def test_the_stop_after_it_is_not_a_clean_one(
        self, store: SqliteStore, disk: Disk, path: Path, opened: Opened
    ) -> None:
        with disk.failing("sync", "-wal", apsw.SQLITE_IOERR_FSYNC), pytest.raises(StorageFailed):
            await store.append(batch(b"1"))
        await store.close()
        assert not (await opened(SqliteStore(path, KEY))).clean

    async def test_a_checkpoint_that_cannot_sync_ends_it_too(
        self, disk: Disk, path: Path, opened: Opened
    ) -> None:
        store = SqliteStore(path, KEY, Tuning(vfs=disk.name, checkpoint_pages=1))
        await opened(store)

        async def append_on_and_on() -> None:
            while True:
                await store.append(batch(b"{}", durable=False))

        with disk.failing("sync", "history.db", apsw.SQLITE_IOERR_FSYNC), pytest.raises(StorageFailed):
            await asyncio.wait_for(append_on_and_on(), 10)

    @pytest.mark.parametrize("file", ["history.db", "-wal"])
    async def test_a_store_that_cannot_sync_at_its_end_lets_go_of_its_file_all_the_same(
        self, disk: Disk, path: Path, opened: Opened, file: str
    ) -> None:
        store = SqliteStore(path, KEY, Tuning(vfs=disk.name))
        await store.open()
        await store.append(batch(b"1"))
        with (
            disk.failing("sync", file, apsw.SQLITE_IOERR_FSYNC),
            pytest.raises(StorageFailed, match="could not be synced"),
        ):
            await store.close()
        again = SqliteStore(path, KEY)
        await opened(again)
        assert [row.action for row in await again.rows(A, 0)] == [b"1"]

    async def test_one_that_could_not_be_opened_says_why_and_lets_go_of_it_too(
        self, disk: Disk, path: Path, opened: Opened
    ) -> None:
        with (
            disk.failing("sync", "", apsw.SQLITE_IOERR_FSYNC),
            pytest.raises(StorageUnreadable, match="cannot be opened"),
        ):
            await SqliteStore(path, KEY, Tuning(vfs=disk.name)).open()
        await opened(SqliteStore(path, KEY))

    @pytest.mark.parametrize(
        "code",
        [apsw.SQLITE_IOERR_SHMMAP, apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR, apsw.SQLITE_IOERR_NOMEM],
    )
    def test_a_commit_that_fails_after_its_last_frame_is_in_doubt(self, code: int) -> None:
        assert isinstance(write_fault(failure(code), committing=True), StorageFailed)
        assert isinstance(write_fault(failure(code), committing=False), StorageUnavailable)

    @pytest.mark.parametrize("committing", [True, False])
    def test_a_failed_sync_always_is(self, *, committing: bool) -> None:
        error = failure(apsw.SQLITE_IOERR_FSYNC)
        assert isinstance(write_fault(error, committing=committing), StorageFailed)

    @pytest.mark.parametrize(
        "code", [apsw.SQLITE_FULL, apsw.SQLITE_IOERR_WRITE, apsw.SQLITE_READONLY_DBMOVED]
    )
    @pytest.mark.parametrize("committing", [True, False])
    def test_a_write_that_failed_never_is(self, code: int, *, committing: bool) -> None:
        assert isinstance(write_fault(failure(code), committing=committing), StorageUnavailable)


class TestSyncs:
    """Durable batches sync at once, others within a second."""

    @pytest.fixture
    def now(self, monkeypatch: pytest.MonkeyPatch, store: SqliteStore) -> list[float]:
        now = [1_000.0]
        monkeypatch.setattr(writer_of(store), "_clock", lambda: now[0])
        return now

    async def test_only_durable_batches_sync_at_once(
        self, store: SqliteStore, disk: Disk, now: list[float]
    ) -> None:
        with disk.failing("sync", "-wal", apsw.SQLITE_IOERR_FSYNC):
            await store.append(batch(b"1", durable=False))
            now[0] += 0.9
            await store.append(batch(b"2", durable=False))
            with pytest.raises(StorageFailed):
                await store.append(batch(b"3"))

    async def test_what_is_followed_by_nothing_syncs_too(
        self, store: SqliteStore, now: list[float], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        synced: list[int] = []
        monkeypatch.setattr("serai.store.sqlite.writer.os.fsync", synced.append)
        writer = writer_of(store)
        await store.append(batch(b"1", durable=False))
        assert writer.do_chores() == pytest.approx(1.0)
        now[0] += 0.25
        assert writer.do_chores() == pytest.approx(0.75)
        assert not synced
        now[0] += 0.75
        assert writer.do_chores() is None
        assert len(synced) == 1
        assert writer.do_chores() is None
        assert len(synced) == 1

    async def test_when_that_fails_nothing_is_written_any_more(
        self, store: SqliteStore, now: list[float], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(_descriptor: int) -> None:
            raise OSError(5, "Input/output error")

        await store.append(batch(b"1", durable=False))
        now[0] += 1.0
        monkeypatch.setattr("serai.store.sqlite.writer.os.fsync", fail)
        assert writer_of(store).do_chores() is None
        with pytest.raises(StorageFailed):
            await store.append(batch(b"2"))


@pytest.mark.parametrize("seed", range(3))
async def test_what_was_durable_survives_power_loss(
    disk: Disk, path: Path, tmp_path: Path, opened: Opened, seed: int
) -> None:
    chance = random.Random(seed)
    store = SqliteStore(path, KEY, Tuning(vfs=disk.name, locator_interval=50, checkpoint_pages=20, block=64))
    await opened(store)
    durable: list[int] = []
    waiting: list[int] = []
    seen = 0
    for number in range(chance.randint(20, 120)):
        items = [Row(A, b"%d" % number * chance.randint(1, 300)) for _ in range(chance.randint(1, 9))]
        sure = chance.random() < 0.3
        first = await store.append(Batch(items=[*items, None], durable=sure))
        waiting += range(first, first + len(items))
        seen = first + len(items)
        if sure:
            durable += waiting
            waiting.clear()
    after = tmp_path / "after.db"
    disk.pull_the_plug(path, after, chance)
    recovered = SqliteStore(after, KEY)
    opening = await opened(recovered)
    found = [row.seq for row in await recovered.rows(A, 0)]
    assert found[: len(durable)] == durable
    assert found == (durable + waiting)[: len(found)]
    assert opening.first_new > seen
    assert not opening.clean
    assert await recovered.check(full=True) == []
