"""What opening checks, in which order, and what it leaves alone."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

from serai.errors import (
    ConfigInvalid,
    DatabaseCorrupt,
    DatabaseLocked,
    StorageUnreadable,
    WrongKey,
)
from serai.store.contract import Batch, Row
from serai.store.sqlite.backup import back_up
from serai.store.sqlite.connection import connect, raw_key, salt_of
from serai.store.sqlite.file import PAGE_SIZE
from serai.store.sqlite.migrations import MIGRATIONS, Migration
from serai.store.sqlite.store import SqliteStore, Tuning
from store.conftest import Opened
from store.kinds import KEY, copy_files, put

A = "ahp-session:/a"


def files_of(path: Path) -> dict[str, bytes]:
    """Every byte of a database, and of what lies beside it."""
    return {file.name: file.read_bytes() for file in path.parent.iterdir() if not file.name.endswith(".lock")}


@pytest.fixture(params=["closed", "left with a log", "left with a log and its index"])
async def left(request: pytest.FixtureRequest, path: Path, tmp_path: Path) -> Path:
    """A database that nobody has open, as a host may leave it."""
    store = SqliteStore(path, KEY, Tuning(checkpoint_pages=10))
    await store.open()
    for number in range(50):
        await store.append(Batch(items=[Row(A, b"secret-%d" % number * 20)], durable=False))
    folder = tmp_path / "left"
    folder.mkdir()
    target = folder / "history.db"
    if request.param == "closed":
        await store.close()
        copy_files(path, target)
        return target
    copy_files(path, target)
    if "index" in request.param:
        (folder / "history.db-shm").write_bytes((path.parent / "history.db-shm").read_bytes())
    await store.close()
    return target


async def refused(path: Path, error: type[StorageUnreadable], key: bytes | str = KEY) -> StorageUnreadable:
    """Opening fails, names the file and a remedy, and changes nothing."""
    before = files_of(path)
    store = SqliteStore(path, key)
    with pytest.raises(error) as caught:
        await store.open()
    assert files_of(path) == before
    assert str(path) in caught.value.message
    assert caught.value.remedy
    await store.close()
    return caught.value


class TestKey:
    @pytest.mark.parametrize("key", [b"x" * 32, "a passphrase"])
    async def test_a_wrong_one_changes_nothing(self, left: Path, key: bytes | str) -> None:
        await refused(left, WrongKey, key)

    async def test_the_right_one_opens_what_was_left(self, left: Path, opened: Opened) -> None:
        store = SqliteStore(left, KEY)
        await opened(store)
        assert len(await store.rows(A, 0)) == 50

    async def test_a_passphrase_is_the_same_for_other_tools(self, path: Path) -> None:
        store = SqliteStore(path, "correct horse")
        await store.open()
        await store.append(Batch(items=[Row(A, b"{}")]))
        await store.close()
        other = apsw.Connection(str(path))
        other.pragma("cipher", "chacha20")
        other.pragma("key", "correct horse")
        assert other.execute("SELECT count(*) FROM journal").get == 1
        other.close()

    @pytest.mark.parametrize("key", [b"short", ""])
    async def test_one_that_cannot_be_is_refused(self, path: Path, key: bytes | str) -> None:
        with pytest.raises(ConfigInvalid):
            await SqliteStore(path, key).open()
        assert files_of(path) == {}


class TestNotOurs:
    async def test_a_database_without_encryption(self, path: Path) -> None:
        other = apsw.Connection(str(path))
        other.execute("CREATE TABLE t (a)")
        other.close()
        await refused(path, WrongKey)

    async def test_a_database_of_another_program(self, path: Path) -> None:
        put(path, b"")
        other = connect(path, KEY, salt=b"0123456789abcdef")
        other.execute("CREATE TABLE t (a)")
        other.close()
        await refused(path, WrongKey)


class TestDamage:
    async def test_a_file_that_was_cut_off(self, path: Path) -> None:
        await self._fill(path)
        with path.open("r+b") as file:
            file.truncate(PAGE_SIZE * 5)
        await refused(path, DatabaseCorrupt)

    async def test_a_log_whose_database_is_gone(self, path: Path) -> None:
        path.with_name("history.db-wal").write_bytes(b"x" * 5000)
        await refused(path, DatabaseCorrupt)
        put(path, b"")
        await refused(path, WrongKey)

    async def test_a_lost_table(self, path: Path) -> None:
        await self._fill(path)
        database = connect(path, KEY)
        database.execute("DROP TABLE state")
        database.close()
        await refused(path, DatabaseCorrupt)

    async def _fill(self, path: Path) -> None:
        store = SqliteStore(path, KEY)
        await store.open()
        await store.append(Batch(items=[Row(A, b"{}" * 2_000) for _ in range(20)]))
        await store.close()


class TestNewFile:
    async def test_only_its_owner_can_read_it(self, path: Path, opened: Opened) -> None:
        store = SqliteStore(path, KEY)
        await opened(store)
        await store.append(Batch(items=[Row(A, b"{}")]))
        back_up(path, KEY, path.with_name("copy.db"))
        for file in path.parent.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file

    async def test_an_empty_one_is_a_loss_and_is_left_alone(self, path: Path) -> None:
        put(path, b"")
        error = await refused(path, WrongKey)
        assert "move the file away to start anew" in str(error.remedy)
        await asyncio.to_thread(path.unlink)
        assert (await open_and_close(path, KEY)).first_new == 1

    @pytest.mark.parametrize("moment", ["before it is made", "while it is made", "before it gets its name"])
    async def test_a_first_start_that_was_cut_short_is_no_obstacle_to_the_second(
        self, path: Path, moment: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Killed(BaseException):
            """The process ends here."""

        def killed(*_arguments: Any, **_named: Any) -> None:
            raise Killed

        if moment == "before it is made":
            monkeypatch.setattr("serai.store.sqlite.file.raw_key", killed)
        elif moment == "while it is made":
            monkeypatch.setattr("serai.store.sqlite.file.migrate", killed)
        else:
            monkeypatch.setattr("serai.store.sqlite.file.sync", killed)
        with pytest.raises(Killed):
            await SqliteStore(path, KEY).open()
        monkeypatch.undo()
        assert path.with_name("history.db.lock").exists()
        assert (await open_and_close(path, KEY)).first_new == 1


class TestOneHost:
    async def test_a_second_one_is_refused_and_told_who_holds_it(self, path: Path, opened: Opened) -> None:
        await opened(SqliteStore(path, KEY))
        with pytest.raises(DatabaseLocked) as caught:
            await SqliteStore(path, KEY).open()
        assert str(os.getpid()) in caught.value.message
        assert str(path) in caught.value.message

    async def test_another_name_of_the_file_does_not_help(self, path: Path, opened: Opened) -> None:
        await opened(SqliteStore(path, KEY))
        path.with_name("alias.db").symlink_to(path)
        with pytest.raises(DatabaseLocked):
            await SqliteStore(path.with_name("alias.db"), KEY).open()

    async def test_a_cancelled_opening_leaves_nothing_open(self, path: Path, opened: Opened) -> None:
        for _ in range(3):
            opening = asyncio.create_task(SqliteStore(path, KEY).open())
            await asyncio.sleep(0)
            opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening
        async with asyncio.timeout(30):
            while True:
                try:
                    await opened(SqliteStore(path, KEY))
                except DatabaseLocked:
                    await asyncio.sleep(0)
                else:
                    return

    def test_the_lock_of_a_killed_process_is_free_at_once(self, path: Path) -> None:
        script = (
            "import asyncio, sys, time\n"
            "from pathlib import Path\n"
            "from serai.store.sqlite.store import SqliteStore\n"
            "async def main():\n"
            "    await SqliteStore(Path(sys.argv[1]), b'k' * 32).open()\n"
            "    print('open', flush=True)\n"
            "    await asyncio.Event().wait()\n"
            "asyncio.run(main())\n"
        )
        with subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"open\n"
            with pytest.raises(DatabaseLocked, match=str(holder.pid)):
                asyncio.run(SqliteStore(path, b"k" * 32).open())
            holder.kill()
        assert not asyncio.run(open_and_close(path)).clean


async def open_and_close(path: Path, key: bytes = b"k" * 32, **options: Any) -> Any:
    store = SqliteStore(path, key, Tuning(**options))
    opening = await store.open()
    await store.close()
    return opening


NEXT = MIGRATIONS[-1].version + 1

WIDER = Migration(NEXT, "wider", "ALTER TABLE sessions ADD COLUMN colour TEXT; CREATE TABLE more (a TEXT)")
WIDEST = Migration(NEXT + 1, "widest", "CREATE TABLE most (a TEXT)")
WRONG = Migration(NEXT + 1, "wrong", "CREATE TABLE half (a TEXT); SELECT nonsense FROM nowhere")


class TestMigrations:
    @pytest.fixture(autouse=True)
    async def one_row(self, path: Path) -> None:
        store = SqliteStore(path, KEY)
        await store.open()
        await store.append(Batch(items=[Row(A, b"{}")]))
        await store.close()

    def tables(self, path: Path) -> set[str]:
        database = connect(path, raw_key(KEY, salt_of(path)))
        names = {name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        database.close()
        return names

    async def test_each_has_a_copy_from_before(self, path: Path, opened: Opened) -> None:
        store = SqliteStore(path, KEY, Tuning(migrations=[*MIGRATIONS, WIDER, WIDEST]))
        await opened(store)
        assert len(await store.rows(A, 0)) == 1
        assert {"more", "most"} <= self.tables(path)
        first, second = (path.with_name(f"history.db.before-{step.version:04d}") for step in (WIDER, WIDEST))
        assert "more" not in self.tables(first)
        assert "more" in self.tables(second)
        assert "most" not in self.tables(second)
        assert (await open_and_close(first, KEY)).last_committed == 1

    async def test_one_that_fails_changes_nothing(self, path: Path) -> None:
        store = SqliteStore(path, KEY, Tuning(migrations=[*MIGRATIONS, WIDER, WRONG]))
        with pytest.raises(StorageUnreadable, match=r"wrong.*before-"):
            await store.open()
        assert "half" not in self.tables(path)
        assert "more" in self.tables(path)
        assert (await open_and_close(path, KEY, migrations=[*MIGRATIONS, WIDER])).last_committed == 1
