"""Command detection in real shells, with the person's own files."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from machine.terminals.conftest import Open, OpenShell
from machine.terminals.viewer import Viewer, plain

BASHRC = """
PS1='me> '
HISTCONTROL=ignoreboth
alias ll='echo listed'
MINE=yes
"""
ZSHRC = """
PS1='me> '
setopt histignorespace
alias ll='echo listed'
MINE=yes
"""


@pytest.fixture(params=["bash", "zsh"])
async def shell(request: pytest.FixtureRequest, open_terminal: Open, home: Path) -> Viewer:
    (home / ".bashrc").write_text(BASHRC)
    (home / ".zshrc").write_text(ZSHRC)
    return await open_terminal(request.param)


async def test_a_command_is_told_from_its_prompt(shell: Viewer) -> None:
    part = await shell.run("echo some words; false")
    assert part.command_line == "echo some words; false"
    assert plain(part.output) == "some words\n"
    assert part.is_complete
    assert part.exit_code == 1
    assert part.duration_ms is not None
    assert shell.live.head.supports_command_detection
    assert "633" not in shell.text
    await shell.sees("me> ")


async def test_what_a_shell_remembers_is_as_without_us(shell: Viewer) -> None:
    assert (await shell.run("(exit 5)")).exit_code == 5
    assert plain((await shell.run("echo $? $MINE $SERAI")).output) == "5 yes 1\n"
    assert plain((await shell.run("ll")).output) == "listed\n"
    part = await shell.run("env | grep -c -e NONCE -e ZDOTDIR")
    assert plain(part.output) == "0\n"
    assert plain((await shell.run("true; echo ${PIPESTATUS[0]}${pipestatus[1]-}")).output).strip() in (
        "0",
        "00",
    )


@pytest.mark.parametrize(
    "line",
    [
        "echo 'a;b' \\\\ \"c\"",
        "echo $'\\a\\e]633;x'",
        "cat <<< '\x16\x07 \x16\x1b'",
        "echo " + "long " * 60,
    ],
)
async def test_a_line_is_told_as_it_was_typed(shell: Viewer, line: str) -> None:
    await shell.sees("me> ")  # before, the system would read the ^V
    part = await shell.run(line)
    assert part.command_line.rstrip() == line.replace("\x16", "").rstrip()


async def test_a_command_of_several_lines_is_one(shell: Viewer) -> None:
    part = await shell.run("for i in 1 2; do\recho number $i\rdone")
    assert plain(part.output) == "number 1\nnumber 2\n"
    words = re.split(r"[;\s]+", part.command_line)
    assert words == ["for", "i", "in", "1", "2", "do", "echo", "number", "$i", "done"]


async def test_repeated_and_hidden_lines_are_told(shell: Viewer) -> None:
    lines = ["echo one", "echo one", " echo hidden", "echo one", "echo one", " echo one", "echo two"]
    told = [(await shell.run(line)).command_line.strip() for line in lines]
    assert told == [line.strip() for line in lines]


async def test_an_interrupted_command_has_ended(shell: Viewer) -> None:
    await shell.ready()
    shell.terminal.write("sh -c 'echo begun; exec sleep 60'\r")
    await shell.sees("begun\r\n")
    shell.terminal.write("\x03")
    await shell.until(lambda: shell.finished)
    assert shell.commands[-1].exit_code == 130


async def test_a_subshell_and_a_shell_inside_are_one_command(shell: Viewer) -> None:
    assert (await shell.run("(cd /; exit 3)")).exit_code == 3
    part = await shell.run("sh -c 'echo inside; exit 4'")
    assert (plain(part.output), part.exit_code) == ("inside\n", 4)
    await shell.ready()
    shell.terminal.write("bash --norc\r")
    await shell.sees("bash-")
    shell.terminal.write("echo deep; exit 6\r")
    await shell.until(lambda: len(shell.finished) == 3)
    assert shell.commands[-1].exit_code == 6
    assert "deep" in shell.commands[-1].output


async def test_the_directory_is_told(shell: Viewer, home: Path) -> None:
    await shell.ready()
    await shell.until(lambda: shell.live.head.cwd == home.as_uri())
    (home / "a;b c é").mkdir()
    await shell.run("cd 'a;b c é'")
    await shell.until(lambda: shell.live.head.cwd == (home / "a;b c é").as_uri())


ZSH_SETTINGS = {
    "errors that end functions": "setopt err_return no_unset",
    "as sh": "emulate sh",
}


@pytest.mark.parametrize("name", ZSH_SETTINGS)
async def test_a_persons_settings_of_zsh_disturb_nothing_and_stay(
    open_shell: OpenShell, home: Path, name: str
) -> None:
    hooks = "f() { echo one; }; g() { echo two; }; precmd_functions=(f g); alias ll='echo listed'"
    sign = "#" if os.geteuid() == 0 else "%"  # zsh shows it after a line without an end, or overwrites it
    shell = await open_shell("zsh", f"{ZSH_SETTINGS[name]}\n{hooks}\nPS1='me> '\nset -o > ~/before")
    await shell.sees("me> ")
    lines = {"echo hello": "hello\n", "printf abc": "abc", "ll": "listed\n", "set -o > ~/after": ""}
    for line, output in lines.items():
        seen = len(shell.text)
        assert plain((await shell.run(line)).output) == output
        await shell.until(lambda seen=seen: plain(shell.text[seen:]).endswith("me> "))
        after = plain(shell.text[seen:]).partition("\n")[2].split()
        assert after == (output + f"{sign} one two me>").split()
    options = [set((home / file).read_text().splitlines()) for file in ("before", "after")]
    changed = {line.split()[0] for line in options[0] ^ options[1]}
    assert changed <= {"shinstdin", "promptsp", "nopromptsp"}, "the others come back with the prompt"


@pytest.mark.parametrize("program", ["bash", "zsh"])
async def test_who_follows_what_a_shell_does_does_not_follow_us(open_shell: OpenShell, program: str) -> None:
    shell = await open_shell(program, "set -x")
    part = await shell.run("echo hello; false")
    assert part.exit_code == 1
    assert plain(part.output).splitlines()[-1] != "hello", "the commands are shown"
    await shell.ready()
    await shell.run("true")
    assert "633" not in shell.text
    assert "serai" not in shell.text


@pytest.mark.parametrize("zdotdir", [None, "given", "chosen"])
async def test_zsh_reads_the_persons_files_from_where_they_are(
    open_terminal: Open, home: Path, zdotdir: str | None
) -> None:
    place = home if zdotdir is None else home / "dot"
    place.mkdir(exist_ok=True)
    (place / ".zshenv").write_text("export FIRST=1\n")
    (place / ".zshrc").write_text("PS1='me> '; SECOND=2\n")
    extra = {}
    if zdotdir == "given":
        extra = {"ZDOTDIR": str(place)}
    elif zdotdir == "chosen":
        (home / ".zshenv").write_text(f"ZDOTDIR={place}; source {place}/.zshenv\n")
    shell = await open_terminal("zsh", environ={"PATH": os.environ["PATH"], "HOME": str(home), **extra})
    part = await shell.run("echo $FIRST$SECOND ${ZDOTDIR-none}")
    assert plain(part.output) == f"12 {'none' if zdotdir is None else place}\n"
