"""Where an agent of a program is started: what programs that were killed have left is cleared away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from machine.processes.watching import names, until
from serai.agents.ask import start as workplace
from serai.agents.ask.start import Workplace

PROGRAM = """
import asyncio, sys
from serai.agents.ask.start import Workplace

async def main():
    place = await Workplace.open()
    await place.processes.start(["sleep", "60"], what="an agent")
    print("ready", flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(workplace, "_swept", set[str]())
    yield tmp_path
    assert names(tmp_path) == []


def made_long_ago(folder: Path) -> None:
    then = time.time() - 3600
    os.utime(folder, (then, then))


async def use_a_workplace() -> None:
    await (await Workplace.open()).close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_what_a_program_that_was_killed_has_left_goes_with_the_next_start(
    temporary: Path, number: signal.Signals
) -> None:
    environ = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, env=environ) as program:  # noqa: ASYNC220 - our own
        assert program.stdout is not None
        assert program.stdout.readline() == b"ready\n"
        program.send_signal(number)
    folder = temporary / names(temporary)[0]
    await until(lambda: names(folder) == [])  # the warden has ended what ran
    await use_a_workplace()
    assert folder.exists()  # it may be that of a program that has just begun
    made_long_ago(folder)
    workplace._swept.clear()  # pyright: ignore[reportPrivateUsage] - as in another program
    await use_a_workplace()


async def test_what_is_in_use_or_not_ours_stays(temporary: Path) -> None:
    used, other = temporary / "serai-agents-used", temporary / "another"
    for folder in (used, other):
        folder.mkdir()
    (used / "record.json").touch()
    link = temporary / "serai-agents-link"
    link.symlink_to(other)
    for folder in (used, other):
        made_long_ago(folder)
    await use_a_workplace()
    assert sorted(names(temporary)) == ["another", "serai-agents-link", "serai-agents-used"]
    (used / "record.json").unlink()
    for path in (link, used, other):
        path.unlink() if path.is_symlink() else path.rmdir()
