"""A change as AHP shows it."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, strategies as st

from serai.ahp import wire
from serai.ahp.reducers import reduce
from serai.ahp.types import ChangesetFile, ChangesetState, ChangesetStatus, FileEdit, FileEditDiff
from serai.changes.diff import LINK_MODE, Change, Side, left_out_note, printable
from serai.changes.view import actions_between, content_address, content_uri, file_id, path_below, show
from serai.uris import uri_of

OLD, NEW = "1" * 40, "2" * 40

names = st.binary(min_size=1).filter(lambda name: not {0, 0x2F} & set(name) and name not in {b".", b".."})
paths = st.lists(names, min_size=1, max_size=3).map(lambda parts: os.fsdecode(b"/".join(parts)))


@given(paths, paths)
def test_paths_of_any_bytes_come_back_and_can_be_written_as_json(one: str, other: str) -> None:
    assert path_below("/inn/dir", uri_of(f"/inn/dir/{one}")) == one
    address = content_address(content_uri("s/1", Side(one, NEW)))
    assert address is not None
    assert (address.session_id, address.blob, address.path) == ("s/1", NEW, one)
    assert (file_id(one) == file_id(other)) == (one == other)
    file = show(Change(Side(one, OLD), Side(other, NEW), 1, 2), "/inn/dir", "s1", live=True)
    assert wire.decode(wire.encode(file), ChangesetFile) == file
    printable(one).encode()


def test_a_modified_file() -> None:
    file = show(Change(Side("a b", OLD), Side("a b", NEW), 1, 2), "/inn", "s1", live=True)
    assert wire.to_json(file) == {
        "id": "a%20b",
        "edit": {
            "before": {"uri": "file:///inn/a%20b", "content": {"uri": f"serai-change:/s1/{OLD}/a%20b"}},
            "after": {"uri": "file:///inn/a%20b", "content": {"uri": "file:///inn/a%20b"}},
            "diff": {"added": 1, "removed": 2},
        },
        "_meta": {"serai.kind": "modified", "serai.version": NEW},
    }


@pytest.mark.parametrize(
    ("directory", "after"),
    [("/inn", Side("link", NEW, LINK_MODE)), ("/inn", Side("\udcff", NEW)), ("/w\udcff", Side("a", NEW))],
)
def test_what_a_file_uri_does_not_lead_to_is_kept_content(directory: str, after: Side) -> None:
    file = show(Change(Side(after.path, OLD, after.mode), after), directory, "s1", live=True)
    assert file.edit.after is not None
    assert file.edit.after.uri == uri_of(f"{directory}/{after.path}")
    assert file.edit.after.content.uri == content_uri("s1", after)


def test_renames_modes_binaries_and_conflicts_are_told() -> None:
    change = Change(Side("a", OLD), Side("b", NEW, 0o100755), binary=True, conflicted=True)
    file = show(change, "/inn", "s1", live=True)
    assert file.id == "b"
    assert file.edit.diff is None
    assert file.meta == {
        "serai.kind": "renamed",
        "serai.version": NEW,
        "serai.mode": ["100644", "100755"],
        "serai.binary": True,
        "serai.conflicted": True,
    }


@pytest.mark.parametrize(
    "uri",
    [
        "file:///inn",
        "file:///inn/",
        "file:///innshop/x",
        "file:///inn/../x",
        "file:///inn/a/../../x",
        "file:///inn/%2e%2e/x",
        "file:///inn/a%00b",
        "file://elsewhere/inn/x",
        "file:///inn/x?query",
        "http:///inn/x",
        "/inn/x",
    ],
)
def test_uris_that_name_no_file_in_the_directory(uri: str) -> None:
    assert path_below("/inn", uri) is None


def test_what_was_left_out_is_told_in_one_sentence() -> None:
    assert left_out_note([]) is None
    sentence = left_out_note([f"f{number}" for number in range(5)])
    assert sentence == "Left out, too large or unreadable: f0, f1, f2 and 2 more"


# -- from one list of files to another ---------------------------------------------------------------------


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
