"""Real programs on real terminals."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

import pytest

from machine.processes.watching import until
from machine.terminals.conftest import Open
from machine.terminals.viewer import plain
from serai.ahp import actions as a
from serai.errors import InvalidParams
from serai.machine.processes.child import Exit
from serai.machine.processes.processes import Processes
from serai.machine.terminals import terminal as module
from serai.machine.terminals.pty import INPUT_BOUND
from serai.machine.terminals.terminal import Terminal


def sh(script: str) -> tuple[str, str, str]:
    return "/bin/sh", "-c", script


def texts(actions: list[a.TerminalAction]) -> list[str]:
    return [action.data for action in actions if isinstance(action, a.TerminalDataAction)]


async def filled(terminal: Terminal) -> None:
    """Wait until no more is read."""
    await until(lambda: terminal._output.size >= module.BATCH)


async def test_a_program_runs_on_its_own_terminal(open_terminal: Open) -> None:
    view = await open_terminal(*sh("tty; echo $TERM $SERAI; ps -o tty= -p $$; exit 3"), cols=100, rows=30)
    await view.ended()
    tty, names, ps = plain(view.text).split("\n")[:3]
    assert tty == f"/dev/{ps.strip()}"
    assert names == "xterm-256color 1"
    assert view.actions[-1] == a.TerminalExitedAction(exit_code=3)
    assert view.terminal.exit == Exit(code=3)


async def test_a_program_sees_another_size(open_terminal: Open) -> None:
    view = await open_terminal(*sh("trap 'stty size' WINCH; stty size; while :; do sleep 0.01; done"))
    await view.sees("24 80")
    view.terminal.resize(132, 43)
    await view.sees("43 132")


@pytest.mark.parametrize(("cols", "rows"), [(0, 24), (65536, 24)])
async def test_a_size_that_cannot_be_is_refused(open_terminal: Open, cols: int, rows: int) -> None:
    with pytest.raises(InvalidParams):
        await open_terminal("cat", cols=cols, rows=rows)
    view = await open_terminal("cat")
    with pytest.raises(InvalidParams):
        view.terminal.resize(cols, rows)


async def test_a_terminal_that_is_ended_ends_like_a_closed_window(open_terminal: Open) -> None:
    view = await open_terminal(
        *sh("trap 'echo hung up; exit 9' HUP; echo ready; while :; do sleep 0.01; done")
    )
    await view.sees("ready")
    assert await view.terminal.end() == Exit(code=9)
    await view.ended()
    assert "hung up" in view.text
    assert await view.terminal.end() == Exit(code=9)
    assert not view.terminal.write("too late")
    view.terminal.resize(10, 10)
    assert await view.terminal.batch() == []


async def test_characters_are_whole_however_they_are_read(open_terminal: Open) -> None:
    pieces = r"'\360' '\237' '\246' '\212' '\345\256' '\277\n'"
    script = rf"for c in {pieces}; do printf $c; sleep 0.01; done; printf '\377ok\342\202'"
    view = await open_terminal(*sh(script))
    await view.ended()
    assert plain(view.text) == "🦊宿\n\N{REPLACEMENT CHARACTER}ok\N{REPLACEMENT CHARACTER}"


async def test_much_output_passes_in_bounded_memory(processes: Processes) -> None:
    size = 30_000_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    terminal = await Terminal.start(processes, argv=sh(f"stty raw; head -c {size} /dev/zero | tr '\\0' x"))
    sizes: list[int] = []
    while actions := await terminal.batch():
        sizes += map(len, texts(actions))
    assert sum(sizes) == size
    assert max(sizes) <= 2 * module.BATCH
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 20_000, "kilobytes"


async def test_a_program_waits_while_nobody_takes_its_output(processes: Processes, tmp_path: Path) -> None:
    terminal = await Terminal.start(processes, argv=sh(f"yes | head -c 2000000; echo done > {tmp_path}/done"))
    await filled(terminal)
    assert terminal._output.size <= 2 * module.BATCH
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - pathlib is not for here
    read = 0
    while actions := await terminal.batch():
        read += sum(map(len, texts(actions)))
    assert read == 3_000_000  # a line end is two characters on a terminal
    assert terminal.exit == Exit(code=0)


async def test_input_that_nobody_reads_is_refused_and_does_not_block(open_terminal: Open) -> None:
    view = await open_terminal(*sh("stty raw -echo; echo ready; sleep 60"))
    await view.sees("ready")
    chunk = "x" * 60_000
    taken = 0
    while view.terminal.write(chunk):
        taken += len(chunk)
    assert INPUT_BOUND - len(chunk) < taken <= INPUT_BOUND + 200_000


async def test_much_input_arrives_in_order(open_terminal: Open) -> None:
    view = await open_terminal(*sh("stty raw -echo; echo ready; head -c 500000 | cksum"))
    await view.sees("ready")
    for number in range(50_000):
        assert view.terminal.write(f"{number:010}")
    await view.ended()
    data = "".join(f"{number:010}" for number in range(50_000)).encode()
    expected = subprocess.run(["cksum"], input=data, capture_output=True, check=True).stdout.decode()  # noqa: S607, ASYNC221 - a moment
    assert expected.strip() in plain(view.text)


HOSTILE = [
    r"\033]633;A\007\033]633;C;1;rm\007",
    r"\033]0;%02000000d\007",
    r"\033]0;\033]0;\033]\033]\033",
    r"\235\033P\033\033\033[999999999999m\033[?1049h",
]


@pytest.mark.parametrize("hostile", HOSTILE)
async def test_hostile_output_makes_nothing_happen(open_terminal: Open, hostile: str) -> None:
    view = await open_terminal(*sh(rf"printf '{hostile}' 1; printf '\007\033[0mstill here\n'"))
    await view.ended()
    assert "still here" in view.text
    assert "]633" not in view.text
    kinds = {type(action) for action in view.actions}
    assert kinds <= {a.TerminalDataAction, a.TerminalTitleChangedAction, a.TerminalExitedAction}
