"""What is recorded of a folder while a turn is running."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from host.changes.conftest import OF_SESSION, OF_TURN, WITHIN, Inn, counted, idle
from serai.changes.catalogue import ChangesetKind, Which, uri_of
from serai.errors import ProtocolError
from serai.host.turn import Turn

Move: TypeAlias = Callable[[Inn, Path], None]


def make_its_own(inn: Inn, folder: Path) -> None:
    inn.git("init", "-q", str(folder))


def lead_elsewhere(inn: Inn, folder: Path) -> None:
    inn.git("clone", "-q", str(inn.work), str(inn.folder / "other"))
    folder.unlink()
    folder.symlink_to(inn.folder / "other/part")


@pytest.mark.parametrize("move", [make_its_own, lead_elsewhere])
async def test_a_turn_that_moves_its_folder_ends_where_it_began_and_the_next_one_is_followed(
    inn: Inn, move: Move
) -> None:
    part = inn.work / "part"
    part.mkdir()
    (part / "a.txt").write_text("one\n")
    inn.git("add", "-A")
    inn.git("commit", "-q", "-m", "second")
    folder = inn.folder / "link"
    folder.symlink_to(part)
    if move is make_its_own:
        folder = part
    has_moved, go_on = asyncio.Event(), asyncio.Event()

    async def moves(turn: Turn) -> None:
        del turn
        (part / "a.txt").write_text("two\n")
        move(inn, folder)
        has_moved.set()
        await go_on.wait()

    async def writes(turn: Turn) -> None:
        del turn
        (folder / "b.txt").write_text("x\n")

    session = await inn.begin(folder)
    await inn.until(lambda: counted(session) == [0, 0, None])
    inn.answer = moves
    inn.start(session)
    async with asyncio.timeout(WITHIN):
        await has_moved.wait()
    session.changing.look_again()
    state = await inn.follow(OF_TURN)
    assert [file.id for file in state.files] == ["a.txt"]
    with pytest.raises(ProtocolError, match="not where it was") as caught:
        await inn.host.changesets.invoke(OF_TURN, "discard", None)
    assert "opened anew" in str(caught.value.data)
    go_on.set()
    await inn.until(lambda: session.live.turn is None)
    await idle(inn, session)
    inn.answer = writes
    inn.start(session, "u")
    await inn.until(lambda: session.live.turn is None)
    await idle(inn, session)
    next_turn = uri_of("s", Which(ChangesetKind.TURN, "u"))
    state = await inn.follow(next_turn)
    assert (state.status, [file.id for file in state.files]) == ("ready", ["b.txt"])
    assert [file.id for file in (await inn.follow(OF_SESSION)).files] == ["b.txt"]
    await inn.host.changesets.invoke(next_turn, "discard", None)
    assert not (folder / "b.txt").exists()
    assert (part / "a.txt").read_text() == "two\n"


async def test_what_an_agent_wrote_before_it_told_of_it_is_seen_in_a_folder_without_git(inn: Inn) -> None:
    folder = inn.folder / "plain"
    folder.mkdir()
    old, gone = folder / "old.txt", folder / "gone.txt"
    for file in (old, gone):
        file.write_text("one\n")

    async def writes(turn: Turn) -> None:
        since = time.time_ns()
        old.write_text("two\n")
        gone.unlink()
        (folder / "new.txt").write_text("x\n")
        async with turn.editing("old.txt", gone, "new.txt", since=since):
            pass

    session = await inn.begin(folder)
    inn.answer = writes
    inn.start(session)
    await inn.until(lambda: session.live.turn is None)
    await idle(inn, session)
    for uri in (OF_TURN, OF_SESSION):
        assert [file.id for file in (await inn.follow(uri)).files] == ["gone.txt", "new.txt", "old.txt"]
    await inn.restart()
    inn.host.journal.subscriptions.add(OF_TURN, inn.someone)
    assert [file.id for file in (await inn.follow(OF_TURN)).files] == ["gone.txt", "new.txt", "old.txt"]
    await inn.host.changesets.invoke(OF_TURN, "discard", None)
    assert {file.name: file.read_text() for file in folder.iterdir()} == {
        "gone.txt": "one\n",
        "old.txt": "one\n",
    }
