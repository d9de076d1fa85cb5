"""What a person does before prompts and commands, and their traps: all stay, and hide nothing from us."""

from __future__ import annotations

import re

import pytest

from machine.terminals.conftest import OpenShell
from machine.terminals.viewer import plain

HOOKS = {
    "bash, several": ("bash", "PROMPT_COMMAND=('echo \"mine $?\"' 'true')"),
    "bash, before a command": ("bash", "PS0='mine ${MINE}\\n'; PROMPT_COMMAND='MINE=$?'"),
    "zsh, a function": ("zsh", "precmd() { echo mine $? }"),
    "zsh, before a command": ("zsh", "preexec() { echo mine $MINE }; precmd() { MINE=$? }"),
}


@pytest.mark.parametrize("name", HOOKS)
async def test_what_the_person_does_around_commands_stays(open_shell: OpenShell, name: str) -> None:
    shell = await open_shell(*HOOKS[name])
    assert (await shell.run("(exit 3)")).exit_code == 3
    assert (await shell.run("(exit 4)")).exit_code == 4
    await shell.sees("mine 3")
    if "before" not in name:
        await shell.sees("mine 4")
    assert [part.command_line for part in shell.commands] == ["(exit 3)", "(exit 4)"]


PIPES = {
    "bash, several": ("bash", "PROMPT_COMMAND=(true mine)"),
    "zsh": ("zsh", "precmd_functions=(mine)"),
}


@pytest.mark.parametrize("name", PIPES)
async def test_a_prompt_sees_the_status_of_all_that_was_piped(open_shell: OpenShell, name: str) -> None:
    program, hook = PIPES[name]
    statuses = "${PIPESTATUS[*]}" if program == "bash" else "$pipestatus"
    mine = f'mine() {{ saw="$? of {statuses}"; PS1="[$saw] me> "; }}'
    shell = await open_shell(program, f"{mine}\n{hook}")
    for line, saw in {
        "false | true": "0 of 1 0",
        "(exit 3) | (exit 4)": "4 of 3 4",
        "(exit 5)": "5 of 5",
    }.items():
        assert (await shell.run(line)).exit_code == int(saw[0])
        await shell.sees(f"[{saw}] me> ")


LATER = {
    "nothing at all": ("unset PROMPT_COMMAND", ""),
    "one before": ('PROMPT_COMMAND="echo new; $PROMPT_COMMAND"', "new old"),
}


@pytest.mark.parametrize("name", LATER)
async def test_what_a_person_does_before_prompts_may_change_later(open_shell: OpenShell, name: str) -> None:
    change, said = LATER[name]
    shell = await open_shell("bash", "PROMPT_COMMAND='echo old'")
    await shell.sees("me> ")
    shell.terminal.write(f"{change}\r")
    await shell.until(lambda: shell.text.count("me> ") == 2)
    seen = len(shell.text)
    shell.terminal.write("echo hel''lo; (exit 3)\r")
    await shell.sees("me> ", after=seen)
    after = plain(shell.text[seen:]).partition("\n")[2].split()
    assert after == ["hello", *said.split(), "me>"]
    if name != "nothing at all":
        assert shell.commands[-1].command_line == "echo hel''lo; (exit 3)"
        assert shell.commands[-1].exit_code == 3


# -- traps ------------------------------------------------------------------------------------------------

TRAPS = {
    "bash, with several hooks": ("bash", "trap 'echo code $?' ERR; PROMPT_COMMAND=(true 'last=$?')"),
    "zsh": ("zsh", "trap 'echo code $?' ZERR"),
}


@pytest.mark.parametrize("name", TRAPS)
async def test_a_trap_for_what_fails_is_sprung_once(open_shell: OpenShell, name: str) -> None:
    shell = await open_shell(*TRAPS[name])
    assert (await shell.run("(exit 3)")).exit_code == 3
    assert plain((await shell.run("echo was $? ${last-3}")).output) == "was 3 3\n"
    await shell.ready()
    assert re.findall("code .", plain(shell.text)) == ["code 3"]


DEBUGGING = {
    "what is shown, also in functions": "trap 'echo \"+ $BASH_COMMAND\"' DEBUG; set -T",
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
