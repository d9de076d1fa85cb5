"""`serai chat` alone: it goes on with what was talked about in this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.screens import Desk, parse
from client.hosts import House, soon
from serai.cli.chat.command import converse
from serai.client import Client
from serai.host.turn import Turn


async def agent(turn: Turn) -> None:
    await turn.say(f"you said {turn.message.text}")


async def alone(client: Client, desk: Desk, folder: Path) -> int:
    """What `serai chat` does in a folder."""
    options = parse("chat")
    options.directory, options.goes_on = folder, True
    return await soon(converse(client, desk.terminal, options))


async def talked(client: Client, folder: Path, text: str) -> str:
    session = await soon(client.create_session(working_directory=folder.as_uri()))
    await soon((await soon(session.prompt(text))).result())
    return session.uri


async def test_a_folder_without_sessions_gets_one_and_then_goes_on_with_it(tmp_path: Path) -> None:
    async with House(agent=agent) as house, house.client() as client:
        await talked(client, tmp_path.parent, "elsewhere")
        desk = Desk("first", "/quit")
        assert await alone(client, desk, tmp_path) == 0
        assert "elsewhere" not in desk.text
        again = Desk("/quit")
        assert await alone(client, again, tmp_path) == 0
        assert "> first\n" in again.text
        assert len(await soon(client.list_sessions())) == 2


@pytest.mark.parametrize("said", ["", "2", "new"])
async def test_of_several_the_person_chooses(tmp_path: Path, said: str) -> None:
    async with House(agent=agent) as house, house.client() as client:
        for text in ("one", "two"):
            await talked(client, tmp_path, text)
        put_away = await soon(client.open_session(await talked(client, tmp_path, "three")))
        await soon(put_away.archive())
        desk = Desk("9", said, "/quit")
        assert await alone(client, desk, tmp_path) == 0
        listed, asked, after = desk.text.partition("Go on with which one (1-2, Enter: 1, new: another)? ")
        assert asked
        rows = {row.split()[0]: row.split()[3] for row in listed.splitlines()[1:]}
        assert set(rows.values()) == {"one", "two"}
        wanted = rows.get(said or "1")
        assert (f"(turns so far: 1; the last one:)\n> {wanted}\n" in after) is (said != "new")
        assert len(await soon(client.list_sessions())) == 3


async def test_for_a_pipe_a_session_is_begun(tmp_path: Path) -> None:
    async with House(agent=agent) as house, house.client() as client:
        await talked(client, tmp_path, "one")
        assert await alone(client, Desk("hello", person=False), tmp_path) == 0
        assert len(await soon(client.list_sessions())) == 2
