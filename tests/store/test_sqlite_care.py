"""Checks, copies, erasing, and the log's length."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from serai.errors import DatabaseCorrupt, DatabaseLocked, StorageUnreadable, WrongKey
from serai.store.contract import Batch, BlobRow, HeadRow, Row, SessionRow
from serai.store.sqlite.backup import back_up, restore
from serai.store.sqlite.care import check
from serai.store.sqlite.connection import connect
from serai.store.sqlite.store import SqliteStore, Tuning
from store.conftest import Opened
from store.kinds import KEY, copy_files, damage as damage_file, put, remove, size_of

A = "ahp-session:/a"


def content_of(path: Path) -> bytes:
    """Every page of a database, decrypted, also those that are not in use."""
    database: Any = connect(path, KEY)
    content: bytes = database.serialize("main")
    database.close()
    return content


def bytes_of(path: Path) -> bytes:
    """A file as it is on the disk."""
    return path.read_bytes()


def names(folder: Path, pattern: str) -> set[str]:
    """Which files there are."""
    return {file.name for file in folder.glob(pattern)}


class TestCheck:
    async def damaged(self, path: Path, opened: Opened, *statements: str) -> list[str]:
        store = SqliteStore(path, KEY, Tuning(locator_interval=3))
        await store.open()
        for _ in range(10):
            await store.append(Batch(items=[Row(A, b"{}")], heads=[HeadRow(A, b"{}", 0, 0)]))
        await store.append(Batch(blobs=[BlobRow("digest", "text/plain", b"data", A)]))
        await store.close()
        database = connect(path, KEY)
        for statement in statements:
            database.execute(statement)
        database.close()
        again = SqliteStore(path, KEY)
        await opened(again)
        return await again.check(full=True)

    @pytest.mark.parametrize(
        "statement",
        [
            "DELETE FROM journal WHERE seq = 2",
            "DELETE FROM locators WHERE until = 6",
            "UPDATE locators SET numbers = x'0181' WHERE until = 6",
            "UPDATE locators SET numbers = x'040001' WHERE until = 6",
            "UPDATE journal SET channel = 99 WHERE seq = 10",
            "UPDATE heads SET seq = 1000000000",
            "DELETE FROM blobs",
        ],
    )
    async def test_what_does_not_fit_together_is_found(
        self, path: Path, opened: Opened, statement: str
    ) -> None:
        assert await self.damaged(path, opened, statement)

    async def test_a_row_beyond_what_was_given_out_is_found_and_not_met_again(
        self, path: Path, opened: Opened
    ) -> None:
        store = SqliteStore(path, KEY)
        await store.open()
        await store.append(Batch(items=[Row(A, b"{}")]))
        await store.close()
        database = connect(path, KEY)
        database.execute("UPDATE journal SET seq = 1000000000")
        assert check(database, full=False)
        database.close()
        again = SqliteStore(path, KEY)
        assert (await opened(again)).first_new == 1_000_000_001
        assert await again.append(Batch(items=[Row(A, b"{}")])) == 1_000_000_001


class TestBackup:
    async def test_it_is_a_copy_under_the_same_key(
        self, sqlite: SqliteStore, tmp_path: Path, opened: Opened
    ) -> None:
        await sqlite.append(Batch(items=[Row(A, b"in the copy"), None]))
        copy = tmp_path / "copy.db"
        back_up(sqlite.path, KEY, copy)
        await sqlite.append(Batch(items=[Row(A, b"later")]))
        assert b"in the copy" in content_of(copy)
        assert b"in the copy" not in bytes_of(copy)
        assert not names(tmp_path, "copy.db?*")
        with pytest.raises(WrongKey):
            await SqliteStore(copy, b"x" * 32).open()
        store = SqliteStore(copy, KEY)
        await opened(store)
        assert [row.action for row in await store.rows(A, 0)] == [b"in the copy"]
        assert await store.check(full=True) == []

    async def test_it_is_consistent_while_others_write(
        self, sqlite: SqliteStore, tmp_path: Path, opened: Opened
    ) -> None:
        async def write() -> None:
            for number in range(100):
                row = SessionRow(A, b"%d" % number, number)
                await sqlite.append(Batch(items=[Row(A, bytes(2000))], sessions=[row], durable=False))
                begun.set()

        begun = asyncio.Event()
        writing = asyncio.create_task(write())
        async with asyncio.timeout(30):
            await begun.wait()
        await asyncio.to_thread(back_up, sqlite.path, KEY, tmp_path / "copy.db")
        await writing
        store = SqliteStore(tmp_path / "copy.db", KEY)
        await opened(store)
        [session] = await store.sessions()
        assert len(await store.rows(A, 0)) == session.modified_at + 1


class TestRestore:
    @pytest.fixture
    async def copy(self, path: Path, tmp_path: Path) -> Path:
        """A copy with one row, of a database with two."""
        store = SqliteStore(path, KEY)
        await store.open()
        await store.append(Batch(items=[Row(A, b"1")]))
        copy = tmp_path / "copy.db"
        back_up(path, KEY, copy)
        await store.append(Batch(items=[Row(A, b"2")]))
        await store.append(Batch(items=[None] * 5_000))
        await store.close()
        return copy

    async def test_it_brings_the_copy_back(self, path: Path, copy: Path, opened: Opened) -> None:
        before = bytes_of(copy)
        aside = restore(copy, path, KEY)
        assert bytes_of(copy) == before
        store = SqliteStore(path, KEY)
        opening = await opened(store)
        assert [row.action for row in await store.rows(A, 0)] == [b"1"]
        assert opening.last_committed == 1
        # Numbers that were given out after the copy was made are not given out again.
        assert opening.first_new > 5_002
        assert aside is not None
        present = SqliteStore(aside, KEY)
        await opened(present)
        assert [row.action for row in await present.rows(A, 0)] == [b"1", b"2"]

    async def used(self, path: Path) -> int:
        """Use a restored database for a while. Returns the last number that was given out."""
        store = SqliteStore(path, KEY)
        await store.open()
        last = await store.append(Batch(items=[Row(A, b"seen by a client")] * 20)) + 19
        await store.close()
        return last

    @pytest.mark.parametrize("fate", ["removed", "empty", "damaged", "new"])
    async def test_nor_where_the_restored_one_was_lost(self, path: Path, copy: Path, fate: str) -> None:
        restore(copy, path, KEY)
        seen = await self.used(path)
        if fate == "damaged":
            damage_file(path, 100)
        elif fate == "empty":
            put(path, b"")
        else:
            remove(path)
        if fate == "new":
            await self.used(path)
        restore(copy, path, KEY)
        store = SqliteStore(path, KEY)
        assert seen < (await store.open()).first_new < 1 << 53
        await store.close()

    async def test_a_database_that_was_moved_aside_comes_back_with_its_log(
        self, sqlite: SqliteStore, tmp_path: Path, opened: Opened
    ) -> None:
        await sqlite.append(Batch(items=[Row(A, b"in the log")]))
        copy_files(sqlite.path, tmp_path / "crashed.db")
        before = bytes_of(tmp_path / "crashed.db-wal")
        assert restore(tmp_path / "crashed.db", tmp_path / "new.db", KEY) is None
        assert bytes_of(tmp_path / "crashed.db-wal") == before
        store = SqliteStore(tmp_path / "new.db", KEY)
        await opened(store)
        assert [row.action for row in await store.rows(A, 0)] == [b"in the log"]

    async def test_a_running_host_is_not_disturbed(self, path: Path, copy: Path, opened: Opened) -> None:
        await opened(SqliteStore(path, KEY))
        with pytest.raises(DatabaseLocked):
            restore(copy, path, KEY)

    @pytest.mark.parametrize(
        ("damage", "error"),
        [
            ("a wrong key", WrongKey),
            ("a damaged page", DatabaseCorrupt),
            ("a damaged beginning", WrongKey),
            ("a lost row", DatabaseCorrupt),
            ("a lost state", DatabaseCorrupt),
            ("a lost table", DatabaseCorrupt),
            ("no file", StorageUnreadable),
            ("the database itself", StorageUnreadable),
        ],
    )
    async def test_a_copy_that_is_no_good_changes_nothing(
        self, path: Path, copy: Path, damage: str, error: type[StorageUnreadable]
    ) -> None:
        lost = {
            "a lost row": "UPDATE state SET ceiling = 0",
            "a lost state": "DELETE FROM state",
            "a lost table": "DROP TABLE state",
        }
        key = KEY
        if damage == "a wrong key":
            key = b"x" * 32
        elif damage == "a damaged page":
            damage_file(copy, -2000)
        elif damage == "a damaged beginning":
            damage_file(copy, 17)
        elif damage in lost:
            database = connect(copy, KEY)
            database.execute(lost[damage])
            database.close()
        elif damage == "no file":
            copy = copy.with_name("nowhere.db")
        else:
            copy = path
        before = {file.name: file.read_bytes() for file in path.parent.iterdir() if ".lock" not in file.name}
        with pytest.raises(error) as refused:
            restore(copy, path, key)
        assert "serai restore" not in str(refused.value), "whoever restores has done that already"
        assert re.search("(?i)name (another copy|a file of 'serai backup')", str(refused.value))
        after = {file.name: file.read_bytes() for file in path.parent.iterdir() if ".lock" not in file.name}
        assert after == before


class TestLog:
    async def test_it_does_not_grow_without_bound(self, path: Path, opened: Opened) -> None:
        store = SqliteStore(path, KEY, Tuning(checkpoint_pages=25))
        await opened(store)
        log = path.with_name("history.db-wal")
        written = 0
        async with asyncio.timeout(20):
            # A log that only grows is longer than all that was written.
            while written < 1_000_000 or size_of(log) > written / 3:
                await store.append(Batch(items=[Row(A, bytes(3_000))], durable=False))
                written += 3_000
