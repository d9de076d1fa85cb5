"""What it costs to see a one-file change in a repository of 20,000 files, beside `git status`."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from harness import Result, against_limit, against_peer, take_turns
from serai.changes.diff import Changes
from serai.changes.folder import FolderChanges, open_folder
from serai.changes.view import SESSION, UNCOMMITTED, ChangesetKind, Which

FOLDERS, EACH = 200, 100
ROUNDS = 10

# One look at the files, as git status has; then storing what changed, and comparing.
SLOWEST = 3.0


def benchmarks() -> Iterator[Result]:
    """One changeset after a change, nothing changed, all three of a session, and the base of a turn."""
    with tempfile.TemporaryDirectory() as name, asyncio.Runner() as runner:
        top = Path(name, "work")
        _fill(top)
        changes = runner.run(
            open_folder(str(top), "bench", folder=Path(name, "home/changes/s"), home=Path(name, "home"))
        )
        (top / "before the session").write_text("x\n")
        runner.run(changes.begin_session())
        (top / "before the turn").write_text("x\n")
        runner.run(changes.begin_turn("t"))
        numbers = count()

        def edit() -> None:
            (top / "d5/f5.txt").write_text(f"{next(numbers)}\n")

        def one() -> None:
            edit()
            _expect(3, runner.run(_seen(changes, UNCOMMITTED)))

        def still() -> None:
            _expect(3, runner.run(_seen(changes, UNCOMMITTED)))

        def three() -> None:
            edit()
            found = runner.run(changes.compute_all((UNCOMMITTED, SESSION, Which(ChangesetKind.TURN, "t"))))
            _expect(3 + 2 + 1, sum(len(one.changes) for one in found.values() if isinstance(one, Changes)))

        def base() -> None:
            edit()
            runner.run(changes.begin_turn("next"))

        def status() -> None:
            edit()
            _git(top, "status", "--porcelain", "-z", "-uall")

        times = take_turns(one, still, three, base, status, rounds=ROUNDS)
    names = (
        "a one-file change in 20,000 files",
        "no change since the last look",
        "a one-file change, three changesets",
        "the base of a turn after a one-file change",
    )
    yield against_limit(f"{names[0]}: the whole", times[0] * 1e3, "ms", limit=1_000)
    for name, seconds, target in zip(names, times, (SLOWEST, None, None, None), strict=False):
        yield against_peer(
            name, seconds * 1e3, "ms", peer="git status", peer_figure=times[-1] * 1e3, target=target
        )


async def _seen(changes: FolderChanges, which: Which) -> int:
    return len((await changes.compute(which)).changes)


def _fill(top: Path) -> None:
    for folder in range(FOLDERS):
        (top / f"d{folder}").mkdir(parents=True)
        for file in range(EACH):
            (top / f"d{folder}/f{file}.txt").write_text(f"file {file} of folder {folder}\n" * 10)
    _git(top, "init", "-q")
    _git(top, "add", "-A")
    _git(top, "-c", "user.name=bench", "-c", "user.email=bench@example.org", "commit", "-q", "-m", "all")


def _git(top: Path, *arguments: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-c", "gc.auto=0", *arguments]
    subprocess.run(command, cwd=top, env=environment, check=True, capture_output=True)


def _expect(number: int, found: int) -> None:
    if number != found:
        raise RuntimeError(f"{found} changes were found, not {number}")
