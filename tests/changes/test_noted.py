"""What tools edited, in a folder without git."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from changes.births import OWN_BIRTH, append
from changes.folders import Folder, turn, until_it_is_older
from changes.repositories import brief
from serai.ahp.commands import ChangesetResourceTarget
from serai.ahp.errors import AhpErrorCode
from serai.changes import beginnings
from serai.changes.catalogue import SESSION, UNCOMMITTED, Which
from serai.changes.noted import NotedChanges
from serai.changes.operations import DISCARD, invoke
from serai.changes.records import UNSEEN, Change, Limits
from serai.changes.restoring import Hand
from serai.changes.showing import content_uri, file_uri
from serai.errors import ProtocolError


def at_file(path: Path) -> ChangesetResourceTarget:
    return ChangesetResourceTarget(resource=file_uri(str(path.parent), path.name))


@pytest.fixture
def folder(tmp_path: Path, private: Path) -> Folder:
    return Folder(tmp_path / "plain", private)


async def test_edits_of_a_turn_and_of_the_session(folder: Folder) -> None:
    (folder.top / "old").write_bytes(b"1\n2\n3\n")
    (folder.top / "gone").write_bytes(b"x\n")
    await folder.edit("t1", "old", b"1\n2\nthree\n")
    await folder.edit("t1", "sub/new", b"n\n")
    await folder.edit("t1", "old", b"1\n2\nthree\nfour\n")
    await folder.edit("t2", "old", b"1\n2\n3\n")
    await folder.edit("t2", "gone", None)
    await folder.edit("t2", "picture", b"\0\1")
    noted = folder.noted
    assert brief((await noted.compute(turn("t1"))).changes) == ["modified old +2 -1", "added sub/new +1 -0"]
    assert brief((await noted.compute(turn("t2"))).changes) == [
        "deleted gone +0 -1",
        "modified old +1 -2",
        "added picture binary",
    ]
    assert brief((await noted.compute(SESSION)).changes) == [
        "deleted gone +0 -1",
        "added picture binary",
        "added sub/new +1 -0",
    ]


@pytest.mark.parametrize("was_there", [True, False])
async def test_what_a_tool_did_not_edit_is_not_undone_when_a_person_does(
    folder: Folder, was_there: bool
) -> None:
    file = folder.top / "a"
    if was_there:
        file.write_bytes(b"x\n")
    await folder.noted.begin_session()
    for turn_id in ("t1", "t2"):
        await folder.do(turn_id, lambda: None, "a")
    file.write_bytes(b"of the person\n")
    assert (await folder.noted.compute(SESSION)).changes == ()
    await invoke(folder.noted, SESSION, DISCARD, None)
    assert file.read_bytes() == b"of the person\n"
    await folder.edit("t2", "a", b"of the tool\n")
    await folder.edit("t3", "a", b"of the tool again\n")
    await invoke(folder.noted, SESSION, DISCARD, None)
    assert file.read_bytes() == b"of the person\n"


async def test_an_edit_that_did_not_happen_is_no_change(folder: Folder) -> None:
    (folder.top / "a").write_bytes(b"x")
    assert await folder.noted.note_before("t", "a")
    assert (await folder.noted.compute(turn("t"))).changes == ()
    assert (await folder.noted.compute(SESSION)).changes == ()


async def test_a_moved_file_is_a_rename(folder: Folder) -> None:
    (folder.top / "a").write_bytes(b"same\n")
    for path in ("a", "b"):
        await folder.noted.note_before("t", path)
    (folder.top / "a").rename(folder.top / "b")
    for path in ("a", "b"):
        await folder.noted.note_after("t", path)
    assert brief((await folder.noted.compute(turn("t"))).changes) == ["renamed a -> b +0 -0"]
    await invoke(folder.noted, turn("t"), DISCARD, None)
    assert [file.name for file in folder.top.iterdir()] == ["a"]


async def test_notes_survive_the_host(folder: Folder) -> None:
    name = os.fsdecode(b"odd \xff\n name")
    await folder.edit("t", name, b"x\n")
    with (folder.private / "notes.jsonl").open("ab") as log:
        log.write(b'{"turn": "t", "pa')  # the host was killed here
    folder.noted = folder.open()
    await folder.edit("t", "later", b"y\n")
    folder.noted = folder.open()
    changes = (await folder.noted.compute(turn("t"))).changes
    assert {change.path for change in changes} == {name, "later"}
    [later] = [change for change in changes if change.path == "later"]
    assert later.after is not None
    assert await folder.noted.read(content_uri("s1", later.after)) == b"y\n"


async def test_content_before_can_be_read_and_brought_back(folder: Folder) -> None:
    file = folder.top / "run"
    file.write_bytes(b"before\n")
    file.chmod(0o755)
    (folder.top / "link").symlink_to("run")
    await folder.noted.note_before("t", "link")
    (folder.top / "link").unlink()
    await folder.edit("t", "run", b"after\n")
    await folder.edit("t", "link", b"no link\n")
    await folder.edit("t", "new", b"new\n")
    changes = (await folder.noted.compute(SESSION)).changes
    before = next(change.before for change in changes if change.path == "run")
    assert before is not None
    assert await folder.noted.read(content_uri("s1", before)) == b"before\n"
    result = await invoke(folder.noted, SESSION, DISCARD, None)
    assert result.message == "Discarded the changes to 3 files"
    assert file.read_bytes() == b"before\n"
    assert os.access(file, os.X_OK)
    assert (folder.top / "link").readlink() == Path("run")
    assert not (folder.top / "new").exists()


async def test_content_that_came_after_the_last_note_can_be_read_while_it_is_there(folder: Folder) -> None:
    link = folder.top / "link"
    link.symlink_to("one")
    await folder.noted.note_before("t", "link")
    link.unlink()
    link.symlink_to("two")
    [change] = (await folder.noted.compute(SESSION)).changes
    assert change.after is not None
    assert await folder.noted.read(content_uri("s1", change.after)) == b"two"
    link.unlink()
    with pytest.raises(ProtocolError) as caught:
        await folder.noted.read(content_uri("s1", change.after))
    assert caught.value.number == AhpErrorCode.CONTENT_NOT_FOUND


async def test_a_turn_is_not_discarded_over_later_changes(folder: Folder) -> None:
    await folder.edit("t", "a", b"in the turn\n")
    (folder.top / "a").write_bytes(b"the person's\n")
    with pytest.raises(ProtocolError, match="has changed since that turn"):
        await invoke(folder.noted, turn("t"), DISCARD, None)
    assert (folder.top / "a").read_bytes() == b"the person's\n"


async def test_what_is_too_large_or_too_much_is_named(tmp_path: Path, private: Path) -> None:
    folder = Folder(tmp_path / "plain", private, Limits(file_bytes=100, new_bytes=150))
    assert not await folder.edit("t", "large", b"x" * 101)
    assert await folder.edit("t", "first", b"1" * 100)
    assert not await folder.edit("t", "second", b"2" * 100)
    result = await folder.noted.compute(turn("t"))
    assert brief(result.changes) == ["added first +1 -0"]
    assert [(one.path, one.reason) for one in result.left_out] == [
        ("large", "too large"),
        ("second", "more than is kept"),
    ]


async def test_files_outside_and_behind_links_are_not_noted(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"x")
    (folder.top / "way").symlink_to(tmp_path)
    assert not await folder.noted.note_before("t", "../outside")
    assert not await folder.noted.note_before("t", str(tmp_path / "outside"))
    assert not await folder.noted.note_before("t", "way/outside")
    os.mkfifo(folder.top / "pipe")
    assert not await folder.noted.note_before("t", "pipe")
    assert await folder.noted.note_before("t", str(folder.top / "inside"))


@pytest.mark.parametrize("named", ["real", "link", "other"])
@pytest.mark.parametrize("opened", ["real", "link"])
async def test_a_file_is_noted_by_whatever_way_a_tool_names_it(
    tmp_path: Path, private: Path, opened: str, named: str
) -> None:
    real = tmp_path / "real"
    real.mkdir()
    for link in ("link", "other"):
        (tmp_path / link).symlink_to(real)
    noted = NotedChanges(str(tmp_path / opened), "s1", folder=private)
    path = tmp_path / named / "a"
    assert await noted.note_before("t", str(path))
    path.write_text("x\n")
    assert await noted.note_after("t", str(path))
    assert brief((await noted.compute(turn("t"))).changes) == ["added a +1 -0"]


@pytest.mark.parametrize("named", ["link", "way/file", "way/new", "twice"])
async def test_what_is_edited_through_a_link_is_seen_where_it_is(folder: Folder, named: str) -> None:
    folder.write("real/file", b"one\n")
    (folder.top / "link").symlink_to("real/file")
    (folder.top / "way").symlink_to("real")
    (folder.top / "twice").symlink_to("way/file")
    await folder.noted.begin_turn("t")
    await folder.edit("t", named, b"two\n")
    await folder.noted.end_turn("t")
    new = named.endswith("new")
    changed = "added real/new +1 -0" if new else "modified real/file +1 -1"
    assert brief((await folder.noted.compute(turn("t"))).changes) == [changed]
    done, refused = await folder.noted.discard(turn("t"), None)
    assert (len(done), refused) == (1, {})
    assert (folder.top / "real/file").read_bytes() == b"one\n"
    assert not (folder.top / "real/new").exists()
    assert (folder.top / "link").is_symlink()


async def test_what_there_is_not_is_not_found(folder: Folder) -> None:
    for which in (UNCOMMITTED, turn("unknown")):
        with pytest.raises(ProtocolError) as caught:
            await folder.noted.compute(which)
        assert caught.value.number == AhpErrorCode.NOT_FOUND
    await folder.noted.begin_turn("quiet")
    assert (await folder.noted.compute(turn("quiet"))).changes == ()


async def test_turns_without_an_edit_are_known_again_after_a_restart(folder: Folder) -> None:
    await folder.noted.begin_turn("quiet")
    again = folder.open()
    assert await again.compute(turn("quiet")) == await folder.noted.compute(turn("quiet"))


async def test_a_turn_of_the_same_id_begins_anew(folder: Folder) -> None:
    await folder.noted.begin_turn("t")
    await folder.edit("t", "a", b"x")
    await folder.noted.forget_turn("t")
    for noted in (folder.noted, folder.open()):
        with pytest.raises(ProtocolError):
            await noted.compute(turn("t"))
    await folder.noted.begin_turn("t")
    await folder.edit("t", "b", b"x")
    for noted in (folder.noted, folder.open()):
        assert brief((await noted.compute(turn("t"))).changes) == ["added b +1 -0"]
        assert brief((await noted.compute(SESSION)).changes) == ["added a +1 -0", "added b +1 -0"]


async def test_an_edit_that_was_cut_off_is_told_of(folder: Folder) -> None:
    await folder.noted.begin_turn("t")
    await folder.edit("t", "whole", b"x")
    await folder.noted.note_before("t", "cut off")
    assert (await folder.noted.compute(turn("t"))).lacks is None
    (folder.top / "cut off").write_bytes(b"half of it")
    found = await folder.open().compute(turn("t"))
    assert (brief(found.changes), found.lacks) == (["added whole +1 -0"], UNSEEN)


async def test_everything_can_be_forgotten(folder: Folder) -> None:
    await folder.edit("t", "a", b"x")
    await folder.noted.forget()
    assert not folder.private.exists()
    assert (await folder.noted.compute(SESSION)).changes == ()


async def test_a_file_that_was_there_and_was_not_kept_is_no_new_one(tmp_path: Path, private: Path) -> None:
    folder = Folder(tmp_path / "plain", private, Limits(file_bytes=100))
    (folder.top / "big").write_bytes(b"mine" * 100)
    await folder.edit("t", "big", b"small\n")
    await folder.edit("t", "new", b"new\n")
    for noted in (folder.noted, folder.open()):
        for which in (SESSION, turn("t")):
            changes = (await noted.compute(which)).changes
            assert [(one.kind, one.path, one.added) for one in changes] == [
                ("modified", "big", None),
                ("added", "new", 1),
            ]
            assert changes[0].before is not None
            with pytest.raises(ProtocolError) as caught:
                await noted.read(content_uri("s1", changes[0].before))
            assert caught.value.number == AhpErrorCode.CONTENT_NOT_FOUND
    result = await invoke(folder.noted, SESSION, DISCARD, None)
    assert result.message == (
        "Discarded the changes to 1 file; not 1: big: this content is not kept, or no longer"
    )
    with pytest.raises(ProtocolError, match="nothing was done: big"):
        await invoke(folder.noted, turn("t"), DISCARD, at_file(folder.top / "big"))
    assert (folder.top / "big").read_bytes() == b"small\n"


async def test_a_file_of_which_nobody_knows_what_it_was_is_not_deleted(folder: Folder) -> None:
    (folder.top / "a").write_bytes(b"x\n")
    await folder.noted.note_after("t", "a")
    with pytest.raises(ProtocolError, match="nothing was done: a: this content is not kept"):
        await invoke(folder.noted, SESSION, DISCARD, None)
    assert (folder.top / "a").exists()


@pytest.mark.parametrize("is_gone", [True, False])
async def test_a_private_file_comes_back_as_one(folder: Folder, is_gone: bool) -> None:
    key = folder.top / "key"
    key.write_bytes(b"secret\n")
    key.chmod(0o600)
    await folder.edit("t", "key", None if is_gone else b"changed\n")
    folder.noted = folder.open()
    await invoke(folder.noted, SESSION, DISCARD, None)
    assert key.read_bytes() == b"secret\n"
    assert key.stat().st_mode & 0o777 == 0o600


async def test_what_is_written_while_something_is_discarded_stays(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder.top / "a").write_bytes(b"before\n")
    await folder.edit("t", "a", b"after\n")
    await folder.edit("t", "new", b"new\n")
    undo = Hand.undo

    def late(hand: Hand, change: Change) -> None:
        (folder.top / change.path).write_bytes(b"typed meanwhile\n")
        undo(hand, change)

    monkeypatch.setattr(Hand, "undo", late)
    for which in (SESSION, turn("t")):
        with pytest.raises(ProtocolError, match="nothing was done: a: it has changed since"):
            await invoke(folder.noted, which, DISCARD, None)
        assert (folder.top / "a").read_bytes() == (folder.top / "new").read_bytes() == b"typed meanwhile\n"


# -- what is told when it is done --------------------------------------------------------------------------


async def told_late(folder: Folder, work: Callable[[], object], *paths: str) -> None:
    """A tool is heard of, does something, and only then names these paths."""
    since = time.time_ns()
    work()
    for path in paths:
        await folder.noted.note_before("t", path, since=since)
    for path in paths:
        await folder.noted.note_after("t", path)


def removed(*places: Path) -> None:
    for place in places:
        place.rmdir() if place.is_dir() else place.unlink()


both = pytest.mark.parametrize("which", [turn("t"), SESSION], ids=["turn", "session"])


@both
@pytest.mark.parametrize("ends", [True, False])
async def test_edits_that_are_told_of_afterwards_are_seen_and_can_be_discarded(
    folder: Folder, which: Which, ends: bool
) -> None:
    in_place, anew = folder.write("in place", b"1\n2\n"), folder.write("anew", b"old\n")
    again, gone = folder.write("again", b"old\n"), folder.write("away/gone", b"x\n")
    in_place.chmod(0o640)
    before = folder.everything()
    await folder.noted.begin_turn("t")

    def work() -> None:
        in_place.write_bytes(b"1\ntwo\n")
        folder.write("draft", b"new\n").replace(anew)
        again.unlink()
        again.write_bytes(b"new\n")  # it may have the number of the old one
        folder.write("sub/deep/new", b"n\n")
        removed(gone, gone.parent)

    await told_late(folder, work, "in place", "anew", "again", "sub/deep/new", "away/gone")
    if ends:
        await folder.noted.end_turn("t")
        folder.noted = folder.open()  # the host was started again
    assert brief((await folder.noted.compute(which)).changes) == [
        "modified again +1 -1",
        "modified anew +1 -1",
        "deleted away/gone +0 -1",
        "modified in place +1 -1",
        "added sub/deep/new +1 -0",
    ]
    done, refused = await folder.noted.discard(which, None)
    assert (len(done), refused) == (5, {})
    assert folder.everything() == before
    assert in_place.stat().st_mode & 0o777 == 0o640


@both
async def test_a_move_that_is_told_of_afterwards_is_a_rename(folder: Folder, which: Which) -> None:
    file = folder.write("a", b"same\n")
    await until_it_is_older(file)
    await folder.noted.begin_turn("t")
    await told_late(folder, lambda: file.rename(folder.top / "b"), "a", "b")
    assert brief((await folder.noted.compute(which)).changes) == ["renamed a -> b +0 -0"]
    await folder.noted.discard(which, None)
    assert folder.everything() == {"a": b"same\n"}


async def test_a_file_that_became_a_folder_is_seen_when_it_is_told_of_afterwards(folder: Folder) -> None:
    file = folder.write("a", b"mine\n")
    await folder.noted.begin_turn("t")

    def work() -> None:
        file.unlink()
        folder.write("a/b", b"new\n")

    await told_late(folder, work, "a", "a/b")
    assert brief((await folder.noted.compute(turn("t"))).changes) == ["deleted a +0 -1", "added a/b +1 -0"]
    await folder.noted.discard(turn("t"), None)
    assert folder.everything() == {"a": b"mine\n"}


@pytest.mark.parametrize("named", ["link", "way/file"])
async def test_what_was_edited_through_a_link_is_seen_where_it_is_when_it_is_told_of_afterwards(
    folder: Folder, named: str
) -> None:
    file = folder.write("real/file", b"one\n")
    (folder.top / "link").symlink_to("real/file")
    (folder.top / "way").symlink_to("real")
    await folder.noted.begin_turn("t")
    await told_late(folder, lambda: file.write_bytes(b"two\n"), named)
    assert brief((await folder.noted.compute(turn("t"))).changes) == ["modified real/file +1 -1"]
    await folder.noted.discard(turn("t"), None)
    assert file.read_bytes() == b"one\n"


async def test_a_link_that_was_replaced_comes_back_when_it_is_told_of_afterwards(folder: Folder) -> None:
    link = folder.top / "link"
    link.symlink_to("nowhere")
    await folder.noted.begin_turn("t")

    def work() -> None:
        link.unlink()
        link.write_bytes(b"no link\n")

    await told_late(folder, work, "link")
    await folder.noted.discard(turn("t"), None)
    assert link.readlink() == Path("nowhere")


async def test_what_a_person_did_before_the_tool_began_is_not_the_tools(folder: Folder) -> None:
    edited, gone = folder.write("edited", b"old\n"), folder.write("sub/gone", b"old\n")
    await folder.noted.begin_turn("t")
    edited.write_bytes(b"the person's\n")
    new = folder.write("new", b"the person's\n")
    gone.unlink()
    await until_it_is_older(edited, new, gone.parent)
    await told_late(folder, lambda: None, "edited", "new", "sub/gone")
    assert (await folder.noted.compute(turn("t"))).changes == ()
    assert (await folder.noted.compute(SESSION)).changes == ()


async def test_nothing_of_the_beginning_counts_for_one_who_tells_before(folder: Folder) -> None:
    file = folder.write("a", b"old\n")
    await folder.noted.begin_turn("t")
    file.write_bytes(b"the person's\n")
    await folder.edit("t", "a", b"the tool's\n")
    await folder.noted.discard(turn("t"), None)
    assert file.read_bytes() == b"the person's\n"


async def test_what_was_noted_in_the_turn_counts_more_than_its_beginning(folder: Folder) -> None:
    file = folder.write("a", b"old\n")
    await folder.noted.begin_turn("t")
    file.write_bytes(b"the person's\n")
    await folder.do("t", lambda: None, "a")  # as a tool does that fails
    await told_late(folder, lambda: file.write_bytes(b"the tool's\n"), "a")
    for noted in (folder.noted, folder.open()):
        assert brief((await noted.compute(turn("t"))).changes) == ["modified a +1 -1"]
    await folder.noted.discard(turn("t"), None)
    assert file.read_bytes() == b"the person's\n"


async def test_an_edit_that_is_tried_again_is_seen(folder: Folder) -> None:
    file = folder.write("a", b"old\n")
    await folder.noted.begin_turn("t")
    await told_late(folder, lambda: None, "a", "new")  # it failed
    await told_late(folder, lambda: file.write_bytes(b"edited\n"), "a")
    await told_late(folder, lambda: folder.write("new", b"new\n"), "new")
    assert brief((await folder.noted.compute(turn("t"))).changes) == ["modified a +1 -1", "added new +1 -0"]
    await folder.noted.discard(turn("t"), None)
    assert folder.everything() == {"a": b"old\n"}


async def test_an_edit_that_was_told_of_afterwards_and_cut_off_is_told_of(folder: Folder) -> None:
    file = folder.write("a", b"old\n")
    await folder.noted.begin_turn("t")
    for _ in range(2):
        since = time.time_ns()
        file.write_bytes(b"edited\n")
        await folder.noted.note_before("t", "a", since=since)
        assert (await folder.open().compute(turn("t"))).lacks == UNSEEN
        file.write_bytes(b"old\n")
        await folder.noted.note_after("t", "a")


@both
async def test_a_file_that_was_moved_in_from_elsewhere_stays_when_it_is_told_of_afterwards(
    folder: Folder, which: Which
) -> None:
    file, persons = folder.write("a", b"A\n"), folder.top.parent / "p"
    persons.write_bytes(b"the person's\n")
    await until_it_is_older(persons)
    await folder.noted.begin_turn("t")
    await told_late(folder, lambda: persons.replace(file), "a")
    assert (await folder.noted.discard(which, None))[1] == {
        "a": "it is older than the edit: it may have been moved here"
    }
    assert file.read_bytes() == b"the person's\n"


@pytest.mark.parametrize("over", ["ended", "forgotten", "of another host"])
async def test_the_beginning_of_a_turn_is_let_go_with_it(folder: Folder, over: str) -> None:
    file = folder.write("a", b"old\n")
    await folder.noted.begin_turn("t")
    match over:
        case "ended":
            await folder.noted.end_turn("t")
        case "forgotten":
            await folder.noted.forget_turn("t")
        case _:
            folder.noted = folder.open()
    await told_late(folder, lambda: file.write_bytes(b"edited\n"), "a")
    assert (await folder.noted.compute(turn("t"))).changes == ()


async def test_a_later_turn_begins_with_what_there_is_then(folder: Folder) -> None:
    file = folder.write("a", b"one\n")
    for turn_id, content in (("t", b"two\n"), ("t2", b"three\n")):
        await folder.noted.begin_turn(turn_id)
        since = time.time_ns()
        file.write_bytes(content)
        await folder.noted.note_before(turn_id, "a", since=since)
        await folder.noted.note_after(turn_id, "a")
        await folder.noted.end_turn(turn_id)
    await folder.noted.discard(turn("t2"), None)
    assert file.read_bytes() == b"two\n"
    await folder.noted.discard(SESSION, None)
    assert file.read_bytes() == b"one\n"


async def test_the_hosts_own_folder_is_in_no_beginning(tmp_path: Path) -> None:
    top = tmp_path / "plain"
    folder = Folder(top, top / "home/of the host")
    own = folder.write("home/of the host/own", b"secret\n")
    await folder.noted.begin_turn("t")
    since = time.time_ns()
    own.write_bytes(b"other\n")
    assert not await folder.noted.note_before("t", str(own), since=since)
    assert (await folder.noted.compute(turn("t"))).changes == ()


async def test_what_a_person_does_while_a_tool_waits_for_leave_is_not_the_tools(
    folder: Folder, private: Path
) -> None:
    file, noted = folder.write("a", b"old\n"), folder.noted
    await noted.begin_turn("t")
    for path in ("a", "new"):
        assert await noted.note_before("t", path)
    file.write_bytes(b"of the person\n")
    folder.write("new", b"of the person\n")
    await noted.note_nothing("t", "new")  # it was denied
    await noted.note_again("t", "a")  # it was allowed, and begins now
    file.write_bytes(b"of the tool\n")
    await noted.note_after("t", "a")
    for changes in (noted, NotedChanges(str(folder.top), "s1", folder=private)):
        for which in (turn("t"), SESSION):
            assert brief((await changes.compute(which)).changes) == ["modified a +1 -1"]
    await invoke(noted, SESSION, DISCARD, None)
    assert folder.everything() == {"a": b"of the person\n", "new": b"of the person\n"}


async def test_a_note_that_others_hold_is_not_given_up(folder: Folder) -> None:
    file, noted = folder.write("a", b"old\n"), folder.noted
    for _ in range(2):
        await noted.note_before("t", "a")
    file.write_bytes(b"of the first\n")
    await noted.note_again("t", "a")
    await noted.note_nothing("t", "a")
    await noted.note_after("t", "a")
    await invoke(noted, turn("t"), DISCARD, None)
    assert file.read_bytes() == b"old\n"


async def test_what_a_person_does_after_a_discard_is_not_the_sessions(folder: Folder, private: Path) -> None:
    folder.write("a", b"old\n")
    await folder.edit("t", "a", b"of the tool\n")
    await folder.edit("t", "new", b"of the tool\n")
    await invoke(folder.noted, SESSION, DISCARD, None)
    assert folder.everything() == {"a": b"old\n"}
    folder.write("a", b"of the person\n")
    folder.write("new", b"of the person\n")
    for changes in (folder.noted, NotedChanges(str(folder.top), "s1", folder=private)):
        assert (await changes.compute(SESSION)).changes == ()
        await invoke(changes, SESSION, DISCARD, None)
    assert folder.everything() == {"a": b"of the person\n", "new": b"of the person\n"}
    await folder.edit("t2", "a", b"again\n")
    await invoke(folder.noted, SESSION, DISCARD, None)
    assert (folder.top / "a").read_bytes() == b"of the person\n"


@OWN_BIRTH
async def test_a_file_that_a_person_made_in_the_turn_is_not_new_when_a_tool_adds_to_it(
    folder: Folder,
) -> None:
    await folder.noted.begin_turn("t")
    file = folder.write("p", b"of the person\n")
    await until_it_is_older(file)
    await told_late(folder, lambda: append(file), "p")
    await invoke(folder.noted, turn("t"), DISCARD, None)
    assert file.read_bytes() == b"of the person\nmore\n"


@pytest.mark.parametrize("bound", ["_MOST_FILES", "_LARGEST"])
async def test_an_edit_that_is_told_of_afterwards_and_is_beyond_the_bounds_is_listed_and_not_undone(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    monkeypatch.setattr(beginnings, bound, 0)
    file = folder.write("a", b"old\n")
    await until_it_is_older(file)
    await folder.noted.begin_turn("t")
    await told_late(folder, lambda: file.write_bytes(b"new\n"), "a")
    [change] = (await folder.noted.compute(turn("t"))).changes
    assert change.path == "a"
    _, refused = await folder.noted.discard(turn("t"), None)
    assert [*refused] == ["a"]
    assert file.read_bytes() == b"new\n"
