"""The terminal: what it shows, who holds it, and the commands in it."""

from __future__ import annotations

from typing import Any

import pytest

from ahp.reducers.cases import Case, Json, case, changed, check, params
from serai.ahp.types import TerminalState

CLIENT: Json = {"kind": "client", "clientId": "c1"}
SESSION: Json = {"kind": "session", "session": "ahp-session:/s1", "turnId": "t1", "toolCallId": "c1"}
STRANGER: Json = {"kind": "nobody", "since": None}


def terminal(*content: Json, **fields: Any) -> Json:
    return changed({"title": "sh", "content": list(content), "claim": CLIENT}, **fields)


def text(value: str) -> Json:
    return {"type": "unclassified", "value": value}


def command(command_id: str, output: str = "", *, done: bool = False, **fields: Any) -> Json:
    line = {"commandId": command_id, "commandLine": "ls", "output": output, "timestamp": 5.5}
    return {"type": "command", **line, "isComplete": done, **fields}


def act(name: str, **fields: Any) -> Json:
    return {"type": f"terminal/{name}", **fields}


def data(written: str) -> Json:
    return act("data", data=written)


def executed(command_id: str) -> Json:
    return act("commandExecuted", commandId=command_id, commandLine="ls", timestamp=5.5)


def finished(command_id: str, **fields: Any) -> Json:
    return act("commandFinished", commandId=command_id, **fields)


CONTENT = [
    case("output on an empty terminal begins a part", terminal(), data("a"), terminal(text("a"))),
    case(
        "output goes on in the last part",
        terminal(text("old"), command("k0", done=True), text("a")),
        [data("b"), data("ä🙂"), data("")],
        terminal(text("old"), command("k0", done=True), text("abä🙂")),
    ),
    case(
        "output goes to the command that is running",
        terminal(text("$ "), command("k1", "a")),
        [data("b"), data("c")],
        terminal(text("$ "), command("k1", "abc")),
    ),
    case("what is typed changes nothing", terminal(text("a")), act("input", data="ls\n")),
    case(
        "a terminal is cleared",
        terminal(text("a"), command("k1"), exitCode=3),
        act("cleared"),
        terminal(exitCode=3),
    ),
]

COMMANDS = [
    case(
        "a command that begins is a part without output, and commands are known to be detected",
        terminal(text("$ ")),
        executed("k1"),
        terminal(text("$ "), command("k1"), supportsCommandDetection=True),
    ),
    case(
        "a command that begins ends the growth of the part before it",
        terminal(text("$")),
        [data(" "), executed("k1"), data("out")],
        terminal(text("$ "), command("k1", "out"), supportsCommandDetection=True),
    ),
    case(
        "a command that ends has its code and its time, and all of its output",
        terminal(command("k1")),
        [data("out"), finished("k1", exitCode=0, durationMs=1.5), data("$ ")],
        terminal(command("k1", "out", done=True, exitCode=0, durationMs=1.5), text("$ ")),
    ),
    case(
        "every part of a command ends with it, wherever it is",
        terminal(command("k1", "a"), text("b"), command("k1", "c"), command("k2", "d")),
        [finished("k1", exitCode=2), data("e")],
        terminal(
            command("k1", "a", done=True, exitCode=2),
            text("b"),
            command("k1", "c", done=True, exitCode=2),
            command("k2", "de"),
        ),
    ),
    case(
        "commands can be detected from now on",
        terminal(supportsCommandDetection=False),
        act("commandDetectionAvailable"),
        terminal(supportsCommandDetection=True),
    ),
]

FIELDS = [
    case(
        "the size is set", terminal(cols=80), act("resized", cols=120, rows=40), terminal(cols=120, rows=40)
    ),
    *(
        case(
            f"the claim is set: {claim['kind']}",
            terminal(),
            act("claimed", claim=claim),
            terminal(claim=claim),
        )
        for claim in (CLIENT, SESSION, STRANGER, {"kind": "client", "clientId": "c2"})
    ),
    case("the title is set", terminal(), act("titleChanged", title="vim"), terminal(title="vim")),
    case("the folder is set", terminal(), act("cwdChanged", cwd="file:///tmp"), terminal(cwd="file:///tmp")),
    case("the code of the end is set", terminal(), act("exited", exitCode=0), terminal(exitCode=0)),
    case("an unknown action changes nothing", terminal(text("a")), act("later", data="x")),
]

CASES: list[Case] = [*CONTENT, *COMMANDS, *FIELDS]


@pytest.mark.parametrize("each", params(CASES))
def test_terminal(each: Case) -> None:
    check(each, TerminalState)
