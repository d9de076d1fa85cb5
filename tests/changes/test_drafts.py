"""What is in a folder for a moment only is no change."""

from __future__ import annotations

from pathlib import Path

import pytest

from changes.repositories import Repo, brief, tracked
from changes.test_guarding import discarded
from changes.test_operations import TURN
from serai.changes.catalogue import SESSION, UNCOMMITTED
from serai.changes.drafts import is_draft, name_of_nobody


@pytest.mark.parametrize("end", ["", ".tmp"])
async def test_a_draft_of_another_host_is_in_no_changeset_and_does_not_come_back(
    repo: Repo, private: Path, end: str
) -> None:
    repo.write(".gitignore", "!.serai-*\nbuild/\n")
    repo.commit()
    drafts = [
        repo.write(f"{folder}{name_of_nobody()}{end}", "half")
        for folder in ("", "src/", "new/", "build/", "build/deep/")
    ]
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    await changes.begin_turn("t")
    for draft in drafts[:-1]:
        draft.unlink()
    drafts.append(repo.write(f"src/{name_of_nobody()}{end}", "half"))
    repo.write("new/x", "x\n")
    await changes.end_turn("t")
    for which in (UNCOMMITTED, SESSION, TURN):
        assert brief((await changes.compute(which)).changes) == ["added new/x +1 -0"]
    await discarded(changes, TURN)
    assert [draft.exists() for draft in drafts] == [False] * 4 + [True, True]


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        (b".serai-0123456789abcdef", True),
        (b".serai-0123456789abcdef.tmp", True),
        (b".serai-0123456789abcde", False),
        (b".serai-0123456789abcdef.txt", False),
        (b"x.serai-0123456789abcdef", False),
        (b".serai-0123456789ABCDEF", False),
    ],
)
def test_only_names_that_nobody_gives_are_those_of_drafts(name: bytes, is_one: bool) -> None:
    assert is_draft(name) is is_one
    assert is_draft(name_of_nobody().encode())
