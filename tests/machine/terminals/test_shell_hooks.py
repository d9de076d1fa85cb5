"""What a person does before prompts and commands: it stays, whenever it came, and hides nothing from us."""

from __future__ import annotations

import pytest

from machine.terminals.conftest import OpenShell
from machine.terminals.viewer import plain

HOOKS = {
    "bash, one": ("bash", "PROMPT_COMMAND='echo \"mine $?\"'"),
    "bash, one with an end": ("bash", "PROMPT_COMMAND='echo \"mine $?\"; true;'"),
    "bash, several": ("bash", "PROMPT_COMMAND=('echo \"mine $?\"' 'true')"),
    "bash, before a command": ("bash", "PS0='mine ${MINE}\\n'; PROMPT_COMMAND='MINE=$?'"),
    "bash, a prompt made anew": ("bash", "PROMPT_COMMAND='PS1=\"mine $? > \"'"),
    "zsh, a function": ("zsh", "precmd() { echo mine $? }"),
    "zsh, several": ("zsh", "f() { echo mine $? }; precmd_functions=(f)"),
    "zsh, before a command": ("zsh", "preexec() { echo mine $MINE }; precmd() { MINE=$? }"),
    "zsh, with add-zsh-hook": (
        "zsh",
        "autoload -Uz add-zsh-hook; f() { echo mine $? }; add-zsh-hook precmd f",
    ),
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
    "bash, one with more lines": ("bash", "PROMPT_COMMAND=$'mine # first\\n\\ntrue;'"),
    "bash, several": ("bash", "PROMPT_COMMAND=(true mine)"),
    "bash, with a trap": ("bash", "PROMPT_COMMAND=mine; trap : DEBUG"),
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
    "none": ("PROMPT_COMMAND=", ""),
    "nothing at all": ("unset PROMPT_COMMAND", ""),
    "several instead": ("PROMPT_COMMAND=('echo new' 'echo newer')", "new newer"),
    "one before": ('PROMPT_COMMAND="echo new; $PROMPT_COMMAND"', "new old"),
    "one before, in braces": ("PROMPT_COMMAND=$'{\\necho new\\n}\\n'$PROMPT_COMMAND", "new old"),
    "one more before": ("PROMPT_COMMAND=('echo new' \"${PROMPT_COMMAND[@]}\")", "new old"),
    "one around": ('was=$PROMPT_COMMAND; f() { echo new; eval "$was"; }; PROMPT_COMMAND=f', "new old"),
    "one after": ('PROMPT_COMMAND="$PROMPT_COMMAND; echo new"', "old new"),
    "one more": ("PROMPT_COMMAND+=('echo new')", "old new"),
    "its own taken out": ('PROMPT_COMMAND="${PROMPT_COMMAND//echo old}"', ""),
}


@pytest.mark.parametrize("before", ["PROMPT_COMMAND='echo old'", "PROMPT_COMMAND=('echo old')"])
@pytest.mark.parametrize("name", LATER)
async def test_what_a_person_does_before_prompts_may_change_later(
    open_shell: OpenShell, name: str, before: str
) -> None:
    change, said = LATER[name]
    shell = await open_shell("bash", before)
    await shell.sees("me> ")
    shell.terminal.write(f"{change}\r")
    await shell.until(lambda: shell.text.count("me> ") == 2)
    seen = len(shell.text)
    shell.terminal.write("echo hel''lo; (exit 3)\r")
    await shell.sees("me> ", after=seen)
    after = plain(shell.text[seen:]).partition("\n")[2].split()
    assert after == ["hello", *said.split(), "me>"]
    if name not in ("nothing at all", "several instead"):
        assert shell.commands[-1].command_line == "echo hel''lo; (exit 3)"
        assert shell.commands[-1].exit_code == 3


FIRST = {
    "bash": ("bash", "", 'PROMPT_COMMAND="true; $PROMPT_COMMAND"'),
    "bash, with several hooks": (
        "bash",
        "PROMPT_COMMAND=('last=$?' true)",
        'PROMPT_COMMAND="true; $PROMPT_COMMAND"',
    ),
    "bash, with a prompt made anew and a trap": (
        "bash",
        "PROMPT_COMMAND='PS1=\"me> \"'; trap : DEBUG",
        'PROMPT_COMMAND="true; $PROMPT_COMMAND"',
    ),
    "bash, strict": ("bash", "set -u", 'PROMPT_COMMAND="true; $PROMPT_COMMAND"'),
    "bash, each time": ("bash", "", 'f() { PROMPT_COMMAND="f; ${PROMPT_COMMAND//f; }"; }; f'),
    "zsh": ("zsh", "", "f() { true }; precmd_functions=(f $precmd_functions)"),
    "zsh, a function": ("zsh", "", "precmd() { true }"),
    "zsh, a function that fails": ("zsh", "", "precmd() { return 7 }"),
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
