"""Which file a note saw."""

from __future__ import annotations

from pathlib import Path

from serai.changes.moved import BIRTH_IS_ITS_OWN
from serai.changes.sightings import Sighting, Sightings, sighted

SECOND = 1_000_000_000
OLD, NEW = 10 * SECOND + 1, 30 * SECOND + 1
NOTED = 20 * SECOND + 1


def file(number: int, made: int, written: int | None = None) -> Sighting:
    return Sighting(number, made if written is None else written, made)


def test_a_file_that_was_made_after_nothing_was_there_is_new() -> None:
    seen = Sightings()
    seen.note("a", NOTED, None, is_recorded=True)
    assert seen.doubt("a", file(1, NEW), is_new=True) is None


def test_a_file_that_was_made_or_written_before_nothing_was_there_was_moved() -> None:
    seen = Sightings()
    seen.note("a", NOTED, None, is_recorded=True)
    for moved in (file(1, OLD), file(1, NEW, OLD)):
        assert "moved here" in (seen.doubt("a", moved, is_new=True) or "")
    written_since = seen.doubt("a", file(1, OLD, NEW), is_new=True)
    assert (written_since is not None) is BIRTH_IS_ITS_OWN


def test_a_recorded_file_is_none_that_was_moved_there_whatever_its_times() -> None:
    seen = Sightings()
    seen.note("a", NOTED, file(1, OLD), is_recorded=True)
    assert seen.doubt("a", file(1, OLD), is_new=False) is None
    assert seen.names(file(1, OLD)) == {"a"}


def test_a_number_that_is_given_again_is_another_file() -> None:
    seen = Sightings()
    seen.note("a", NOTED, file(1, OLD), is_recorded=True)
    again = file(1, OLD + 5 * SECOND)
    assert seen.names(again) == frozenset()
    assert seen.doubt("a", again, is_new=False) is not None


def test_a_file_is_new_also_where_it_goes_from_there() -> None:
    seen = Sightings()
    seen.note("draft", NOTED, None, is_recorded=True)
    seen.note("draft", NEW, file(1, NEW), is_recorded=False)
    seen.note("final", NEW + SECOND, None, is_recorded=True)
    assert seen.doubt("final", file(1, NEW), is_new=True) is None


def test_what_came_in_the_place_of_a_moved_file_may_have_been_made_of_it() -> None:
    seen = Sightings()
    seen.note("a", NOTED, None, is_recorded=True)
    seen.note("a", NEW, file(1, OLD), is_recorded=False)
    seen.note("a", NEW + 5 * SECOND, file(2, NEW + SECOND), is_recorded=False)
    assert seen.doubt("a", file(2, NEW + SECOND), is_new=True) is not None
    seen.note("a", NEW + 6 * SECOND, None, is_recorded=False)
    assert seen.doubt("a", file(3, NEW + 7 * SECOND), is_new=True) is None


def test_without_a_time_only_new_files_are_doubted() -> None:
    seen = Sightings()
    seen.note("a", None, None, is_recorded=True)
    assert "not known" in (seen.doubt("a", file(1, OLD), is_new=True) or "")
    assert seen.doubt("a", file(1, OLD), is_new=False) is None


def test_a_file_keeps_what_it_is_known_by_when_it_is_renamed_and_written(tmp_path: Path) -> None:
    place = tmp_path / "a"
    place.write_bytes(b"x")
    before = sighted(bytes(place))
    moved = place.rename(tmp_path / "b")
    moved.write_bytes(b"more")
    after = sighted(bytes(moved))
    assert before is not None
    assert after is not None
    assert before.identity == after.identity
    assert sighted(bytes(place)) is None
