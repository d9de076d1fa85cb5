"""What the SQLite store costs: beside a bare writer thread, in bytes of log, and when it is opened.

All on an encrypted file, with a full sync per commit.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, SimpleQueue

from harness import Result, against_limit, against_peer, take_turns
from serai.ahp import wire
from serai.ahp.actions import SessionDeltaAction
from serai.store.contract import Batch, HeadRow, Row
from serai.store.sqlite.connection import SQL, connect
from serai.store.sqlite.file import PAGE_SIZE
from serai.store.sqlite.store import SqliteStore, Tuning

KEY = os.urandom(32)

TASKS = 16
EACH = 25
ROUNDS = 60

CHANNEL = "ahp-session:/0d5b2c3e-1111-4222-8333-444455556666"
ACTION = wire.encode(SessionDeltaAction(turn_id="turn-12", part_id="part-3", content="some words of text "))

# Never below 1 / 0.85 of a bare writer thread's throughput.
SLOWEST = 1 / 0.85

Append = Callable[[bytes], "asyncio.Future[None]"]


def benchmarks() -> Iterator[Result]:
    """Throughput, the log, and opening."""
    with tempfile.TemporaryDirectory() as folder:
        yield _throughput(Path(folder))
        yield _log_bytes(Path(folder))
        yield from _opening(Path(folder))


# -- durable actions per second ------------------------------------------------------------------------


class Grouped:
    """The store behind the smallest possible group commit: what came during a commit is the next batch."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._waiting: list[tuple[bytes, asyncio.Future[None]]] = []
        self._wake = asyncio.Event()

    def append(self, action: bytes) -> asyncio.Future[None]:
        """Have an action written; the future is done when it is on the disk."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((action, future))
        self._wake.set()
        return future

    async def commit(self) -> None:
        """Commit what waits, on and on."""
        while True:
            if not self._waiting:
                self._wake.clear()
                await self._wake.wait()
            group, self._waiting = self._waiting, []
            await self._store.append(Batch(items=[Row(CHANNEL, action) for action, _ in group]))
            for _, future in group:
                future.set_result(None)
            # Those who were answered now come again before this does.
            await asyncio.sleep(0)


class Bare:
    """The same inserts in a thread that knows nothing else: no channels, no locators, no numbers to keep."""

    def __init__(self, path: Path) -> None:
        path.touch()
        self._database = connect(path, KEY, salt=os.urandom(16))
        self._database.pragma("page_size", PAGE_SIZE)
        self._database.pragma("journal_mode", "wal")
        self._database.pragma("synchronous", "full")
        self._database.wal_autocheckpoint(0)
        self._database.execute(
            "CREATE TABLE journal"
            " (seq INTEGER PRIMARY KEY, channel INTEGER, action BLOB, origin BLOB, at INTEGER) STRICT"
        )
        self._jobs: SimpleQueue[tuple[bytes, asyncio.Future[None]] | None] = SimpleQueue()
        self._next = 1
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def append(self, action: bytes) -> asyncio.Future[None]:
        """Have an action written; the future is done when it is on the disk."""
        future = asyncio.get_running_loop().create_future()
        self._jobs.put((action, future))
        return future

    def close(self) -> None:
        """End the thread."""
        self._jobs.put(None)
        self._thread.join()
        self._database.close()

    def _work(self) -> None:
        insert = SQL["insert_rows"]
        while (job := self._jobs.get()) is not None:
            group = [job]
            try:
                while (job := self._jobs.get_nowait()) is not None:
                    group.append(job)
            except Empty:
                pass
            values: list[int | bytes | None] = []
            for action, _ in group:
                values += (self._next, 1, action, None, 0)
                self._next += 1
            self._database.execute("BEGIN IMMEDIATE")
            self._database.execute(insert + ", (?, ?, ?, ?, ?)" * (len(group) - 1), values)
            self._database.execute("COMMIT")
            group[0][1].get_loop().call_soon_threadsafe(_settle, [future for _, future in group])


def _settle(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        future.set_result(None)


async def _tasks(append: Append) -> None:
    async def session() -> None:
        for _ in range(EACH):
            await append(ACTION)

    await asyncio.gather(*(session() for _ in range(TASKS)))


def _throughput(folder: Path) -> Result:
    with asyncio.Runner() as runner:
        store = SqliteStore(folder / "ours.db", KEY)
        runner.run(store.open())

        async def start() -> tuple[Grouped, asyncio.Task[None]]:
            grouped = Grouped(store)
            return grouped, asyncio.create_task(grouped.commit())

        grouped, committing = runner.run(start())
        bare = Bare(folder / "bare.db")
        ours, theirs = take_turns(
            lambda: runner.run(_tasks(grouped.append)),
            lambda: runner.run(_tasks(bare.append)),
            rounds=ROUNDS,
        )
        committing.cancel()
        bare.close()
        runner.run(store.close())
    per_action = [seconds / (TASKS * EACH) * 1e6 for seconds in (ours, theirs)]
    return against_peer(
        "a durable action, 16 tasks",
        per_action[0],
        "µs",
        peer="bare writer thread",
        peer_figure=per_action[1],
        target=SLOWEST,
    )


# -- bytes of the log ----------------------------------------------------------------------------------


def _log_bytes(folder: Path) -> Result:
    path = folder / "log.db"

    async def run() -> float:
        # No checkpoint, so that the log keeps all that is written to it.
        store = SqliteStore(path, KEY, Tuning(checkpoint_pages=1 << 30))
        await store.open()
        log = path.with_name(f"{path.name}-wal")
        before = log.stat().st_size
        rows = 0
        while rows < 13_000:
            await store.append(Batch(items=[Row(CHANNEL, ACTION)] * 13, durable=False))
            rows += 13
        written = log.stat().st_size - before
        await store.close()
        return written / (rows * len(ACTION))

    return against_limit("log per payload, 13 actions a commit", asyncio.run(run()), "B/B", limit=6)


# -- opening -------------------------------------------------------------------------------------------


def _opening(folder: Path) -> Iterator[Result]:
    path = folder / "opening.db"
    last = asyncio.run(_fill(path, 100_000))
    with asyncio.Runner() as runner:
        store = SqliteStore(path, KEY)

        def open_store() -> None:
            runner.run(store.open())

        def close_store() -> None:
            runner.run(store.close())

        async def open_session() -> None:
            head = await store.head(CHANNEL)
            await store.turns(CHANNEL)
            _expect(1_000, len(await store.rows(CHANNEL, head.seq if head else 0)))

        opening, _ = take_turns(open_store, close_store, rounds=5)
        open_store()
        [session] = take_turns(lambda: runner.run(open_session()), rounds=5)
        [everything] = take_turns(lambda: runner.run(_read_all(store, last)), rounds=2)
        close_store()
    yield against_limit("open a store of 100,000 actions", opening * 1e3, "ms", limit=100)
    yield against_limit("read a head and a tail of 1,000", session * 1e3, "ms", limit=25)
    yield against_limit("find and read 100,000 rows", everything * 1e3, "ms", limit=1_000)


async def _fill(path: Path, count: int) -> int:
    store = SqliteStore(path, KEY)
    await store.open()
    rows = [Row(CHANNEL, ACTION), *(Row(f"{CHANNEL}-{other}", ACTION) for other in range(9))]
    last = 0
    for start in range(0, count, 100):
        # Every tenth row is of our channel; of the last ten thousand a thousand are its tail.
        batch = Batch(items=[*rows * 10], durable=False)
        if start == count - 10_000:
            batch.heads.append(HeadRow(CHANNEL, b"{}" * 50_000, 0, -1))
        last = await store.append(batch) + 99
    await store.close()
    return last


async def _read_all(store: SqliteStore, last: int) -> None:
    channels = [CHANNEL, *(f"{CHANNEL}-{other}" for other in range(9))]
    rows = await store.replay(channels, after=0, until=last, max_rows=10**6, max_bytes=10**9)
    _expect(100_000, len(rows or ()))


def _expect(count: int, found: int) -> None:
    if count != found:
        raise RuntimeError(f"{found} rows were found, not {count}")
