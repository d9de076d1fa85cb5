"""Whether other files are ignored than before."""

from __future__ import annotations

import os
import time
from pathlib import Path

from serai.changes.ignoring import IgnoreLists


def now() -> int:
    return time.time_ns()


def later() -> int:
    """A time of which everything that there is was long ago."""
    return now() + 3600 * 10**9


def test_lists_on_the_way_to_a_file_are_watched_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    for folder in ("", "a", "a/b"):
        lists = IgnoreLists(str(tmp_path))
        lists.watch(["a/b/file"], later())
        assert not lists.have_changed()
        (tmp_path / "other/.gitignore").write_text("*\n")
        assert not lists.have_changed()
        (tmp_path / folder / ".gitignore").write_text("*\n")
        assert lists.have_changed()


def test_a_list_that_becomes_another_or_goes_away_has_changed(tmp_path: Path) -> None:
    file = tmp_path / ".gitignore"
    file.write_text("1\n")
    lists = IgnoreLists(str(tmp_path))
    lists.watch(["x"], later())
    found = file.stat()
    file.write_text("2\n")
    os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns - 1))
    assert lists.have_changed()
    lists.forget()
    assert not lists.have_changed()
    lists.watch(["x"], later())
    assert not lists.have_changed()
    file.unlink()
    assert lists.have_changed()


def test_a_list_that_changed_while_git_looked_counts_as_changed(tmp_path: Path) -> None:
    lists = IgnoreLists(str(tmp_path))
    looked_at = now()
    (tmp_path / ".gitignore").write_text("*\n")
    lists.watch(["x"], looked_at)
    assert lists.have_changed()
