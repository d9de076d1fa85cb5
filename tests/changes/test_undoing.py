"""What a discard brings back, and what it leaves alone, in a folder without git."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from changes.folders import Folder, turn, until_it_is_older
from changes.repositories import brief
from serai.ahp.commands import ChangesetResourceTarget
from serai.changes.catalogue import SESSION, Which
from serai.changes.operations import DISCARD, invoke
from serai.changes.records import Limits
from serai.changes.showing import file_uri
from serai.errors import ProtocolError

MOVED = "it is older than the edit: it may have been moved here"


@pytest.fixture
def folder(tmp_path: Path, private: Path) -> Folder:
    return Folder(tmp_path / "plain", private)


@pytest.fixture(params=[turn("t"), SESSION], ids=["turn", "session"])
def which(request: pytest.FixtureRequest) -> Which:
    return request.param


async def discard(folder: Folder, which: Which, path: str | None = None) -> str:
    """What a discard answers, by a host that has started anew."""
    folder.noted = folder.open()
    target = None
    if path is not None:
        target = ChangesetResourceTarget(resource=file_uri(str(folder.top), path))
    try:
        return str((await invoke(folder.noted, which, DISCARD, target)).message)
    except ProtocolError as error:
        return error.message


def move(folder: Folder, old: str, new: str) -> Callable[[], None]:
    def work() -> None:
        aside = (folder.top / old).rename(folder.top.parent / "aside")
        for above in (folder.top / old).parents:
            if above == folder.top or any(above.iterdir()):
                break
            above.rmdir()
        (folder.top / new).parent.mkdir(parents=True, exist_ok=True)
        aside.rename(folder.top / new)

    return work


# -- files and folders in each other's place -------------------------------------------------------------


@pytest.mark.parametrize(("old", "new"), [("t", "t/f"), ("t/f", "t"), ("t", "t/x/f"), ("t/x/f", "t")])
async def test_a_file_that_was_moved_below_or_above_its_own_name_comes_back(
    folder: Folder, which: Which, old: str, new: str
) -> None:
    folder.write(old, b"mine\n")
    before = folder.everything()
    await folder.do("t", move(folder, old, new), old, new)
    assert brief((await folder.noted.compute(which)).changes) == [f"renamed {old} -> {new} +0 -0"]
    assert await discard(folder, which) == "Discarded the changes to 1 file"
    assert folder.everything() == before


async def test_a_file_that_became_a_folder_comes_back(folder: Folder, which: Which) -> None:
    file = folder.write("a", b"mine\n")
    before = folder.everything()

    def work() -> None:
        file.unlink()
        folder.write("a/b", b"new\n")
        folder.write("a/c/d", b"newer\n")

    await folder.do("t", work, "a", "a/b", "a/c/d")
    assert await discard(folder, which) == "Discarded the changes to 3 files"
    assert folder.everything() == before


async def test_a_folder_that_became_a_file_comes_back(folder: Folder, which: Which) -> None:
    inner = folder.write("d/f", b"mine\n")
    before = folder.everything()

    def work() -> None:
        inner.unlink()
        inner.parent.rmdir()
        folder.write("d", b"new\n")

    await folder.do("t", work, "d", "d/f")
    assert await discard(folder, which) == "Discarded the changes to 2 files"
    assert folder.everything() == before


async def test_an_empty_folder_that_became_a_file_is_there_again(folder: Folder, which: Which) -> None:
    place = folder.top / "d"
    place.mkdir(mode=0o700)

    def work() -> None:
        place.rmdir()
        place.write_bytes(b"new\n")

    await folder.do("t", work, "d")
    assert await discard(folder, which) == "Discarded the changes to 1 file"
    assert place.is_dir()
    assert place.stat().st_mode & 0o777 == 0o700


async def test_a_folder_that_became_a_link_comes_back(folder: Folder, which: Which) -> None:
    folder.write("d/f", b"mine\n")
    elsewhere = folder.top.parent / "elsewhere"

    def work() -> None:
        (folder.top / "d").rename(elsewhere)
        (folder.top / "d").symlink_to(elsewhere)

    await folder.do("t", work, "d", "d/f")
    assert await discard(folder, which) == "Discarded the changes to 2 files"
    assert not (folder.top / "d").is_symlink()
    assert (folder.top / "d/f").read_bytes() == (elsewhere / "f").read_bytes() == b"mine\n"


async def test_neither_file_of_a_rename_is_touched_when_one_cannot_be(folder: Folder, which: Which) -> None:
    folder.write("t", b"mine\n")
    await folder.do("t", move(folder, "t", "t/f"), "t", "t/f")
    folder.write("t/persons", b"stays\n")
    before = folder.everything()
    assert "nothing was done: t/f: t cannot be touched" in await discard(folder, which)
    assert folder.everything() == before


@pytest.mark.parametrize(("old", "new"), [("t", "t/f"), ("x/t/f", "x/t"), ("a", "b")])
async def test_nor_when_the_disk_is_full(
    folder: Folder, which: Which, old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("x/other", b"x\n")
    folder.write(old, b"mine\n")
    await folder.do("t", move(folder, old, new), old, new)
    before = folder.everything()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfileobj", full)
        assert "No space left on device" in await discard(folder, which)
    assert folder.everything() == before
    assert await discard(folder, which) == "Discarded the changes to 1 file"


async def test_a_folder_of_the_person_in_the_place_of_an_edited_file_stays(folder: Folder) -> None:
    file = folder.write("t", b"mine\n")
    await folder.edit("t", "t", b"changed\n")
    file.unlink()
    folder.write("t/persons", b"stays\n")
    await folder.edit("t2", "t/f", b"new\n")
    assert brief((await folder.noted.compute(SESSION)).changes) == ["deleted t +0 -1", "added t/f +1 -0"]
    message = await discard(folder, SESSION)
    assert message.startswith("Discarded the changes to 1 file; not 1: t: t cannot be touched")
    assert folder.everything() == {"t": None, "t/persons": b"stays\n"}


# -- moves -----------------------------------------------------------------------------------------------


async def test_two_files_that_were_swapped_come_back(folder: Folder, which: Which) -> None:
    a, b = folder.write("a", b"A\n"), folder.write("b", b"B\n")
    await until_it_is_older(a, b)

    def work() -> None:
        aside = a.rename(folder.top / "aside")
        b.rename(a)
        aside.rename(b)

    await folder.do("t", work, "a", "b")
    assert await discard(folder, which) == "Discarded the changes to 2 files"
    assert folder.everything() == {"a": b"A\n", "b": b"B\n"}


async def test_the_only_copy_of_a_file_stays_when_just_its_new_name_was_noted(
    folder: Folder, which: Which
) -> None:
    file = folder.write("a", b"mine\n")
    await until_it_is_older(file)
    await folder.do("t", lambda: file.rename(folder.top / "n"), "n")
    assert await discard(folder, which) == f"nothing was done: n: {MOVED}"
    assert folder.everything() == {"n": b"mine\n"}


async def test_it_stays_also_when_it_was_noted_before_that_it_was_there(folder: Folder) -> None:
    file = folder.write("a", b"mine\n")
    await until_it_is_older(file)
    await folder.do("t", lambda: None, "a")
    await folder.do("t", lambda: file.rename(folder.top / "n"), "n")
    message = await discard(folder, turn("t"))
    assert message == "nothing was done: n: it was there before as a, which does not come back"
    assert folder.everything() == {"n": b"mine\n"}
    assert await discard(folder, SESSION) == "Discarded the changes to 1 file"
    assert folder.everything() == {"a": b"mine\n"}


async def test_a_file_whose_old_name_was_noted_comes_back_and_stays_under_the_new_one(
    folder: Folder, which: Which
) -> None:
    file = folder.write("a", b"mine\n")
    await until_it_is_older(file)
    await folder.do("t", lambda: file.rename(folder.top / "n"), "a")
    assert await discard(folder, which) == "Discarded the changes to 1 file"
    assert folder.everything() == {"a": b"mine\n", "n": b"mine\n"}


async def test_a_file_that_was_moved_and_edited_comes_back(folder: Folder, which: Which) -> None:
    file = folder.write("a", b"mine\n")
    await until_it_is_older(file)

    def work() -> None:
        file.rename(folder.top / "n").write_bytes(b"edited\n")

    await folder.do("t", work, "a", "n")
    assert await discard(folder, which) == "Discarded the changes to 2 files"
    assert folder.everything() == {"a": b"mine\n"}


@pytest.mark.parametrize("new", ["n", "a/n"])
async def test_a_file_that_was_moved_and_edited_stays_when_the_old_one_cannot_come_back(
    folder: Folder, which: Which, new: str
) -> None:
    file = folder.write("a", b"mine\n")

    def work() -> None:
        move(folder, "a", new)()
        folder.write(new, b"edited\n")

    await folder.do("t", work, "a", new)
    assert not file.is_file()
    folder.write("a/persons", b"stays\n")
    before = folder.everything()
    assert (await discard(folder, which)).startswith("nothing was done: a: a cannot be touched")
    assert folder.everything() == before


async def test_a_moved_file_stays_when_its_old_name_is_taken(folder: Folder, which: Which) -> None:
    file, persons = folder.write("a", b"mine\n"), folder.write("p", b"the person's\n")

    def work() -> None:
        file.rename(folder.top / "n").write_bytes(b"edited\n")

    await folder.do("t", work, "a", "n")
    await until_it_is_older(persons)
    await folder.noted.note_after("t", "a")
    persons.rename(folder.top / "a")
    assert (await discard(folder, which)).startswith("nothing was done: a: it")
    assert folder.everything() == {"a": b"the person's\n", "n": b"edited\n"}


@pytest.mark.parametrize("edits", ["", "in place", "anew"])
async def test_a_file_that_was_moved_in_from_elsewhere_stays(
    folder: Folder, which: Which, edits: str
) -> None:
    elsewhere = folder.top.parent / "doc"
    elsewhere.write_bytes(b"the person's\n")
    await until_it_is_older(elsewhere)
    await folder.do("t", lambda: elsewhere.rename(folder.top / "doc"), "doc")
    if edits == "in place":
        await folder.edit("t", "doc", b"the person's, edited\n")
    if edits == "anew":
        new = folder.write("draft", b"the person's, edited\n")
        await folder.do("t", lambda: new.replace(folder.top / "doc"), "doc")
    before = folder.everything()
    assert await discard(folder, which) == f"nothing was done: doc: {MOVED}"
    assert folder.everything() == before


async def test_a_file_that_was_unpacked_with_an_old_time_stays(folder: Folder, which: Which) -> None:
    def work() -> None:
        os.utime(folder.write("doc", b"the person's\n"), (1_700_000_000, 1_700_000_000))

    await folder.do("t", work, "doc")
    assert await discard(folder, which) == f"nothing was done: doc: {MOVED}"


async def test_a_file_that_was_moved_over_a_noted_one_stays(folder: Folder, which: Which) -> None:
    file, persons = folder.write("a", b"A\n"), folder.write("p", b"the person's\n")
    await until_it_is_older(persons)
    await folder.do("t", lambda: persons.replace(file), "a")
    assert await discard(folder, which) == f"nothing was done: a: {MOVED}"
    assert folder.everything() == {"a": b"the person's\n"}


async def test_what_the_person_moved_over_it_after_the_edit_stays(folder: Folder) -> None:
    file = folder.write("a", b"A\n")
    await folder.do("t", lambda: None, "a")
    persons = folder.write("p", b"the person's\n")
    await until_it_is_older(persons)
    await folder.edit("t", "a", b"edited\n")
    persons.replace(file)
    assert await discard(folder, SESSION) == f"nothing was done: a: {MOVED}"
    assert folder.everything() == {"a": b"the person's\n"}


@pytest.mark.parametrize("paths", [("draft", "final"), ("final",)])
async def test_a_new_file_that_the_tool_moved_on_is_still_a_new_one(
    folder: Folder, which: Which, paths: tuple[str, ...]
) -> None:
    await folder.edit("t", "draft", b"new\n")
    draft = folder.top / "draft"
    await until_it_is_older(draft)
    await folder.do("t", lambda: draft.rename(folder.top / "final"), *paths)
    await discard(folder, which)
    assert folder.everything() == {}


async def test_an_edit_by_a_new_file_in_the_place_of_the_old_one_is_undone(
    folder: Folder, which: Which
) -> None:
    file = folder.write("a", b"A\n")
    await until_it_is_older(file)
    await folder.do("t", lambda: folder.write("draft", b"edited\n").replace(file), "a")
    assert await discard(folder, which) == "Discarded the changes to 1 file"
    assert folder.everything() == {"a": b"A\n"}


async def test_an_edit_that_keeps_the_time_of_a_file_is_undone(folder: Folder, which: Which) -> None:
    file = folder.write("a", b"A\n")
    os.utime(file, (1_700_000_000, 1_700_000_000))

    def work() -> None:
        os.utime(folder.write("a", b"edited\n"), (1_700_000_000, 1_700_000_000))

    await folder.do("t", work, "a")
    assert await discard(folder, which) == "Discarded the changes to 1 file"
    assert folder.everything() == {"a": b"A\n"}


async def test_one_file_of_a_move_can_be_discarded_after_the_other(folder: Folder) -> None:
    file = folder.write("a", b"mine\n")
    await until_it_is_older(file)

    def work() -> None:
        file.rename(folder.top / "n").write_bytes(b"edited\n")

    await folder.do("t", work, "a", "n")
    for path in ("a", "n"):
        assert await discard(folder, turn("t"), path) == f"Discarded the changes to {path}"
    assert folder.everything() == {"a": b"mine\n"}


# -- folders, and what is told ---------------------------------------------------------------------------


async def test_folders_that_were_not_there_go_and_others_stay(folder: Folder, which: Which) -> None:
    (folder.top / "there").mkdir()
    await folder.edit("t", "there/made/new", b"x\n")
    await folder.edit("t", "made/new", b"x\n")
    await folder.edit("t", "kept/new", b"x\n")
    (folder.top / "kept/persons").mkdir()
    assert await discard(folder, which) == "Discarded the changes to 3 files"
    assert folder.everything() == {"there": None, "kept": None, "kept/persons": None}


async def test_a_private_folder_comes_back_as_one(folder: Folder, which: Which) -> None:
    key = folder.write("s/deep/key", b"secret\n")
    for place in (key.parent, key.parent.parent):
        place.chmod(0o700)

    def work() -> None:
        key.unlink()
        key.parent.rmdir()
        key.parent.parent.rmdir()

    await folder.do("t", work, "s/deep/key")
    assert await discard(folder, which) == "Discarded the changes to 1 file"
    assert key.read_bytes() == b"secret\n"
    assert [place.stat().st_mode & 0o777 for place in (key.parent, key.parent.parent)] == [0o700, 0o700]


async def test_it_is_told_what_was_not_looked_at(tmp_path: Path, private: Path, which: Which) -> None:
    folder = Folder(tmp_path / "plain", private, Limits(file_bytes=100))
    folder.write("log", b"small\n")
    await folder.edit("t", "log", b"x" * 101)
    await folder.edit("t", "new", b"new\n")
    assert await discard(folder, which) == "Discarded the changes to 1 file. Left out: log (too large)"
    assert folder.everything() == {"log": b"x" * 101}


async def test_what_one_turn_left_out_is_not_told_of_another(tmp_path: Path, private: Path) -> None:
    folder = Folder(tmp_path / "plain", private, Limits(file_bytes=100))
    await folder.edit("t", "large", b"x" * 101)
    await folder.edit("t2", "new", b"new\n")
    assert await discard(folder, turn("t2")) == "Discarded the changes to 1 file"


async def test_notes_without_times_delete_no_new_file(folder: Folder, which: Which) -> None:
    folder.write("a", b"A\n")
    await folder.edit("t", "a", b"edited\n")
    await folder.edit("t", "new", b"new\n")
    log = folder.private / "notes.jsonl"
    notes = [msgspec.json.decode(line, type=dict[str, object]) for line in log.read_bytes().splitlines()]
    for note in notes:
        for name in ("at", "seen", "folders"):
            note.pop(name, None)
    log.write_bytes(b"".join(msgspec.json.encode(note) + b"\n" for note in notes))
    told = "Discarded the changes to 1 file; not 1: new: it is not known whether it was there before"
    assert await discard(folder, which) == told
    assert folder.everything() == {"a": b"A\n", "new": b"new\n"}
