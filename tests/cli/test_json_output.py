from __future__ import annotations

import json

import pytest

from serai.ahp.types import SessionSummary
from serai.cli.console.output import json_text, print_json

SUMMARY = {
    "resource": "ahp-session:/s",
    "provider": "demo",
    "title": "\x9b31m ü 🙂 \x7f \x1b[0m",
    "status": 1,
    "createdAt": 1,
    "modifiedAt": 2,
}


def test_what_a_terminal_takes_for_commands_is_escaped() -> None:
    text = json_text(SUMMARY)
    assert text.isprintable()
    assert "ü 🙂" in text
    assert json.loads(text) == SUMMARY


def test_half_a_character_is_written_as_json_has_it() -> None:
    assert json_text({"path": "a\udcff"}) == '{"path":"a\\udcff"}'


def test_a_value_of_the_protocol_is_printed_with_its_names_there(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    summary = SessionSummary(
        resource="ahp-session:/s", provider="demo", title="ü", status=1, created_at=1, modified_at=2
    )
    print_json([summary])
    printed = capsysbinary.readouterr().out
    assert json.loads(printed.decode()) == [{**SUMMARY, "title": "ü"}]
    assert printed.count(b"\n") > 5
