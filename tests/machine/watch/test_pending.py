"""What several changes of one resource come to."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from serai.ahp.types import ResourceChange, ResourceChangeType
from serai.machine.watch import watch
from serai.machine.watch.watch import BATCH_LIMIT, Pending

ADDED, UPDATED, DELETED = ResourceChangeType.ADDED, ResourceChangeType.UPDATED, ResourceChangeType.DELETED


@given(st.booleans(), st.lists(st.booleans(), max_size=8))
def test_changes_of_one_resource_come_to_one(before: bool, steps: list[bool]) -> None:
    """Each step is what could happen: something that is there goes or is written, something else comes."""
    pending, there = Pending("root"), before
    for goes in steps:
        kind = ADDED if not there else DELETED if goes else UPDATED
        pending.add("a", kind)
        there = kind is not DELETED
    expected = {(False, False): [], (False, True): ["added"], (True, False): ["deleted"]}
    told = [change.type for change in pending.take()]
    assert told == expected.get((before, there), ["updated"] if steps else [])


def _below(path: str, paths: set[str]) -> set[str]:
    return {other for other in paths if other == path or other.startswith(f"{path}/")}


def _apply(pending: Pending, view: set[str]) -> None:
    """As someone does who is told: what is deleted goes with all that is in it."""
    while changes := pending.take():
        for change in changes:
            if change.type == DELETED:
                view -= _below(change.uri, view)
            else:
                view.add(change.uri)


_PATHS = [f"r/{path}" for path in ("a", "b", "a/a", "a/b", "b/a", "a/a/a", "a/a/b", "b/a/a")]


@given(
    st.sets(st.sampled_from(_PATHS)),
    st.lists(st.tuples(st.sampled_from(["make", "remove", "move", "take"]), st.sampled_from(_PATHS))),
)
def test_who_is_told_knows_what_is_there(before: set[str], steps: list[tuple[str, str]]) -> None:
    there = {path for path in before if all(path[:at] in before for at in (3, 5) if at < len(path))}
    view = set(there)
    pending = Pending("r")
    for step, path in steps:
        if step == "take":
            _apply(pending, view)
            assert view == there
        elif step == "make" and path not in there and (path.count("/") == 1 or path[:-2] in there):
            there.add(path)
            pending.add(path, ADDED)
        elif step == "remove" and path in there:
            for gone in sorted(_below(path, there), reverse=True):
                pending.add(gone, DELETED)
            there -= _below(path, there)
        elif step == "move" and path in there:
            pending.add(path, DELETED, whole=True)
            there -= _below(path, there)
    _apply(pending, view)
    assert view == there


def test_changes_are_taken_in_order_and_in_bounded_batches() -> None:
    pending = Pending("root")
    for number in range(BATCH_LIMIT + 1):
        pending.add(str(number), UPDATED)
    first = pending.take()
    assert [change.uri for change in first] == [str(number) for number in range(BATCH_LIMIT)]
    assert pending.take() == [ResourceChange(uri=str(BATCH_LIMIT), type=UPDATED)]
    assert not pending


def test_when_too_many_wait_the_root_is_told_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "PENDING_LIMIT", 10)
    pending = Pending("root")
    for number in range(11):
        pending.add(str(number), ADDED)
    assert pending.take() == [ResourceChange(uri="root", type=UPDATED)]
