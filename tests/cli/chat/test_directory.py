"""Where a session works that `serai chat` begins."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.programs import run, running
from cli.screens import parse
from serai.cli import main
from serai.cli.chat import command as chat


@pytest.fixture
def gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be in a folder that is no longer there."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()


async def test_a_new_session_works_where_the_person_is(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    (here / "note.txt").write_text("one room left\n")
    async with running("serve", "--port", "0", home=tmp_path / "home") as host:
        await host.says(r"http://127\.0\.0\.1:\d+/")
        done = await run("chat", "--once", "read note.txt", home=tmp_path / "home", cwd=here)
        assert done.code == 0, done
        assert "`note.txt` has 14 characters" in done.out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), True),
        (("--url", "http://127.0.0.1:1"), True),
        (("--url", "http://inn.example:7777"), False),
        (("--directory", "/"), False),
        (("abc",), False),
    ],
)
def test_the_folder_of_the_chat_is_meant_where_nothing_else_is_said(
    words: tuple[str, ...], expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def remember(_command: object, options: object) -> int:
        seen.append(getattr(options, "directory", None))
        return 0

    seen: list[object] = []
    monkeypatch.setattr(chat, "run_connected", remember)
    monkeypatch.setenv("SERAI_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    options = parse("chat", *words)
    assert options.run(options) == 0
    assert (seen == [tmp_path]) is expected


@pytest.mark.usefixtures("gone")
def test_a_folder_that_is_gone_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def remember(_command: object, options: object) -> int:
        seen.append(getattr(options, "directory", ""))
        return 0

    seen: list[object] = []
    monkeypatch.setattr(chat, "run_connected", remember)
    monkeypatch.setenv("SERAI_HOME", str(tmp_path))
    assert main(["chat"]) == 0
    assert seen == [None]


@pytest.mark.usefixtures("gone")
def test_a_folder_in_one_that_is_gone_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SERAI_HOME", str(tmp_path))
    assert main(["chat", "--directory", "x"]) == 1
    assert (
        capsys.readouterr().err == "serai: x cannot be followed: No such file or directory [config_invalid]\n"
    )


def test_a_folder_whose_name_is_too_long_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SERAI_HOME", str(tmp_path))
    with pytest.raises(SystemExit):
        main(["chat", "--directory", "/" + "n" * 300])
    assert "--directory: there is no folder /nnn" in capsys.readouterr().err
