"""The records of children."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from serai.machine.processes.census import ProcessIdentity
from serai.machine.processes.leftovers import ChildRecord, ChildRecords


def test_a_record_is_written_anew_and_taken_away(records: Path) -> None:
    kept = ChildRecords(records)
    assert kept.all() == {}
    kept.write("one", ChildRecord("a shell", ProcessIdentity(1, "a")))
    kept.write("one", ChildRecord("a shell", ProcessIdentity(1, "a"), ProcessIdentity(2, "b")))
    kept.write("two", ChildRecord("an agent"))
    assert kept.all() == {
        "one": ChildRecord("a shell", ProcessIdentity(1, "a"), ProcessIdentity(2, "b")),
        "two": ChildRecord("an agent"),
    }
    kept.remove("one")
    kept.remove("one")
    assert list(kept.all()) == ["two"]


def test_records_are_for_their_owner_alone(records: Path) -> None:
    ChildRecords(records).write("one", ChildRecord("a shell"))
    assert stat.S_IMODE(records.stat().st_mode) == 0o700
    assert [stat.S_IMODE(file.stat().st_mode) for file in records.iterdir()] == [0o600]


def test_a_damaged_record_is_still_a_mark(records: Path) -> None:
    records.mkdir()
    (records / "one.json").write_text("{")
    (records / "other.txt").write_text("{")
    assert list(ChildRecords(records).all()) == ["one"]


def test_what_cannot_be_written_says_so(records: Path) -> None:
    records.write_text("a file in its place")
    with pytest.raises(OSError, match="exists"):
        ChildRecords(records).write("one", ChildRecord("a shell"))
