"""A host that is killed while it writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from serai.store.contract import Batch, Row
from serai.store.sqlite.backup import look_over
from serai.store.sqlite.store import SqliteStore, Tuning
from store.conftest import Opened
from store.kinds import KEY, copy_files

A = "ahp-session:/a"

WRITES = """
import asyncio, sys
from pathlib import Path
from serai.store.contract import Batch, Row, SessionRow, TurnRow
from serai.store.sqlite.store import SqliteStore, Tuning

async def main():
    tuning = Tuning(locator_interval=30, checkpoint_pages=40)
    store = SqliteStore(Path(sys.argv[1]), sys.argv[2].encode(), tuning)
    await store.open()
    number = 0
    while True:
        items = [Row(f"channel-{n % 3}", b"%d" % n * 50) for n in range(number, number + number % 7 + 1)]
        first = await store.append(Batch(items=[*items, None], durable=number % 3 == 0))
        print(first, len(items), flush=True)
        number += 1

asyncio.run(main())
"""


def write_until_killed(path: Path, batches: int) -> tuple[list[int], int]:
    """What a host said to have written before it was killed: the numbers of rows, and the last number."""
    numbers: list[int] = []
    seen = 0
    command = [sys.executable, "-c", WRITES, str(path), KEY.decode()]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        for said, line in enumerate(host.stdout, 1):
            if not line.endswith(b"\n"):
                break  # it was killed within a line, which says nothing then
            first, count = map(int, line.split())
            assert first > seen
            numbers += range(first, first + count)
            seen = first + count
            if said == batches:
                host.kill()
    return numbers, seen


@pytest.mark.parametrize("batches", [1, 60])
async def test_all_that_was_acknowledged_is_there(path: Path, opened: Opened, batches: int) -> None:
    numbers, seen = write_until_killed(path, batches)
    store = SqliteStore(path, KEY, Tuning(locator_interval=30))
    opening = await opened(store)
    assert not opening.clean
    assert opening.first_new > seen
    channels = [f"channel-{n}" for n in range(3)]
    rows = await store.replay(channels, after=0, until=1 << 62, max_rows=10**6, max_bytes=10**9)
    assert rows is not None
    found = [row.seq for row in rows]
    # Of the last batch nobody may have heard.
    assert found[: len(numbers)] == numbers
    assert len(found) <= len(numbers) + 7
    assert await store.check(full=True) == []


@pytest.mark.parametrize("cut", [1, 24, 2_000, 4_120, 9_000])
async def test_a_log_that_lost_its_end_keeps_what_was_durable(
    sqlite: SqliteStore, tmp_path: Path, opened: Opened, cut: int
) -> None:
    for number in range(10):
        await sqlite.append(Batch(items=[Row(A, b"%d" % number * 500)]))
    log = sqlite.path.with_name("history.db-wal")
    synced = log.stat().st_size
    for number in range(10):
        await sqlite.append(Batch(items=[Row(A, b"%d" % number * 500)], durable=False))
    after = tmp_path / "after.db"
    copy_files(sqlite.path, after)
    with after.with_name("after.db-wal").open("r+b") as file:
        file.truncate(max(synced, log.stat().st_size - cut))
    recovered = SqliteStore(after, KEY)
    opening = await opened(recovered)
    found = [row.seq for row in await recovered.rows(A, 0)]
    assert 10 <= len(found) < 20
    assert found == list(range(1, len(found) + 1))
    assert opening.last_committed == len(found)
    assert opening.first_new > 20


async def test_a_lost_log_is_noticed_and_no_number_is_given_out_twice(path: Path, opened: Opened) -> None:
    await opened(store := SqliteStore(path, KEY))
    await store.append(Batch(items=[Row(A, b"1")]))
    await store.close()
    _, seen = write_until_killed(path, 30)
    path.with_name(f"{path.name}-wal").unlink()
    assert any("log was lost" in problem for problem in look_over(path, KEY, full=False))
    opening = await opened(again := SqliteStore(path, KEY))
    assert opening.log_lost
    assert not opening.clean
    assert opening.first_new > seen
    assert any(before < seen < first for before, first in await again.gaps())
    await again.close()
    assert not (await opened(SqliteStore(path, KEY))).log_lost


async def test_a_lost_log_is_noticed_after_more_than_one_block_of_numbers(path: Path, opened: Opened) -> None:
    await opened(store := SqliteStore(path, KEY, Tuning(block=10)))
    last = 0
    for _ in range(5):
        last = await store.append(Batch(items=[Row(A, b"1")] * 9))
    copy = path.with_name("copy.db")
    copy_files(path, copy)
    copy.with_name(f"{copy.name}-wal").unlink()
    opening = await opened(SqliteStore(copy, KEY, Tuning(block=10)))
    assert opening.log_lost
    assert opening.first_new > last + 8
