"""Marks go to the terminal and nowhere else, wherever a person sends what a shell prints."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import serai.machine.terminals
from machine.terminals.conftest import OpenShell
from machine.terminals.viewer import plain

INTEGRATION = Path(serai.machine.terminals.__file__).parent / "shell"


@pytest.mark.parametrize("program", ["bash", "zsh"])
async def test_what_is_sent_to_a_file_has_no_marks_in_it(
    open_shell: OpenShell, home: Path, program: str
) -> None:
    shell = await open_shell(program)
    lines = {"exec 5>&1 >log": 0, "echo hello": 0, "printf end": 0, "(exit 3)": 3, "exec >&5": 0, "false": 1}
    for line, code in lines.items():
        part = await shell.run(line)
        assert (part.command_line, plain(part.output), part.exit_code) == (line, "", code)
    assert plain((home / "log").read_text()) == "hello\nend", (
        "and what a system's zshrc prints for the keyboard"
    )
    assert plain((await shell.run("echo back")).output) == "back\n"


@pytest.mark.parametrize("program", ["bash", "zsh"])
@pytest.mark.parametrize("closed", ["exec 5>&1 >&-", "exec 5>&2 2>&-"])
async def test_a_shell_that_has_closed_what_it_prints_to_goes_on(
    open_shell: OpenShell, home: Path, program: str, closed: str
) -> None:
    shell = await open_shell(program, "trap 'echo failed >> ~/failed' ERR\nset -e")
    await shell.ready()
    shell.terminal.write(f"{closed}\r\r\rtrue\rexec >&5 2>&5\rset +e\recho ba''ck\r")
    await shell.sees("back\r\n")
    assert (await shell.run("(exit 3)")).exit_code == 3
    assert (home / "failed").read_text() == "failed\n"


SHELLS = {
    "bash": (["bash", "--noprofile", "--rcfile", str(INTEGRATION / "serai.bash"), "-i"], {}),
    "zsh": (["zsh", "-i"], {"ZDOTDIR": str(INTEGRATION / "zsh")}),
}


@pytest.mark.parametrize("program", SHELLS)
async def test_without_a_terminal_marks_go_nowhere(home: Path, program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"NOT CHECKED: {program} is not installed")
    argv, extra = SHELLS[program]
    (home / f".{program}rc").write_text("PS1='me> '\n")
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "SERAI_NONCE": "secret", **extra}
    ended = await asyncio.to_thread(
        subprocess.run,
        argv,
        input=b"echo hello\n(exit 3)\necho was $?\n",
        capture_output=True,
        env=environ,
        cwd=home,
        start_new_session=True,
        timeout=30,
        check=False,
    )
    assert ended.stdout.decode().replace("\r", "").replace("me> ", "").split("\n")[-3:] == [
        "hello",
        "was 3",
        "",
    ]
    assert b"secret" not in ended.stdout + ended.stderr
    assert b"serai" not in ended.stdout + ended.stderr
    assert b"/dev/tty:" not in ended.stdout + ended.stderr
