"""How soon a change is told, and what it costs to watch a large tree, beside watchfiles alone."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from statistics import median

from watchfiles import awatch  # pyright: ignore[reportUnknownVariableType] - it also takes events of trio

from harness import Result, against_limit, against_peer
from serai.machine.watch.events import LONGEST, QUIET
from serai.machine.watch.watch import Watches

ROUNDS = 40


def benchmarks() -> Iterator[Result]:
    """One change in a small folder; a tree of 50,000 files in 5,000 folders."""
    with tempfile.TemporaryDirectory() as folder:
        yield asyncio.run(_latency(Path(folder)))
    with tempfile.TemporaryDirectory() as folder:
        for outer in range(100):
            for inner in range(50):
                place = Path(folder, str(outer), str(inner))
                place.mkdir(parents=True)
                for number in range(10):
                    (place / str(number)).touch()
        yield from asyncio.run(_large(Path(folder)))


async def _latency(folder: Path) -> Result:
    """A file is made; how long until someone hears of it. Both wait until it is quiet for the same time."""
    (folder / "ours").mkdir()
    (folder / "theirs").mkdir()
    watches = Watches()
    watch = await watches.watch(folder / "ours", recursive=True)
    peer = awatch(
        folder / "theirs", watch_filter=None, debounce=round(LONGEST * 1e3), step=round(QUIET * 1e3)
    )
    first = asyncio.ensure_future(anext(peer))
    await asyncio.sleep(0.2)  # the peer does not say when it is ready
    (folder / "theirs" / "first").touch()
    await first

    async def took(place: Path, number: int, wait: Callable[[], Awaitable[object]]) -> float:
        waiting = asyncio.ensure_future(wait())
        await asyncio.sleep(0.05 + number % 7 / 300)  # so that the peer is not always met at the same moment
        begin = time.perf_counter()
        (place / str(number)).touch()
        await waiting
        return time.perf_counter() - begin

    ours: list[float] = []
    theirs: list[float] = []
    for number in range(ROUNDS):
        ours.append(await took(folder / "ours", number, watch.__anext__))
        theirs.append(await took(folder / "theirs", number, peer.__anext__))
    await watches.close()
    await peer.aclose()
    return against_peer(
        "a change is told, median",
        median(ours) * 1e3,
        "ms",
        peer=f"watchfiles, step {QUIET * 1e3:g} ms",
        peer_figure=median(theirs) * 1e3,
        target=1.2,
    )


async def _large(folder: Path) -> Iterator[Result]:
    """How long it takes until all is watched, and how long the event loop is kept from its work meanwhile."""
    ours, our_gap, theirs, their_gap = (float("inf"),) * 4
    for _ in range(3):
        seconds, gap = await _with_gap(lambda: _set_up_ours(folder))
        ours, our_gap = min(ours, seconds), min(our_gap, gap)
        seconds, gap = await _with_gap(lambda: _set_up_theirs(folder))
        theirs, their_gap = min(theirs, seconds), min(their_gap, gap)
    return iter(
        [
            against_peer(
                "watch 50,000 files",
                ours * 1e3,
                "ms",
                peer="watchfiles",
                peer_figure=theirs * 1e3,
                target=None,
            ),
            against_limit("longest gap in the loop while setting up", our_gap * 1e3, "ms", limit=50),
            against_peer(
                "the same, beside watchfiles",
                our_gap * 1e3,
                "ms",
                peer="watchfiles in a thread",
                peer_figure=their_gap * 1e3,
                target=1.0,
            ),
        ]
    )


async def _set_up_ours(folder: Path) -> float:
    watches = Watches()
    begin = time.perf_counter()
    await watches.watch(folder, recursive=True)
    took = time.perf_counter() - begin
    await watches.close()
    return took


async def _set_up_theirs(folder: Path) -> float:
    from watchfiles._rust_notify import RustNotify  # noqa: PLC0415 - only here

    begin = time.perf_counter()
    notify = await asyncio.to_thread(RustNotify, [str(folder)], False, False, 300, True, True)
    took = time.perf_counter() - begin
    notify.close()
    return took


async def _with_gap(work: Callable[[], Awaitable[float]]) -> tuple[float, float]:
    longest = 0.0

    async def tick() -> None:
        nonlocal longest
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            longest = max(longest, now - last)
            last = now

    ticking = asyncio.ensure_future(tick())
    await asyncio.sleep(0.01)
    took = await work()
    await asyncio.sleep(0.01)
    ticking.cancel()
    return took, longest
