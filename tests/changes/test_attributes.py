"""Content comes back in the form that it had, whatever becomes of the lists that say which."""

from __future__ import annotations

from pathlib import Path

import pytest

from changes.repositories import Repo, tracked
from changes.test_operations import TURN, at
from serai.changes.catalogue import SESSION, UNCOMMITTED, Which
from serai.changes.operations import DISCARD, invoke
from serai.changes.showing import show
from serai.changes.tracked import TrackedChanges

LINES = "h\u00e9llo\nw\u00f6rld\n"
KINDS = {
    "line ends": ("*.txt text eol=crlf\n", LINES.replace("\n", "\r\n").encode(), "*.txt text eol=lf\n"),
    "encoding": ("*.txt text working-tree-encoding=UTF-16LE\n", LINES.encode("utf-16-le"), "*.txt -text\n"),
}
EVERY = pytest.mark.parametrize("kind", KINDS)


async def content(changes: TrackedChanges, which: Which, path: str) -> tuple[bytes, bytes]:
    """What a changeset has of a file, before and after."""
    found = await changes.compute(which)
    [change] = [one for one in found.changes if one.path == path]
    live = changes.is_live(which)
    edit = show(change, changes.directory, "s1", live=live, start=found.start, end=found.end).edit
    assert edit.before is not None
    assert edit.after is not None
    return await changes.read(edit.before.content.uri), await changes.read(edit.after.content.uri)


def begun(repo: Repo, kind: str) -> bytes:
    attributes, data, _ = KINDS[kind]
    repo.write("src/.gitattributes", attributes)
    repo.write("src/deep/f.txt", data)
    repo.commit()
    return data


@EVERY
@pytest.mark.parametrize("how", ["changed", "staged", "deleted"])
@pytest.mark.parametrize("below", ["", "src/deep"])
async def test_a_file_is_read_and_comes_back_as_it_was(
    repo: Repo, private: Path, kind: str, how: str, below: str
) -> None:
    data = begun(repo, kind)
    changes = await tracked(repo.top / below, private)
    await changes.begin_session()
    if how == "deleted":
        (repo.top / "src/.gitattributes").unlink()
    else:
        repo.write("src/.gitattributes", KINDS[kind][2])
    repo.write("src/deep/f.txt", "other\n")
    if how == "staged":
        repo.git("add", "-A")
    path = "f.txt" if below else "src/deep/f.txt"
    for which in (UNCOMMITTED, SESSION):
        assert await content(changes, which, path) == (data, b"other\n")
    await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert (repo.top / "src/deep/f.txt").read_bytes() == data
    repo.git("checkout", "-q", "HEAD", "--", "src/.gitattributes")
    assert repo.status() == []


@EVERY
async def test_one_file_comes_back_as_it_was_though_the_list_stays_as_it_is(
    repo: Repo, private: Path, kind: str
) -> None:
    data = begun(repo, kind)
    changes = await tracked(repo.top, private)
    repo.write("src/.gitattributes", KINDS[kind][2])
    repo.write("src/deep/f.txt", "other\n")
    await invoke(changes, UNCOMMITTED, DISCARD, at(repo, "src/deep/f.txt"))
    assert (repo.top / "src/deep/f.txt").read_bytes() == data
    assert (repo.top / "src/.gitattributes").read_text() == KINDS[kind][2]


@EVERY
async def test_a_list_that_is_new_since_says_nothing_of_what_was_before(
    repo: Repo, private: Path, kind: str
) -> None:
    repo.write("f.txt", "plain\n")
    repo.commit()
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    repo.write(".gitattributes", KINDS[kind][0])
    repo.write("f.txt", KINDS[kind][1])
    for which in (UNCOMMITTED, SESSION):
        assert await content(changes, which, "f.txt") == (b"plain\n", KINDS[kind][1])
    await invoke(changes, SESSION, DISCARD, None)
    assert (repo.top / "f.txt").read_bytes() == b"plain\n"
    assert repo.status() == []


@EVERY
async def test_a_list_that_git_ignores_was_there_before(repo: Repo, private: Path, kind: str) -> None:
    (repo.top / ".git/info/exclude").write_text("/.gitattributes\n")
    repo.write(".gitattributes", KINDS[kind][0])
    repo.write("src/.gitattributes", "*.bin -text\n")
    repo.write("src/f.txt", KINDS[kind][1])
    repo.commit()
    changes = await tracked(repo.top, private)
    repo.write("src/.gitattributes", "*.other -text\n")
    repo.write("src/f.txt", "x\n".encode("utf-16-le"))
    assert (await content(changes, UNCOMMITTED, "src/f.txt"))[0] == KINDS[kind][1]
    await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert (repo.top / "src/f.txt").read_bytes() == KINDS[kind][1]
    assert repo.status() == []


@EVERY
async def test_a_turn_keeps_both_forms(repo: Repo, private: Path, kind: str) -> None:
    data = begun(repo, kind)
    changes = await tracked(repo.top, private)
    await changes.begin_turn("t")
    repo.write("src/.gitattributes", "*.txt -text\n")
    repo.write("src/deep/f.txt", "in the turn\r\n")
    await changes.end_turn("t")
    for later in (None, "*.txt text eol=lf\n", "*.txt text working-tree-encoding=UTF-32\n"):
        if later is not None:
            repo.write("src/.gitattributes", later)
        assert await content(changes, TURN, "src/deep/f.txt") == (data, b"in the turn\r\n")
    repo.write("src/.gitattributes", "*.txt -text\n")
    await invoke(changes, TURN, DISCARD, None)
    assert (repo.top / "src/deep/f.txt").read_bytes() == data
    assert repo.status() == []


async def test_a_file_that_went_through_a_filter_before_is_refused_where_none_may_run(
    repo: Repo, private: Path, tmp_path: Path
) -> None:
    repo.git("config", "filter.shout.smudge", f"touch {tmp_path}/ran; tr a-z A-Z")
    repo.git("config", "filter.shout.clean", "tr A-Z a-z")
    repo.write(".gitattributes", "*.loud filter=shout\n")
    repo.write("f.loud", "HELLO\n")
    repo.commit()
    changes = await tracked(repo.top, private)
    repo.write(".gitattributes", "")
    repo.write("f.loud", "OTHER\n")
    result = await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert isinstance(result.message, str)
    assert result.message.startswith("Discarded the changes to 1 file; not 1: f.loud: it goes through")
    assert (repo.top / "f.loud").read_text() == "OTHER\n"
    assert not (tmp_path / "ran").exists()
