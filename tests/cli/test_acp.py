"""`serai acp capabilities`: what a recorded handshake means, as a tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from serai.cli import main
from serai.errors import Mismatch, ParseError

RESULT = {
    "protocolVersion": 1,
    "agentCapabilities": {"loadSession": True, "sessionCapabilities": {"fork": {}}},
}
RESPONSE = {"jsonrpc": "2.0", "id": 0, "result": RESULT}
EXPECTED = {
    "loadSession": True,
    "forkSession": True,
    "resumeSession": False,
    "closeSession": False,
    "listSessions": False,
    "additionalDirectories": False,
    "mcp": {"stdio": True, "http": False, "sse": False},
    "prompt": {"text": True, "image": False, "audio": False, "embeddedContext": False},
}


def run(path: Path, content: Any, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    code = main(["acp", "capabilities", str(path)])
    output = capsys.readouterr()
    return code, output.out, output.err


@pytest.mark.parametrize(
    "document",
    [
        RESULT,
        RESPONSE,
        {"agent": "x", "initialize": RESPONSE},
        {"agent": "x", "initialize": RESULT},
        RESULT["agentCapabilities"],
    ],
    ids=["result", "response", "recording", "recorded result", "capabilities"],
)
def test_the_answer_is_found_wherever_it_is(
    document: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(tmp_path / "a.json", document, capsys)
    assert (code, err) == (0, "")
    assert json.loads(out) == EXPECTED
    assert list(json.loads(out)) == list(EXPECTED)


@pytest.mark.parametrize("document", [{}, {"result": None}, {"result": {"agentCapabilities": None}}])
def test_an_agent_that_says_nothing_can_do_what_all_can(
    document: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = run(tmp_path / "a.json", document, capsys)
    assert json.loads(out) == {**EXPECTED, "loadSession": False, "forkSession": False}


@pytest.mark.parametrize(
    ("content", "error", "word"),
    [
        (b"not json", ParseError, "JSON"),
        (b"[" * 1000, ParseError, "nested"),
        (b"[]", Mismatch, "object"),
        ({"id": 0, "error": {"code": -32000, "message": "sign in"}}, Mismatch, "sign in"),
    ],
)
def test_what_is_no_answer_is_refused(
    content: Any, error: Any, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(tmp_path / "a.json", content, capsys)
    assert (code, out) == (1, "")
    assert word in err
    assert f"[{error.code}]" in err


def test_every_recorded_handshake_is_read(shared_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (shared_folder / "fixtures/acp-handshakes").glob("*.json"):
        assert main(["acp", "capabilities", str(path)]) == 0
        out = json.loads(capsys.readouterr().out)
        assert list(out) == list(EXPECTED)
        assert out["loadSession"] is True
