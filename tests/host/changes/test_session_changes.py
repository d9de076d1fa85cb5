"""What a session records of its folder, when it looks, and what it tells."""

from __future__ import annotations

import asyncio
import os
import shutil
import textwrap
from pathlib import Path

import pytest

from host.changes.conftest import OF_SESSION, OF_TURN, ORIGIN, URI, WITHIN, Inn, counted, idle
from serai.ahp import actions as a
from serai.ahp.commands import CreateSessionParams, SessionForkSource
from serai.changes import recorder
from serai.changes.undo import KEPT_SECONDS, DiscardStep, Trash
from serai.changes.view import ChangesetKind, Which, uri_of
from serai.errors import ProtocolError
from serai.host.changes import bases, session_changes
from serai.host.session.session import Session
from serai.host.turn import Turn


async def test_a_folder_is_not_watched_for_nobody_and_looked_at_for_the_next_one(inn: Inn) -> None:
    session = await inn.begin()
    await inn.until(lambda: counted(session) == [0, 0, None])
    inn.host.journal.subscriptions.forget(inn.someone)
    async with asyncio.timeout(WITHIN):
        while len(inn.host.watches):
            await inn.host.journal.committed()
    await idle(inn, session)
    (inn.work / "b.txt").write_text("x\n")
    assert not session.changes.is_busy
    inn.host.journal.subscriptions.add(URI, inn.someone)
    await inn.until(lambda: counted(session) == [1, 1, None])


class SlowGit:
    """A git that waits while it is held."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def hold(self) -> None:
        self._file.touch()

    def let_go(self) -> None:
        self._file.unlink()


@pytest.fixture
def slow_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SlowGit:
    hold = tmp_path / "hold"
    program = tmp_path / "bin/git"
    program.parent.mkdir()
    program.write_text(
        textwrap.dedent(f"""\
            #!/bin/sh
            while [ -e '{hold}' ]; do sleep 0.01; done
            exec '{shutil.which("git")}' "$@"
            """)
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    return SlowGit(hold)


async def test_a_turn_is_told_of_before_its_base_is_recorded_and_handed_over_after_it(
    inn: Inn, slow_git: SlowGit
) -> None:
    session = await inn.begin()
    await inn.until(lambda: counted(session) == [0, 0, None])
    slow_git.hold()
    inn.start(session)
    await inn.host.journal.committed()  # so those who follow have heard of it
    assert session.live.turn is not None
    assert inn.answers == []
    slow_git.let_go()
    await inn.until(lambda: session.live.turn is None)
    assert inn.answers == ["t"]


async def test_a_git_that_takes_too_long_delays_a_turn_only_so_much(
    inn: Inn, slow_git: SlowGit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bases, "_PATIENCE", 0.05)
    session = await inn.begin()
    await inn.until(lambda: counted(session) == [0, 0, None])
    slow_git.hold()
    inn.start(session)
    await inn.until(lambda: session.live.turn is None)
    assert inn.answers == ["t"]
    slow_git.let_go()
    state = await inn.follow(OF_TURN)
    assert state.error is not None
    assert state.error.error_type == "git_timed_out"


async def test_an_agent_that_was_cancelled_stops_before_the_end_of_its_turn_is_recorded(inn: Inn) -> None:
    begun = asyncio.Event()

    async def answer(turn: Turn) -> None:
        del turn
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            (inn.work / "last.txt").write_text("a last word\n")

    inn.answer = answer
    session = await inn.begin()
    inn.start(session)
    await begun.wait()
    session.dispatch(a.SessionTurnCancelledAction(turn_id="t"), ORIGIN, inn.someone)
    await inn.until(lambda: counted(session) == [1, 1, None])
    assert [file.id for file in (await inn.follow(OF_TURN)).files] == ["last.txt"]


async def test_a_turn_that_the_host_stopped_in_ends_there(inn: Inn) -> None:
    begun = asyncio.Event()

    async def answer(turn: Turn) -> None:
        del turn
        (inn.work / "b.txt").write_text("x\n")
        begun.set()
        await asyncio.Event().wait()

    inn.answer = answer
    session = await inn.begin()
    inn.start(session)
    await begun.wait()
    await inn.restart()
    session = inn.host.sessions.get(URI)
    assert session is not None
    async with asyncio.timeout(WITHIN):
        while session.changes.is_busy:
            await inn.host.journal.committed()
    (inn.work / "c.txt").write_text("x\n")
    assert [file.id for file in (await inn.follow(OF_TURN)).files] == ["b.txt"]


async def test_secrets_in_earlier_content_are_masked(inn: Inn) -> None:
    inn.host.redactor.register("THE_KEY", "correct-horse-battery")
    (inn.work / "key.txt").write_text("the key: correct-horse-battery\n")
    (inn.work / "key.bin").write_bytes(b"\xff\x00")
    session = await inn.begin()
    await inn.until(lambda: counted(session) == [2, 0, None])
    (inn.work / "key.txt").unlink()
    (inn.work / "key.bin").unlink()
    await inn.until(lambda: counted(session)[1] == 2)
    before = {file.id: file.edit.before for file in (await inn.follow(OF_SESSION)).files}
    found = {name: await inn.host.changesets.read(side.content.uri) for name, side in before.items() if side}
    assert found == {"key.txt": b"the key: [secret:THE_KEY]\n", "key.bin": b"\xff\x00"}


async def test_content_that_is_not_there_is_not_found(inn: Inn) -> None:
    await inn.begin()
    nothing = "0" * 40
    for uri, number in (
        (f"serai-change:/s/{nothing}/a.txt", -32006),
        (f"serai-change:/other/{nothing}/a.txt", -32008),
        ("serai-change:/s/../../etc/passwd", -32008),
    ):
        with pytest.raises(ProtocolError) as caught:
            await inn.host.changesets.read(uri)
        assert caught.value.number == number


async def test_more_files_than_are_shown_are_counted_and_told_of(
    inn: Inn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_changes, "MOST_FILES", 3)
    session = await inn.begin()
    await inn.until(lambda: counted(session) == [0, 0, None])
    for number in range(5):
        (inn.work / f"{number}.txt").write_text("x\n")
    state = await inn.follow(OF_SESSION)
    await inn.until(lambda: counted(session) == [5, 5, None])
    assert len(state.files) == 3
    assert "2 more files" in str((session.live.head.summary.changesets or [])[1].description)


async def test_a_fork_waits_for_the_end_of_the_turn_that_it_begins_with(inn: Inn, slow_git: SlowGit) -> None:
    async def writes(turn: Turn) -> None:
        del turn
        (inn.work / "b.txt").write_text("x\n")
        slow_git.hold()

    inn.answer = writes
    session = await inn.begin()
    inn.start(session)
    await inn.until(lambda: session.live.turn is None)
    fork = SessionForkSource(session=URI, turn_id="t")
    await inn.host.create(CreateSessionParams(channel="ahp-session:/fork", fork=fork), "c")
    slow_git.let_go()
    state = await inn.follow(uri_of("fork", Which(ChangesetKind.TURN, "t")))
    assert (state.status, [file.id for file in state.files]) == ("ready", ["b.txt"])


def described(session: Session) -> str:
    return " ".join(str(one.description) for one in session.live.head.summary.changesets or ())


async def test_a_folder_that_is_too_large_is_said_to_be_and_stops_no_turn(
    inn: Inn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "MAX_FILES", 0)
    (inn.work / "b.txt").write_text("x\n")
    session = await inn.begin()
    inn.start(session)
    await inn.until(lambda: session.live.turn is None)
    await inn.until(lambda: "more than 0 files" in described(session))
    for uri in (OF_SESSION, OF_TURN):
        state = await inn.follow(uri)
        assert state.error is not None
        assert state.error.error_type == "folder_too_large"


async def test_without_git_it_is_said_that_changes_are_not_seen(
    inn: Inn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(inn.folder))
    session = await inn.begin()
    inn.start(session)
    await inn.until(lambda: session.live.turn is None)
    await inn.until(lambda: "git is not installed" in described(session))
    state = await inn.follow(OF_SESSION)
    assert state.error is not None
    assert state.error.error_type == "git_unavailable"


async def test_a_discard_that_a_kill_cut_short_is_undone_at_the_next_start(inn: Inn) -> None:
    trash = Trash(inn.folder / "home")
    discard = trash.new("s", str(inn.work), "1 file", [DiscardStep("a.txt", was_there=True)])
    discard.take(0)
    assert not (inn.work / "a.txt").exists()
    old = trash.new("s", str(inn.work), "1 file", [DiscardStep("b.txt", was_there=False)])
    old.finish()
    record = old.place / "record.json"
    record.write_text(record.read_text().replace(f'"at": {old.at}', f'"at": {old.at - KEPT_SECONDS}'))
    os.utime(old.place, (0, 0))
    await inn.restart()
    assert (inn.work / "a.txt").read_text() == "one\n"
    assert not old.place.exists(), "what is older than a week is deleted"
