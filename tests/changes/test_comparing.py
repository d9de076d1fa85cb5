"""From one list of files to another."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from serai.ahp.actions import ChangesetClearedAction, ChangesetFileRemovedAction, ChangesetFileSetAction
from serai.ahp.reducers import reduce
from serai.ahp.types import ChangesetFile, ChangesetState, ChangesetStatus, FileEdit, FileEditDiff
from serai.changes.comparing import Counts, actions_between, count


def file(name: str, added: int | None = 0) -> ChangesetFile:
    diff = FileEditDiff(added=added, removed=1) if added is not None else None
    return ChangesetFile(id=name, edit=FileEdit(diff=diff))


lists = st.lists(st.builds(file, st.sampled_from("abcdef"), st.integers(0, 2)), unique_by=lambda one: one.id)


@given(lists, lists)
def test_the_actions_bring_one_list_to_the_other(
    before: list[ChangesetFile], after: list[ChangesetFile]
) -> None:
    state = ChangesetState(status=ChangesetStatus.READY, files=before)
    actions = actions_between(before, after)
    for action in actions:
        state = reduce(state, action, 0)
    assert {one.id: one for one in state.files} == {one.id: one for one in after}
    assert len(state.files) == len(after)
    kept = [one for one in after if one in before]
    one_by_one = (
        (len(before) - len({one.id for one in before} & {one.id for one in after})) + len(after) - len(kept)
    )
    assert len(actions) == min(one_by_one, 1 + len(after) if before else one_by_one)


def test_nothing_to_do() -> None:
    assert actions_between([file("a")], [file("a")]) == []
    assert actions_between([], []) == []


def test_one_file_more_less_or_other() -> None:
    a, b = file("a"), file("b")
    assert actions_between([a], [a, b]) == [ChangesetFileSetAction(file=b)]
    assert actions_between([a, b], [a]) == [ChangesetFileRemovedAction(file_id="b")]
    assert actions_between([a, b], [a, file("b", 5)]) == [ChangesetFileSetAction(file=file("b", 5))]


def test_all_gone_is_one_action() -> None:
    assert actions_between([file("a"), file("b")], []) == [ChangesetClearedAction()]


def test_counts() -> None:
    assert count([]) == Counts(0, 0, 0)
    assert count([file("a", 3), file("b", None), file("c", 1)]) == Counts(files=3, additions=4, deletions=2)
