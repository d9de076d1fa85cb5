"""`serai changes`: what was discarded is listed, and comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from serai.changes.undo import DiscardStep, Trash
from serai.cli import main


def test_a_discard_is_listed_and_undone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    (work / "a.txt").write_text("mine\n")
    discard = Trash(home).new("s", str(work), "1 file", [DiscardStep("a.txt", was_there=True)])
    discard.take(0)
    discard.finish()
    assert main(["--home", str(home), "changes"]) == 0
    assert f"1 file  {work}" in capsys.readouterr().out
    assert main(["--home", str(home), "changes", "undo"]) == 0
    assert capsys.readouterr().out.startswith(f"Undone: 1 file in {work}.")
    assert (work / "a.txt").read_text() == "mine\n"
    assert main(["--home", str(home), "changes", "undo"]) == 1
    assert "discard_unknown" in capsys.readouterr().err
    assert main(["--home", str(home), "changes", "undo", "2"]) == 0, "an undo can be undone"
    assert not (work / "a.txt").exists()


def test_where_nothing_was_discarded_that_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--home", str(tmp_path), "changes", "list"]) == 0
    assert capsys.readouterr().out == "Nothing was discarded in the last week.\n"
