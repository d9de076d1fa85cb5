"""Traps that a person has in a shell: what the shell integration does springs none of them."""

from __future__ import annotations

import re

import pytest

from machine.terminals.conftest import OpenShell
from machine.terminals.viewer import plain

TRAPS = {
    "bash": ("bash", "trap 'echo code $?' ERR"),
    "bash, also in functions": ("bash", "code() { echo code $?; }; trap code ERR; set -E"),
    "bash, with a hook": ("bash", "trap 'echo code $?' ERR; PROMPT_COMMAND='last=$?'"),
    "bash, with several hooks": ("bash", "trap 'echo code $?' ERR; PROMPT_COMMAND=(true 'last=$?')"),
    "zsh": ("zsh", "trap 'echo code $?' ZERR"),
    "zsh, with a hook": ("zsh", "trap 'echo code $?' ZERR; f() { last=$?; }; precmd_functions=(f)"),
    "zsh, a function": ("zsh", "TRAPZERR() { echo code $?; }"),
}


@pytest.mark.parametrize("name", TRAPS)
async def test_a_trap_for_what_fails_is_sprung_once(open_shell: OpenShell, name: str) -> None:
    shell = await open_shell(*TRAPS[name])
    assert (await shell.run("(exit 3)")).exit_code == 3
    assert plain((await shell.run("echo was $? ${last-3}")).output) == "was 3 3\n"
    await shell.ready()
    assert re.findall("code .", plain(shell.text)) == ["code 3"]


DEBUGGING = {
    "what is shown": "trap 'echo \"+ $BASH_COMMAND\"' DEBUG",
    "what is shown, also in functions": "trap 'echo \"+ $BASH_COMMAND\"' DEBUG; set -T",
    "what is shown, with a hook": "trap 'echo \"+ $BASH_COMMAND\"' DEBUG; PROMPT_COMMAND=('x=1')",
    "what is shown, with a new prompt": (
        "trap 'echo \"+ $BASH_COMMAND\"' DEBUG; PROMPT_COMMAND='PS1=\"me> \"'"
    ),
    "what is set later": 'PROMPT_COMMAND=\'trap "echo \\"+ \\$BASH_COMMAND\\"" DEBUG\'',
}


@pytest.mark.parametrize("name", DEBUGGING)
async def test_a_trap_before_each_command_is_not_sprung_by_us(open_shell: OpenShell, name: str) -> None:
    shell = await open_shell("bash", DEBUGGING[name])
    for line in ("echo one", "echo one", "echo two"):
        part = await shell.run(line)
        assert (part.command_line, plain(part.output)) == (line, f"+ {line}\n{line[5:]}\n")
    assert (await shell.run("(exit 3)")).exit_code == 3
    assert plain((await shell.run("echo $?")).output).endswith("\n3\n")
    await shell.ready()
    await shell.until(lambda: plain(shell.text).endswith("me> "))
    assert "serai" not in shell.text


async def test_what_a_person_measures_before_each_command_is_the_persons_own(open_shell: OpenShell) -> None:
    hooks = "trap 'first=${first:-$BASH_COMMAND}' DEBUG; PROMPT_COMMAND='last=$first; unset first'"
    shell = await open_shell("bash", f"PS1='[$last] me> '\n{hooks}")
    await shell.sees("me> ")
    for line in ("true", "false"):
        await shell.run(line)
        await shell.sees(f"[{line}] me> ")


async def test_a_title_that_a_person_sets_before_each_command_stays(open_shell: OpenShell) -> None:
    shell = await open_shell("bash", 'trap \'printf "\\033]0;%s\\007" "$BASH_COMMAND"\' DEBUG')
    await shell.run("echo hello")
    await shell.ready()
    await shell.until(lambda: shell.text.endswith("me> "))
    assert shell.live.head.title == "echo hello"
    assert "serai" not in shell.text


async def test_a_trap_for_what_returns_says_nothing_of_us(open_shell: OpenShell) -> None:
    shell = await open_shell("bash", "trap 'echo back' RETURN; set -T")
    await shell.sees("me> ")
    seen = shell.text.count("back")
    assert plain((await shell.run("echo hello")).output) == "hello\n"
    await shell.ready()
    await shell.run("true")
    assert shell.text.count("back") == seen


NO_DEBUGGING = {
    "a function": "TRAPUSR1() { DEBUG=1 }",
    "a text": "trap 'echo DEBUG' USR1",
    "a text of two lines": "trap $'echo \\'x\\' DEBUG\\ntrue' USR1",
}


@pytest.mark.parametrize("name", NO_DEBUGGING)
async def test_a_trap_of_zsh_that_only_speaks_of_debugging_is_like_any_other(
    open_shell: OpenShell, name: str
) -> None:
    shell = await open_shell("zsh", NO_DEBUGGING[name])
    assert (await shell.run("(exit 3)")).exit_code == 3


LATE = {
    "a function": 'TRAPDEBUG() { print -r -- "+ $ZSH_DEBUG_CMD" }',
    "a text": "trap 'print -r -- \"+ $ZSH_DEBUG_CMD\"' DEBUG",
    "after each command": "setopt no_debug_before_cmd; trap 'echo + it' DEBUG",
    "with arrays like those of ksh": "setopt ksh_arrays; trap 'print -r -- \"+ $ZSH_DEBUG_CMD\"' DEBUG",
}


@pytest.mark.parametrize("name", LATE)
async def test_a_trap_before_each_command_that_zsh_gets_later_is_soon_not_sprung_by_us(
    open_shell: OpenShell, name: str
) -> None:
    shell = await open_shell("zsh", "f() { }; g() { }; precmd_functions=(f g)")
    part = await shell.run(LATE[name])
    assert part.exit_code == 0
    await shell.until(lambda: shell.text.count("me> ") == 2)
    seen = len(shell.text)
    shell.terminal.write("echo hel''lo ${(j:,:)${precmd_functions[@]}} ${#preexec_functions[@]}\r")
    await shell.until(lambda: shell.text.count("me> ") == 3)
    after = plain(shell.text[seen:])
    assert "hello f,g 0\n" in after
    assert "serai" not in after
    assert len(shell.commands) == 1
