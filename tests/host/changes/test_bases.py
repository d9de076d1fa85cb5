"""What is recorded of a folder while a turn is running."""

from __future__ import annotations

import asyncio

import pytest

from host.changes.conftest import OF_SESSION, OF_TURN, WITHIN, Inn, counted, idle
from serai.changes.view import ChangesetKind, Which, uri_of
from serai.errors import ProtocolError
from serai.host.turn import Turn


async def test_a_turn_that_moves_its_folder_ends_where_it_began_and_the_next_one_is_followed(
    inn: Inn,
) -> None:
    inn.git("clone", "-q", str(inn.work), str(inn.folder / "other"))
    folder = inn.folder / "link"
    folder.symlink_to(inn.work)
    has_moved, go_on = asyncio.Event(), asyncio.Event()

    async def moves(turn: Turn) -> None:
        del turn
        (inn.work / "a.txt").write_text("two\n")
        folder.unlink()
        folder.symlink_to(inn.folder / "other")
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
    session.changes.look_again()
    state = await inn.follow(OF_TURN)
    assert [file.id for file in state.files] == ["a.txt"]
    with pytest.raises(ProtocolError, match="another one by now"):
        await inn.host.changesets.invoke(OF_TURN, "discard", None)
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
    assert (inn.work / "a.txt").read_text() == "two\n"
