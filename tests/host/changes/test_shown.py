"""Which folder was shown last, also after a restart."""

from __future__ import annotations

from pathlib import Path

from serai.host.changes.shown import Shown


def test_where_nothing_was_shown_no_folder_is_another_one(tmp_path: Path) -> None:
    assert not Shown(tmp_path / "none/shown").is_another("here")


def test_what_was_shown_is_known_after_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "private/shown"
    for where in ("there", "here"):
        Shown(file).note(where)
    for shown in (Shown(file), Shown(file)):
        assert shown.is_another("there")
        assert not shown.is_another("here")


def test_where_it_cannot_be_written_it_is_known_for_a_while(tmp_path: Path) -> None:
    (tmp_path / "private").write_text("in the way")
    shown = Shown(tmp_path / "private/shown")
    shown.note("here")
    assert shown.is_another("there")
