"""Files for their owner alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from serai.config.private import find_private, read_private, replace_private
from serai.errors import ConfigInvalid


def test_a_file_is_made_once(tmp_path: Path) -> None:
    file = tmp_path / "file"
    assert read_private(file, "file") is None
    assert find_private(file, b"first", "file") == b"first"
    assert find_private(file, b"second", "file") == b"first"
    assert read_private(file, "file") == b"first"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_file_is_replaced_and_keeps_others_out(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    file.chmod(0o644)
    before = os.umask(0)
    try:
        replace_private(file, b"new", "file")
    finally:
        os.umask(before)
    assert read_private(file, "file") == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_what_cannot_be_written_or_read_says_so(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere" / "file"
    with pytest.raises(ConfigInvalid, match="cannot be written"):
        find_private(nowhere, b"x", "file")
    with pytest.raises(ConfigInvalid, match="cannot be written"):
        replace_private(nowhere, b"x", "file")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigInvalid, match="cannot be read"):
        read_private(tmp_path / "folder", "file")
    with pytest.raises(ConfigInvalid, match="cannot be written"):
        replace_private(tmp_path / "folder", b"x", "file")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


def test_a_disk_that_is_full_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigInvalid, match="No space left"):
        replace_private(tmp_path / "file", b"x", "file")
    assert list(tmp_path.iterdir()) == []
