"""A terminal of the host, followed and used by a client."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path

import pytest

from client.hosts import House, soon
from serai.ahp import actions as a
from serai.client import Client, SessionGone, TerminalClient
from serai.errors import ProtocolError
from serai.host.turn import Turn


async def agent(turn: Turn) -> None:
    await turn.say("hello")


async def shown(terminal: TerminalClient, until: str) -> str:
    """What a terminal shows until something is there."""
    text = ""

    async def read() -> None:
        nonlocal text
        async for piece in terminal.output():
            text = piece.text if piece.is_anew else text + piece.text
            if until in text:
                return

    await soon(read())
    return text


@pytest.fixture
def plain_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/bin/sh")
    monkeypatch.setenv("PS1", "$ ")


@pytest.mark.usefixtures("plain_shell")
class TestTerminal:
    async def opened(self, client: Client, tmp_path: Path) -> TerminalClient:
        return await soon(client.create_terminal(name="mine", directory=tmp_path.as_uri(), size=(60, 20)))

    async def test_what_is_typed_runs_and_what_it_prints_is_told(self, tmp_path: Path) -> None:
        async with House(agent=agent) as house, house.client() as client:
            terminal = await self.opened(client, tmp_path)
            assert (terminal.state.title, terminal.state.cols, terminal.state.rows) == ("mine", 60, 20)
            await soon(terminal.write("echo $((40 + 2)); stty size; pwd\n"))
            text = await shown(terminal, str(tmp_path))
            assert "42\r\n20 60\r\n" in text
            # A second reader gets what is there, from the beginning.
            assert "42\r\n" in await shown(terminal, str(tmp_path))

    async def test_nothing_is_told_twice_over_a_lost_connection(self, tmp_path: Path) -> None:
        async with House(agent=agent) as house, house.client() as client:
            terminal = await self.opened(client, tmp_path)
            await soon(terminal.write("echo fir''st\n"))
            reader = asyncio.ensure_future(shown(terminal, "second\r\n"))
            await shown(terminal, "first\r\n")
            house.cut()
            await soon(terminal.write("echo sec''ond\n"))
            assert (await soon(reader)).count("first\r\n") == 1

    async def test_what_was_missed_is_made_up_for_from_a_snapshot(self, tmp_path: Path) -> None:
        async with House(agent=agent) as house, house.client() as client:
            terminal = await self.opened(client, tmp_path)
            await soon(terminal.write("echo fir''st\n"))
            reader = asyncio.ensure_future(shown(terminal, "more\r\n"))
            await shown(terminal, "first\r\n")
            terminal.caught_up()  # as after a reconnect that brought snapshots
            await soon(terminal.write("echo mo''re\n"))
            assert (await soon(reader)).count("first\r\n") == 1

    async def test_a_cleared_terminal_begins_anew(self, tmp_path: Path) -> None:
        async with House(agent=agent) as house, house.client() as client:
            terminal = await self.opened(client, tmp_path)
            await soon(terminal.write("echo fir''st\n"))
            reader = asyncio.ensure_future(shown(terminal, "second\r\n"))
            await shown(terminal, "first\r\n")
            await soon(client.dispatch(terminal.uri, a.TerminalClearedAction()))
            await soon(terminal.write("echo sec''ond\n"))
            assert "first" not in await soon(reader)

    async def test_a_terminal_that_is_left_ends_its_streams(self, tmp_path: Path) -> None:
        async with House(agent=agent) as house, house.client() as client:
            terminal = await self.opened(client, tmp_path)
            reader = asyncio.ensure_future(shown(terminal, "never said"))
            await asyncio.sleep(0)
            terminal.leave()
            with pytest.raises(SessionGone):
                await soon(reader)
            with pytest.raises(SessionGone):
                _ = terminal.state
            again = await soon(client.open_terminal(terminal.uri))
            assert again is not terminal
            assert again.state.exit_code is None

    async def test_one_that_is_not_there(self) -> None:
        async with House(agent=agent) as house, house.client() as client:
            with pytest.raises(ProtocolError):
                await soon(client.open_terminal(f"ahp-terminal:/{uuid.uuid4()}"))
