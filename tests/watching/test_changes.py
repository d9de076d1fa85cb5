"""What several changes of one resource come to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serai.ahp.types import ResourceChange, ResourceChangeType
from serai.watching.changes import BATCH_LIMIT, PENDING_LIMIT, Pending

ADDED, UPDATED, DELETED = ResourceChangeType.ADDED, ResourceChangeType.UPDATED, ResourceChangeType.DELETED


def together(*kinds: ResourceChangeType) -> list[str]:
    pending = Pending("root")
    for kind in kinds:
        pending.add("a", kind)
    return [change.type for change in pending.take()]


@pytest.mark.parametrize(
    ("kinds", "outcome"),
    [
        ([ADDED, UPDATED, UPDATED], [ADDED]),
        ([ADDED, DELETED], []),
        ([ADDED, DELETED, ADDED], [ADDED]),
        ([UPDATED, DELETED], [DELETED]),
        ([DELETED, ADDED], [UPDATED]),
        ([DELETED, ADDED, DELETED], [DELETED]),
        ([UPDATED, ADDED], [UPDATED]),
    ],
)
def test_changes_of_one_resource_come_to_one(
    kinds: list[ResourceChangeType], outcome: list[ResourceChangeType]
) -> None:
    assert together(*kinds) == outcome


@given(st.booleans(), st.lists(st.booleans(), max_size=8))
def test_what_is_told_leads_from_what_was_there_to_what_is_there(before: bool, steps: list[bool]) -> None:
    """Each step is what could happen: something that is there goes or is written, something else comes."""
    there = before
    kinds: list[ResourceChangeType] = []
    for goes in steps:
        kinds.append(ADDED if not there else DELETED if goes else UPDATED)
        there = kinds[-1] is not DELETED
    told = together(*kinds)
    expected = {
        (False, False): [[]],
        (False, True): [["added"]],
        (True, False): [["deleted"]],
        (True, True): [["updated"]] if kinds else [[]],
    }
    assert told in expected[before, there]


def test_changes_are_taken_in_order_and_in_bounded_batches() -> None:
    pending = Pending("root")
    for number in range(BATCH_LIMIT + 1):
        pending.add(str(number), UPDATED)
    first = pending.take()
    assert [change.uri for change in first] == [str(number) for number in range(BATCH_LIMIT)]
    assert pending.take() == [ResourceChange(uri=str(BATCH_LIMIT), type=UPDATED)]
    assert not pending


def test_when_too_many_wait_the_root_is_told_instead() -> None:
    pending = Pending("root")
    for number in range(PENDING_LIMIT + 1):
        pending.add(str(number), ADDED)
    assert pending.take() == [ResourceChange(uri="root", type=UPDATED)]
