"""The records of children."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from serai.machine.processes.census import Identity
from serai.machine.processes.records import Record, Records


def test_a_record_is_written_anew_and_taken_away(records: Path) -> None:
    kept = Records(records)
    assert kept.all() == {}
    kept.write("one", Record("a shell", Identity(1, "a")))
    kept.write("one", Record("a shell", Identity(1, "a"), Identity(2, "b")))
    kept.write("two", Record("an agent"))
    assert kept.all() == {
        "one": Record("a shell", Identity(1, "a"), Identity(2, "b")),
        "two": Record("an agent"),
    }
    kept.remove("one")
    kept.remove("one")
    assert list(kept.all()) == ["two"]


def test_records_are_for_their_owner_alone(records: Path) -> None:
    Records(records).write("one", Record("a shell"))
    assert stat.S_IMODE(records.stat().st_mode) == 0o700
    assert [stat.S_IMODE(file.stat().st_mode) for file in records.iterdir()] == [0o600]


def test_a_damaged_record_is_still_a_mark(records: Path) -> None:
    records.mkdir()
    (records / "one.json").write_text("{")
    (records / "other.txt").write_text("{")
    assert list(Records(records).all()) == ["one"]


def test_what_cannot_be_written_says_so(records: Path) -> None:
    records.write_text("a file in its place")
    with pytest.raises(OSError, match="exists"):
        Records(records).write("one", Record("a shell"))
