"""`--home`: before the command and after it, for every command, and for the clients too."""

from __future__ import annotations

from pathlib import Path

import pytest

from serai.cli import main, read_words
from serai.client.address import find_address

COMMANDS = [
    ["serve"],
    ["chat"],
    ["sessions"],
    ["sessions", "list"],
    ["sessions", "show", "x"],
    ["sessions", "purge", "x"],
    ["terminals"],
    ["terminals", "open"],
    ["terminals", "attach", "x"],
    ["doctor"],
    ["backup", "x"],
    ["restore", "x"],
    ["config", "show"],
    ["config", "trust", "x"],
    ["ahp", "reduce"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_it_may_stand_anywhere(words: list[str]) -> None:
    for place in range(len(words) + 1):
        if place and words[place - 1] == "x":
            continue
        for flag in (["--home", "there"], ["--home=there"]):
            assert read_words([*words[:place], *flag, *words[place:]]).home == "there"
    assert read_words(words).home is None


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_traceback_may_be_asked_for_anywhere(words: list[str]) -> None:
    assert read_words(["--debug", *words]).debug
    assert read_words([*words, "--debug"]).debug
    assert not read_words(words).debug


def test_a_client_goes_to_the_host_of_that_home_with_its_token(tmp_path: Path) -> None:
    (tmp_path / "history.db.lock").write_text('{"pid": 1, "since": "", "address": "127.0.0.1:7791"}')
    (tmp_path / "token").write_text("of this home\n")
    environ = {"SERAI_URL": "http://there:1", "SERAI_TOKEN": "of that host", "SERAI_HOME": "/nowhere"}
    found = find_address(None, None, environ, home=tmp_path)
    assert found == ("ws://127.0.0.1:7791/", "of this home")
    assert find_address(None, "given", environ, home=tmp_path).token == "given"
    assert find_address("http://else:2", None, environ, home=tmp_path) == ("ws://else:2/", "of that host")


@pytest.mark.parametrize("command", [["chat", "--once", "hello"], ["sessions"], ["terminals"]])
def test_no_host_on_that_home_is_said_with_its_address(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    (tmp_path / "history.db.lock").write_text('{"pid": 1, "since": "", "address": "127.0.0.1:1"}')
    assert main([*command, "--home", str(tmp_path)]) == 1
    assert "no host answers at ws://127.0.0.1:1/" in capsys.readouterr().err
