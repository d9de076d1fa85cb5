"""What is done with a database from outside: it is told what a host would say, and nothing is changed."""

from __future__ import annotations

import hashlib
import resource
from pathlib import Path

import pytest

from serai.errors import SchemaNewer, StorageUnavailable
from serai.store.contract import Batch, HeadRow, Row, SessionRow
from serai.store.sqlite.backup import back_up, disposed_sessions, look_over, purge
from serai.store.sqlite.connection import connect
from serai.store.sqlite.file import PAGE_SIZE
from serai.store.sqlite.store import SqliteStore
from store.conftest import Opened
from store.kinds import KEY, damage

A, B, C = "ahp-session:/a", "ahp-session:/b", "ahp-session:/c"


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


async def fill(path: Path) -> None:
    store = SqliteStore(path, KEY)
    await store.open()
    await store.append(Batch(items=[Row(A, b"{}" * 2_000) for _ in range(20)]))
    await store.close()


class TestLookingItOver:
    async def test_a_sound_one_also_while_a_host_runs_on_it(self, path: Path, opened: Opened) -> None:
        store = SqliteStore(path, KEY)
        await opened(store)
        await store.append(Batch(items=[Row(A, b"{}")]))
        assert look_over(path, KEY, full=True) == []

    async def test_one_of_a_newer_serai_is_refused_as_a_host_refuses_it(self, path: Path) -> None:
        await fill(path)
        database = connect(path, KEY)
        database.pragma("user_version", 99)
        database.close()
        before = digest(path)
        with pytest.raises(SchemaNewer) as caught:
            look_over(path, KEY, full=True)
        with pytest.raises(SchemaNewer) as of_host:
            await SqliteStore(path, KEY).open()
        assert str(caught.value) == str(of_host.value)
        assert digest(path) == before

    async def test_what_is_wrong_is_told_with_the_name_of_the_file(self, path: Path, opened: Opened) -> None:
        await fill(path)
        database = connect(path, KEY)
        page = database.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_blobs_1'"
        ).get
        database.close()
        damage(path, PAGE_SIZE * (page - 1) + 100)
        found = look_over(path, KEY, full=True)
        assert found
        assert all(problem.startswith(f"{path}: ") for problem in found)
        store = SqliteStore(path, KEY)
        await opened(store)
        found = await store.check(full=False)
        assert found
        assert all(problem.startswith(f"{path}: ") for problem in found)


class TestCopying:
    @pytest.mark.parametrize("target", ["nowhere.db", "folder"])
    async def test_a_link_is_not_replaced(self, path: Path, target: str) -> None:
        await fill(path)
        path.with_name("folder").mkdir()
        link = path.with_name("copy.db")
        link.symlink_to(target)
        with pytest.raises(StorageUnavailable, match=f"{link} exists"):
            back_up(path, KEY, link)
        assert link.readlink() == Path(target)
        assert not path.with_name("nowhere.db").exists()

    async def test_where_there_is_no_room_the_copy_is_named(self, path: Path) -> None:
        await fill(path)
        copy = path.with_name("copy.db")
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, hard))
        try:
            with pytest.raises(StorageUnavailable, match=f"{copy} cannot be written"):
                back_up(path, KEY, copy)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert not list(path.parent.glob("copy.db*"))


async def test_sessions_that_were_disposed_of_are_listed_until_they_are_purged(
    path: Path, opened: Opened
) -> None:
    store = SqliteStore(path, KEY)
    await opened(store)
    rows = [SessionRow(uri, b"{}", modified) for uri, modified in ((A, 1), (B, 2), (C, 3))]
    await store.append(Batch(sessions=rows, heads=[HeadRow(row.uri, b"{}", 0, -1) for row in rows]))
    assert disposed_sessions(path, KEY) == []
    await store.append(Batch(disposed=[A, C]))
    assert [row.uri for row in disposed_sessions(path, KEY)] == [C, A]
    await store.close()
    purge(path, KEY, C)
    assert disposed_sessions(path, KEY) == [rows[0]]
