"""Where a session works that `serai chat` begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from serai.cli import main
from serai.cli.chat import command as chat


@pytest.fixture(autouse=True)
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The folders that the host is told; it begins in a folder of the test's own."""
    found: list[object] = []

    def remember(options: object) -> int:
        found.append(getattr(options, "directory", ""))
        return 0

    monkeypatch.setattr(chat, "run_connected", remember)
    monkeypatch.setenv("SERAI_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return found


@pytest.mark.parametrize(
    ("words", "is_here"),
    [
        ((), True),
        (("--url", "http://127.0.0.1:1"), True),
        (("--url", "http://inn.example:7777"), False),
        (("--directory", "/"), False),
        (("abc",), False),
    ],
)
def test_the_folder_of_the_chat_is_meant_where_nothing_else_is_said(
    words: tuple[str, ...], is_here: bool, tmp_path: Path, seen: list[object]
) -> None:
    assert main(["chat", *words]) == 0
    assert (seen == [tmp_path]) is is_here
