"""How long it takes to find files in a repository of 100,000, and how long the loop is kept meanwhile."""

from __future__ import annotations

import asyncio
import random
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from harness import Result, against_limit
from serai.completions.files import FileIndex

WORDS = [
    "src",
    "lib",
    "test",
    "core",
    "utils",
    "main",
    "index",
    "component",
    "button",
    "handler",
    "session",
    "store",
    "journal",
    "client",
    "server",
    "config",
    "model",
    "view",
    "page",
    "route",
    "parse",
    "render",
    "format",
    "http",
    "api",
    "data",
    "user",
    "auth",
    "token",
    "widget",
    "table",
]
QUERIES = (
    "m",
    "main",
    "buttonhandler",
    "srcmain",
    "btnhdl",
    "tokwid9",
    "src/main",
    "zqx",
    "7setnoirsa",
    "notthere",
)


def benchmarks() -> Iterator[Result]:
    """The whole command: git's listing is there, the paths are searched, what was found is looked at."""
    with tempfile.TemporaryDirectory() as folder:
        _fill(Path(folder))
        yield from asyncio.run(_complete(Path(folder)))


def _fill(root: Path) -> None:
    """100,000 files in 8,000 folders, empty; git knows half of them."""
    chance = random.Random(1)  # noqa: S311 - no secret
    folders = [root]
    while len(folders) < 8_000:
        outer = chance.choice(folders[-2_000:])
        if len(outer.parts) - len(root.parts) < 7:
            inner = outer / f"{chance.choice(WORDS)}{chance.choice(['', 's', '_' + chance.choice(WORDS)])}"
            if not inner.exists():
                inner.mkdir()
                folders.append(inner)
    for number in range(100_000):
        name = f"{chance.choice(WORDS)}{chance.choice(['_', '-', ''])}{chance.choice(WORDS).title()}{number}"
        (chance.choice(folders) / f"{name}{chance.choice(['.py', '.ts', '.test.tsx', '.md'])}").touch()
        if number == 50_000:
            for words in (("init", "-q"), ("add", ".")):
                subprocess.run(("git", *words), cwd=root, check=True)  # noqa: S607 - the git that is there


async def _complete(folder: Path) -> Iterator[Result]:
    index = FileIndex(folder)
    begin = time.perf_counter()
    listing = await index.listing()
    first = time.perf_counter() - begin
    if listing.count < 100_000:
        raise RuntimeError("the listing is not whole")
    gap = 0.0

    async def tick() -> None:
        nonlocal gap
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0)
            now = time.perf_counter()
            gap = max(gap, now - last)
            last = now

    slowest = 0.0
    for query in QUERIES:
        best = float("inf")
        for _ in range(7):
            begin = time.perf_counter()
            await index.candidates(query)
            best = min(best, time.perf_counter() - begin)
        slowest = max(slowest, best)
    shortest = float("inf")
    for _ in range(3):
        gap = 0.0
        ticking = asyncio.ensure_future(tick())
        for query in QUERIES:
            await index.candidates(query)
        ticking.cancel()
        shortest = min(shortest, gap)
    await index.close()
    return iter(
        [
            against_limit("complete in 100,000 files, slowest query", slowest * 1e3, "ms", limit=50),
            against_limit("longest gap in the loop while completing", shortest * 1e3, "ms", limit=25),
            against_limit("list 100,000 files at first", first, "s", limit=2),
        ]
    )
