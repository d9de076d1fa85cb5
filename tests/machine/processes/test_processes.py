"""Children: how they start, and that they and all of theirs end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from machine.processes.watching import LIMIT, runs, written_pid
from serai.errors import ProcessNotStarted
from serai.machine.processes import processes as module
from serai.machine.processes.child import Exit, StartedChild
from serai.machine.processes.processes import Processes


def shell(script: str) -> list[str]:
    return ["/bin/sh", "-c", script]


async def test_a_child_tells_how_it_ended(processes: Processes) -> None:
    child = await processes.start(shell("exit 3"), what="three")
    assert await child.wait() == Exit(code=3)
    killed = await processes.start(shell("kill -9 $$"), what="killed")
    assert await killed.wait() == Exit(signal=9)
    assert (Exit(code=3).status, Exit(signal=9).status, Exit().status) == (3, 137, None)
    assert str(Exit(code=3)) == "it ended with the code 3"
    assert str(Exit(signal=9)) == "it was ended by SIGKILL"
    assert str(Exit()) == "its end was not seen"
    await child.gone()
    await killed.gone()
    assert not processes._children


async def test_a_child_has_its_pipes_its_place_and_its_environment(
    processes: Processes, tmp_path: Path
) -> None:
    child = await processes.start(
        shell('read word; echo "$word $WORD $PWD"; echo bad >&2'),
        what="a talker",
        cwd=tmp_path,
        environ={"WORD": "given", "PATH": os.defpath},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdin
    assert child.stdout
    assert child.stderr
    child.stdin.write(b"typed\n")
    assert await asyncio.to_thread(child.stdout.read) == f"typed given {tmp_path}\n".encode()
    assert await asyncio.to_thread(child.stderr.read) == b"bad\n"
    child.stdout.close()
    child.stderr.close()
    assert await child.end() == Exit(code=0)


async def test_a_child_ends_when_its_input_is_closed(processes: Processes) -> None:
    child = await processes.start(["cat"], what="a cat", stdin=subprocess.PIPE)
    assert await child.end(eof=LIMIT) == Exit(code=0)
    assert await child.end() == Exit(code=0)


async def test_a_child_that_does_not_listen_is_killed(processes: Processes, tmp_path: Path) -> None:
    child = await processes.start(
        shell(f"trap '' TERM HUP; echo $$ > {tmp_path}/pid; while :; do sleep 0.01; done"), what="stubborn"
    )
    await written_pid(tmp_path / "pid")
    assert await child.end(grace=0.05) == Exit(signal=signal.SIGKILL)


DAEMON = Path(__file__).with_name("daemon.py")
ESCAPES = {
    "in a group of its own": "set -m; sleep 60 &",
    "deaf to a hang-up": "nohup sleep 60 >/dev/null 2>&1 &",
    "without a parent": "(sleep 60 & echo $! > {file}); true;",
    "with nothing of it": "env -i setsid sh -c 'echo $$ > {file}; exec sleep 60' & ",
    "as a daemon under another name": f"{sys.executable} {DAEMON} {{file}}; ",
}
DEAF = "as a daemon under another name"


@pytest.mark.parametrize("escape", ESCAPES)
@pytest.mark.parametrize("leader", ["stays", "goes"])
async def test_whatever_a_child_starts_ends_with_it(
    processes: Processes, tmp_path: Path, escape: str, leader: str
) -> None:
    file = tmp_path / "pid"
    script = ESCAPES[escape].format(file=file)
    if str(file) not in script:
        script += f" echo $! > {file};"
    wait = f" until [ -s {file} ]; do sleep 0.01; done;"
    child = await processes.start(
        shell(script + wait + (" sleep 60" if leader == "stays" else " exit 5")), what="a parent"
    )
    other = await written_pid(file)
    if leader == "goes":
        assert await child.wait() == Exit(code=5)
        await child.gone()
    else:
        assert runs(other)
        assert await child.end(grace=1 if escape == DEAF else LIMIT) == Exit(signal=signal.SIGTERM)
    assert not runs(other)


async def test_what_cannot_start_leaves_nothing(processes: Processes, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no program")
    with pytest.raises(ProcessNotStarted, match="there is no program 'nowhere'"):
        await processes.start(["nowhere"], what="nothing")
    with pytest.raises(ProcessNotStarted, match="there is no program 'nowhere'"):
        await processes.start(["nowhere"], what="nothing", terminal="/dev/tty")
    with pytest.raises(ProcessNotStarted, match="is no directory"):
        await processes.start(["true"], what="nothing", cwd=tmp_path / "missing")
    with pytest.raises(ProcessNotStarted, match="Permission denied"):
        await processes.start(["./file"], what="nothing", cwd=tmp_path)
    with pytest.raises(ProcessNotStarted, match=r"there is no program '\./missing'"):
        await processes.start(["./missing"], what="nothing", cwd=tmp_path)
    with pytest.raises(ProcessNotStarted, match="null"):
        await processes.start(["true", "a\0b"], what="nothing")
    assert not processes._children


async def test_a_start_that_nobody_waits_for_is_undone(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    spawn = module.start_kept
    begun, go_on = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow(*args: Any) -> StartedChild:
        loop.call_soon_threadsafe(begun.set)
        asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result(LIMIT)
        return spawn(*args)

    monkeypatch.setattr(module, "start_kept", slow)
    start = asyncio.create_task(processes.start(["sleep", "60"], what="unwanted"))
    await begun.wait()
    start.cancel()
    await asyncio.sleep(0)
    start.cancel()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await start
    assert not processes._children


async def test_a_host_that_closes_starts_no_more(processes: Processes) -> None:
    child = await processes.start(["sleep", "60"], what="a sleeper")
    await processes.close()
    assert child.exit == Exit(signal=signal.SIGTERM)
    with pytest.raises(ProcessNotStarted, match="closing"):
        await processes.start(["true"], what="too late")
