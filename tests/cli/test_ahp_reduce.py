"""`serai ahp reduce`: actions applied to a state, as a tool."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from serai.cli import main

SESSION: dict[str, Any] = {
    "summary": {
        "resource": "ahp-session:/1",
        "provider": "demo",
        "title": "A",
        "status": 1,
        "createdAt": 1,
        "modifiedAt": 1,
    },
    "lifecycle": "ready",
    "turns": [],
}
STARTED = {"type": "session/turnStarted", "turnId": "t1", "userMessage": {"text": "Hi"}}
CASE: dict[str, Any] = {"reducer": "session", "initial": SESSION, "actions": [STARTED], "now": 9999}


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    """Put the data on standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.fixture
def reduce(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs the command on a file with that content, and gives what it printed."""

    def run(content: Any) -> tuple[int, str, str]:
        path = tmp_path / "case.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        code = main(["ahp", "reduce", str(path)])
        output = capsys.readouterr()
        return code, output.out, output.err

    return run


def test_a_case_from_a_file_is_folded_and_printed(reduce: Any) -> None:
    code, out, err = reduce(CASE)
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        **SESSION,
        "summary": {**SESSION["summary"], "status": 8, "modifiedAt": 9999},
        "activeTurn": {"id": "t1", "userMessage": {"text": "Hi"}, "responseParts": []},
    }


@pytest.mark.parametrize("words", [["ahp", "reduce"], ["ahp", "reduce", "-"]])
def test_a_case_from_standard_input_gives_the_same(
    words: list[str], reduce: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, expected, _ = reduce(CASE)
    feed(monkeypatch, json.dumps(CASE).encode())
    assert main(words) == 0
    assert capsys.readouterr().out == expected


def test_without_a_time_it_is_now(reduce: Any) -> None:
    before = time.time() * 1000
    _, out, _ = reduce({name: value for name, value in CASE.items() if name != "now"})
    modified = json.loads(out)["summary"]["modifiedAt"]
    assert isinstance(modified, int)
    assert before - 1 <= modified <= time.time() * 1000 + 1


def test_what_it_does_not_know_is_kept_and_text_is_not_escaped(reduce: Any) -> None:
    initial = {**SESSION, "later": {"deep": [None, "ü🙂"]}, "_meta": {"git": None}}
    actions = [{"type": "session/later", "x": 1}, {**STARTED, "later": 1}]
    _, out, _ = reduce({**CASE, "initial": initial, "actions": actions, "comment": "passed over"})
    after = json.loads(out)
    assert after["later"] == {"deep": [None, "ü🙂"]}
    assert after["_meta"] == {"git": None}
    assert after["activeTurn"]["id"] == "t1"
    assert "ü🙂" in out


# --- errors: one line that says where and why, with the code


def with_actions(*actions: Any) -> dict[str, Any]:
    return {**CASE, "actions": list(actions)}


@pytest.mark.parametrize(
    ("content", "place", "code"),
    [
        (b"", "JSON", "parse_error"),
        (b"\xff", "JSON", "parse_error"),
        (b"[" * 10_000 + b"]" * 10_000, "nested", "parse_error"),
        ([], "object", "mismatch"),
        ({**CASE, "reducer": "chat"}, "reducer: ", "mismatch"),
        ({**CASE, "actions": {}}, "actions: ", "mismatch"),
        ({**CASE, "initial": {**SESSION, "turns": 1}}, "initial.turns: ", "mismatch"),
        (with_actions({**STARTED, "userMessage": {"text": 1}}), "actions[0].userMessage.text: ", "mismatch"),
        (
            with_actions(STARTED, STARTED, STARTED, {"type": "session/turnComplete"}),
            "actions[3].turnId: is required",
            "mismatch",
        ),
    ],
)
def test_what_cannot_be_read_is_told_in_one_line_with_its_place_and_code(
    content: Any, place: str, code: str, reduce: Any
) -> None:
    exit_code, out, err = reduce(content)
    assert (exit_code, out) == (1, "")
    assert err.startswith("serai: ")
    assert place in err
    assert err.endswith(f" [{code}]\n")
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["missing.json", "."])
def test_a_file_that_cannot_be_read_is_named(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / name)
    assert main(["ahp", "reduce", path]) == 1
    output = capsys.readouterr()
    assert not output.out
    assert path in output.err
    assert output.err.endswith(" [file_unreadable]\n")
    assert output.err.count("\n") == 1


# --- as a process


def start(*words: str, data: bytes = b"", **options: str) -> subprocess.CompletedProcess[bytes]:
    command = [str(Path(sys.executable).with_name("serai")), *words]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        command, check=False, capture_output=True, input=data, env={**environment, **options}
    )


def test_as_a_process_it_reads_and_writes_utf8_whatever_the_terminal_speaks() -> None:
    case = {**CASE, "initial": {**SESSION, "later": "ü🙂"}}
    data = json.dumps(case, ensure_ascii=False).encode()
    done = start("ahp", "reduce", data=data, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["later"] == "ü🙂"
    assert "ü🙂".encode() in done.stdout
