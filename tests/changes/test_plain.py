"""Files come back byte for byte, whatever git makes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from changes.repositories import Repo, always, tracked
from changes.test_operations import TURN
from serai.changes.catalogue import SESSION, UNCOMMITTED, Which
from serai.changes.operations import DISCARD, invoke
from serai.changes.showing import show

MIXED = b"one\r\ntwo\nthree\r\n"


@pytest.mark.parametrize(
    ("which", "autocrlf", "restarts"),
    [(SESSION, "true", True), (TURN, "true", False), (SESSION, "input", False), (TURN, "false", True)],
)
async def test_line_ends_come_back_as_they_were(
    repo: Repo, private: Path, which: Which, autocrlf: str, restarts: bool
) -> None:
    repo.git("config", "core.autocrlf", autocrlf)
    contents = {"mixed": MIXED, "lf": b"one\ntwo\n", "crlf": b"one\r\ntwo\r\n", "a.txt": b"mine\r\nown\n"}
    for name, content in contents.items():
        repo.write(name, content)
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    await changes.begin_turn("t")
    for name in contents:
        repo.write(name, b"the agent's\n")
    (repo.top / "lf").unlink()
    await changes.end_turn("t")
    if restarts:
        changes = await tracked(repo.top, private)
    result = await invoke(changes, which, DISCARD, None)
    assert result.message == "Discarded the changes to 4 files"
    assert {name: (repo.top / name).read_bytes() for name in contents} == contents
    assert (await changes.compute(SESSION)).changes == ()


async def test_attributes_do_not_matter(repo: Repo, private: Path) -> None:
    repo.write(".gitattributes", "*.t ident\n*.c text eol=crlf\n*.u working-tree-encoding=UTF-16LE-BOM\n")
    repo.commit()
    contents = {"x.t": b"$Id: mine$ v\n", "y.c": b"l1\nl2\n", "z.u": "ü\n".encode("utf-16")}
    for name, content in contents.items():
        repo.write(name, content)
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    for name in contents:
        repo.write(name, "the agent's\n".encode("utf-16" if name == "z.u" else "utf-8"))
    repo.write(".gitattributes", "* text=auto\n")
    await invoke(changes, SESSION, DISCARD, None)
    assert {name: (repo.top / name).read_bytes() for name in contents} == contents


async def test_a_filter_that_loses_something_does_not_lose_it_here(repo: Repo, private: Path) -> None:
    repo.git("config", "filter.strip.clean", "sed /output/d")
    repo.git("config", "filter.strip.smudge", "cat")
    repo.write(".gitattributes", "*.nb filter=strip\n")
    repo.write("book.nb", "cell\n")
    repo.commit()
    repo.write("book.nb", "cell\noutput\nmine\n")
    changes = await tracked(repo.top, private, trusted=always)
    await changes.begin_session()
    repo.write("book.nb", "the agent's\n")
    await invoke(changes, SESSION, DISCARD, None)
    assert (repo.top / "book.nb").read_text() == "cell\noutput\nmine\n"


async def test_content_from_before_and_after_is_shown_as_it_was(repo: Repo, private: Path) -> None:
    repo.git("config", "core.autocrlf", "true")
    repo.write("mixed", MIXED)
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    await changes.begin_turn("t")
    repo.write("mixed", b"the\nagent\r\n")
    await changes.end_turn("t")
    repo.write("mixed", b"later\n")
    found = await changes.compute(TURN)
    [change] = found.changes
    edit = show(change, str(repo.top), "s1", live=False, start=found.start, end=found.end).edit
    assert edit.before is not None
    assert edit.after is not None
    assert await changes.read(edit.before.content.uri) == MIXED
    assert await changes.read(edit.after.content.uri) == b"the\nagent\r\n"


async def test_bytes_are_kept_when_what_is_no_longer_needed_is_deleted(repo: Repo, private: Path) -> None:
    repo.git("config", "core.autocrlf", "true")
    repo.write("mixed", MIXED)
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    for number in range(2):
        await changes.begin_turn(f"{number}")
        repo.write("mixed", b"the agent's\r\n%d\n" % number)
        await changes.end_turn(f"{number}")
    for number in range(2):
        await changes.forget_turn(f"{number}")  # deletes what only that turn needed
    await changes.begin_turn("t")
    repo.write("mixed", b"again\n")
    await invoke(changes, TURN, DISCARD, None)
    assert (repo.top / "mixed").read_bytes() == b"the agent's\r\n1\n"
    await invoke(changes, SESSION, DISCARD, None)
    assert (repo.top / "mixed").read_bytes() == MIXED


async def test_git_sees_that_a_file_is_as_it_was_committed_though_it_has_another_size(
    repo: Repo, private: Path
) -> None:
    repo.git("config", "core.autocrlf", "true")
    changes = await tracked(repo.top, private)
    repo.write("a.txt", b"one\ntwo\nchanged\n")
    await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert (repo.top / "a.txt").read_bytes() == b"one\r\ntwo\r\nthree\r\n"
    assert repo.status() == []


@pytest.mark.parametrize(
    ("permissions", "fate"),
    [(0o600, "edited"), (0o600, "replaced"), (0o600, "deleted"), (0o664, "deleted"), (0o700, "replaced")],
)
async def test_permissions_come_back_too(repo: Repo, private: Path, permissions: int, fate: str) -> None:
    key = repo.write("key", "secret\n")
    tracked_too = repo.write("a.txt", "mine\n")
    for file in (key, tracked_too):
        file.chmod(permissions)
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    for file in (key, tracked_too):
        match fate:
            case "edited":
                file.write_text("the agent's\n")
            case "replaced":
                file.unlink()
                file.write_text("the agent's\n")
            case _:
                file.unlink()
    await invoke(changes, SESSION, DISCARD, None)
    assert (key.read_text(), tracked_too.read_text()) == ("secret\n", "mine\n")
    for file in (key, tracked_too):
        assert file.stat().st_mode & 0o777 == permissions


async def test_a_file_as_it_was_committed_keeps_its_permissions(repo: Repo, private: Path) -> None:
    (repo.top / "a.txt").chmod(0o600)
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    (repo.top / "a.txt").write_text("changed\n")
    for which in (UNCOMMITTED, SESSION):
        (repo.top / "a.txt").write_text("changed\n")
        await invoke(changes, which, DISCARD, None)
        assert (repo.top / "a.txt").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("which", [SESSION, TURN])
@pytest.mark.parametrize("permissions", [0o600, 0o700, 0o640])
async def test_a_file_as_it_was_committed_or_staged_is_as_private_as_before(
    repo: Repo, private: Path, which: Which, permissions: int
) -> None:
    staged = repo.write("staged", "secret\n")
    files = [repo.top / "a.txt", repo.top / "src/b.py", staged]
    for file in files:
        file.chmod(permissions)
    repo.git("add", "-A")
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    await changes.begin_turn("t")
    files[0].unlink()
    for file in files[1:]:
        file.unlink()
        file.write_text("the agent's\n")
    (repo.top / "src/deep/c.txt").unlink()
    assert (await invoke(changes, which, DISCARD, None)).message == "Discarded the changes to 4 files"
    assert [file.stat().st_mode & 0o777 for file in files] == [permissions] * 3
    assert (repo.top / "src/deep/c.txt").stat().st_mode & 0o777 == (repo.write("new").stat().st_mode & 0o777)
    assert repo.git("diff") == b""


async def test_it_is_the_same_where_content_has_longer_names(tmp_path: Path, private: Path) -> None:
    repo = Repo(tmp_path / "sha256", "--object-format=sha256")
    repo.git("config", "core.autocrlf", "true")
    repo.write("a.txt", "one\n")
    repo.commit()
    repo.write("mixed", MIXED)
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    repo.write("mixed", "the agent's\n")
    repo.write("a.txt", "the agent's\n")
    repo.write("new", "the agent's\n")
    assert (await invoke(changes, SESSION, DISCARD, None)).message == "Discarded the changes to 3 files"
    assert (repo.top / "mixed").read_bytes() == MIXED
