"""Changing a setting in its place."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from cli.programs import run
from serai.config.edit import with_setting
from serai.errors import ConfigInvalid

FILE = """\
# my host
port = 7777  # as always
allowed_hosts = [
  "one.example",  # first
]

[relay]
# who I am
me = "alice"
"""


def test_comments_and_all_else_stay() -> None:
    after = with_setting(FILE, "port", "7780")
    assert after == FILE.replace("7777", "7780")


def test_a_list_over_several_lines_is_replaced_as_a_whole() -> None:
    after = with_setting(FILE, "allowed_hosts", '["two.example"]')
    assert tomllib.loads(after)["allowed_hosts"] == ["two.example"]
    assert "# who I am" in after


def test_new_settings_come_to_their_table() -> None:
    after = with_setting(with_setting(with_setting(FILE, "host", '"::1"'), "relay.x", "1"), "chat.y", "2")
    told = tomllib.loads(after)
    assert (told["host"], told["relay"], told["chat"]) == ("::1", {"me": "alice", "x": 1}, {"y": 2})
    assert tomllib.loads(with_setting("", "port", "1")) == {"port": 1}
    assert tomllib.loads(with_setting("", "chat.y", "1")) == {"chat": {"y": 1}}


@pytest.mark.parametrize("text", ["a = [\n", 'relay.me = "x"\n', 'x = """\nport = 1\n"""\n[y]\n'])
def test_what_cannot_be_changed_safely_is_refused_or_right(text: str) -> None:
    try:
        after = with_setting(text, "relay.me", '"y"')
    except ConfigInvalid:
        return
    assert tomllib.loads(after)["relay"]["me"] == "y"


@given(st.text(alphabet="port=7# \n[]\"'x.", max_size=60))
def test_whatever_a_file_has_nothing_else_changes(text: str) -> None:
    try:
        before = tomllib.loads(text)
        after = with_setting(text, "port", "1")
    except (ConfigInvalid, tomllib.TOMLDecodeError):
        return
    assert tomllib.loads(after) == {**before, "port": 1}


async def test_the_command_sets_what_can_be_and_refuses_the_rest(tmp_path: Path) -> None:
    assert (await run("config", "path", home=tmp_path)).out == f"{tmp_path / 'serai.toml'}\n"
    for key, value in {
        "port": "7780",
        "allowed_hosts": "a.example, b.example",
        "default_agent": "demo",
    }.items():
        done = await run("config", "set", key, value, home=tmp_path)
        assert (done.code, done.err) == (0, "")
    file = tmp_path / "serai.toml"
    told = tomllib.loads(file.read_text())
    assert told == {"port": 7780, "allowed_hosts": ["a.example", "b.example"], "default_agent": "demo"}
    for key, value in {"port": "many", "nothing": "1", "require_token": "7"}.items():
        done = await run("config", "set", key, value, home=tmp_path)
        assert (done.code, "[config_invalid]" in done.err) == (1, True)
    assert tomllib.loads(file.read_text()) == told
