"""What a person does before prompts and commands, and their traps: all stay, and hide nothing from us."""

from __future__ import annotations

import re

import pytest

from machine.terminals.conftest import OpenShell
from machine.terminals.viewer import plain

HOOKS = {
    "bash, one": ("bash", "PROMPT_COMMAND='echo \"mine $?\"'"),
    "bash, several": ("bash", "PROMPT_COMMAND=('echo \"mine $?\"' 'true')"),
    "bash, before a command": ("bash", "PS0='mine ${MINE}\\n'; PROMPT_COMMAND='MINE=$?'"),
    "bash, a prompt made anew": ("bash", "PROMPT_COMMAND='PS1=\"mine $? > \"'"),
    "zsh, a function": ("zsh", "precmd() { echo mine $? }"),
    "zsh, several": ("zsh", "f() { echo mine $? }; precmd_functions=(f)"),
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
    "bash, one": ("bash", "PROMPT_COMMAND=mine"),
    "bash, several": ("bash", "PROMPT_COMMAND=(true mine)"),
    "bash, with one in functions too": ("bash", "PROMPT_COMMAND=mine; trap 'echo trap >&2' DEBUG; set -T"),
    "bash, strict": ("bash", "PROMPT_COMMAND=mine; set -u"),
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
    "one instead": ("PROMPT_COMMAND='echo new'", "new"),
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


FIRST = {
    "bash": ("bash", "", 'PROMPT_COMMAND="true; $PROMPT_COMMAND"'),
    "bash, with a prompt made anew and a trap": (
        "bash",
        "PROMPT_COMMAND='PS1=\"me> \"'; trap : DEBUG",
        'PROMPT_COMMAND="true; $PROMPT_COMMAND"',
    ),
    "bash, strict": ("bash", "set -u", 'PROMPT_COMMAND="true; $PROMPT_COMMAND"'),
    "zsh": ("zsh", "", "f() { true }; precmd_functions=(f $precmd_functions)"),
    "zsh, a function": ("zsh", "", "precmd() { true }"),
}


@pytest.mark.parametrize("name", FIRST)
async def test_what_comes_before_us_later_does_not_hide_how_a_command_ended(
    open_shell: OpenShell, name: str
) -> None:
    program, setting, change = FIRST[name]
    shell = await open_shell(program, setting)
    assert (await shell.run(change)).exit_code == 0
    for line, code in {"(exit 3)": 3, "false | true": 0, "true | false": 1}.items():
        assert (await shell.run(line)).exit_code == code
        await shell.ready()
    assert [part.exit_code for part in shell.commands] == [0, 3, 0, 1]
    assert "633" not in shell.text


# -- traps ------------------------------------------------------------------------------------------------

TRAPS = {
    "bash": ("bash", "trap 'echo code $?' ERR"),
    "bash, also in functions": ("bash", "code() { echo code $?; }; trap code ERR; set -E"),
    "bash, with several hooks": ("bash", "trap 'echo code $?' ERR; PROMPT_COMMAND=(true 'last=$?')"),
    "zsh": ("zsh", "trap 'echo code $?' ZERR"),
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


LATE = 'TRAPDEBUG() { print -r -- "+ $ZSH_DEBUG_CMD" }'


async def test_a_trap_before_each_command_that_zsh_gets_later_is_soon_not_sprung_by_us(
    open_shell: OpenShell,
) -> None:
    shell = await open_shell("zsh", "f() { }; g() { }; precmd_functions=(f g)")
    part = await shell.run(LATE)
    assert part.exit_code == 0
    await shell.until(lambda: shell.text.count("me> ") == 2)
    seen = len(shell.text)
    shell.terminal.write("echo hel''lo ${(j:,:)${precmd_functions[@]}} ${#preexec_functions[@]}\r")
    await shell.until(lambda: shell.text.count("me> ") == 3)
    after = plain(shell.text[seen:])
    assert "hello f,g 0\n" in after
    assert "serai" not in after
    assert len(shell.commands) == 1
