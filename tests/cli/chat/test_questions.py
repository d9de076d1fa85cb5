"""What a chat asks the person: also between turns, and several things at once."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from cli.screens import Desk, talk
from client.hosts import House, soon
from serai.ahp.commands import ResourceRequestParams
from serai.ahp.types import (
    ROOT,
    ToolCallPendingConfirmationState,
)
from serai.client import Client, SessionClient
from serai.errors import ProtocolError
from serai.host.turn import Turn


async def agent(turn: Turn) -> None:
    match turn.message.text.split(maxsplit=1):
        case ["calls", count]:
            calls = [turn.tool("bash", "Run", message="make", input="make") for _ in range(int(count))]
            done = await asyncio.gather(*calls)
            await turn.say(" ".join(f"{call.id.rpartition('-')[2]}={call.approved}" for call in done))
        case _:
            pass
    await turn.say(f"you said {turn.message.text}")


def chatting(client: Client, desk: Desk, *words: str) -> asyncio.Future[int]:
    return asyncio.ensure_future(talk(client, desk, *words))


def wish(client: Client, path: Path) -> asyncio.Future[None]:
    """Ask for a file. A person has to allow it."""
    params = ResourceRequestParams(channel=ROOT, uri=path.as_uri(), read=True)
    return asyncio.ensure_future(soon(client.request("resourceRequest", params)))


async def the_session(client: Client) -> SessionClient:
    [summary] = await soon(client.list_sessions())
    return await soon(client.open_session(summary.resource))


class TestBetweenTurns:
    async def test_a_question_is_shown_at_once_and_answered(self, tmp_path: Path) -> None:
        desk = Desk()
        async with House(agent=agent) as house, house.client() as client, house.client("x") as other:
            chat = chatting(client, desk)
            await desk.screen.shows("\n> ")
            asked = wish(other, tmp_path)
            await desk.screen.shows(f"The client 'x' asks to read {tmp_path}. Allow it?")
            desk.keyboard.type("1")
            await asked
            await desk.screen.shows("(one of the numbers) > ")  # the person's Enter is not on this screen
            desk.keyboard.type("hello")
            await desk.screen.shows("you said hello")
            assert "no longer asked" not in desk.text
            desk.keyboard.end()
            assert await chat == 0

    async def test_a_question_from_before_the_chat_is_asked(self, tmp_path: Path) -> None:
        async with House(agent=agent) as house, house.client() as client, house.client("x") as other:
            session = await soon(client.create_session())
            asked = wish(other, tmp_path)
            await soon(session.until(lambda state: bool(state.input_requests)))
            desk = Desk()
            chat = chatting(client, desk, session.id)
            await desk.screen.shows("Allow it?")
            desk.keyboard.type("3")
            with pytest.raises(ProtocolError, match="said no"):
                await asked
            desk.keyboard.end()
            assert await chat == 0

    async def test_what_another_client_answers_is_taken_back_and_the_prompt_comes_again(
        self, tmp_path: Path
    ) -> None:
        desk = Desk()
        async with (
            House(agent=agent) as house,
            house.client() as client,
            house.client("x") as other,
            house.client() as third,
        ):
            chat = chatting(client, desk)
            await desk.screen.shows("\n> ")
            asked = wish(other, tmp_path)
            await desk.screen.shows("Allow it?")
            theirs = await the_session(third)
            [request] = theirs.state.input_requests or []
            await soon(theirs.answer(request.id, {"access": "day"}))
            await asked
            await desk.screen.shows("(no longer asked")
            await desk.screen.shows("\n> ", times=2)
            desk.keyboard.type("hello")
            await desk.screen.shows("you said hello")
            desk.keyboard.end()
            assert await chat == 0

    async def test_the_lines_of_a_pipe_are_messages_and_no_answers(self, tmp_path: Path) -> None:
        async with House(agent=agent) as house, house.client() as client, house.client("x") as other:
            session = await soon(client.create_session())
            asked = wish(other, tmp_path)
            await soon(session.until(lambda state: bool(state.input_requests)))
            desk = Desk(person=False)
            assert await chatting(client, desk, session.id) == 0
            [request] = session.state.input_requests or []
            await soon(session.decline(request.id))
            with pytest.raises(ProtocolError):
                await asked

    async def test_a_program_gets_the_event_and_answers(self, tmp_path: Path) -> None:
        desk = Desk(apart=True)
        desk.terminal.is_interactive = False
        async with House(agent=agent) as house, house.client() as client, house.client("x") as other:
            session = await soon(client.create_session())
            await soon((await soon(session.prompt("first"))).result())
            chat = chatting(client, desk, session.id, "--json")
            asked = wish(other, tmp_path)
            await desk.screen.shows('"question.asked"')
            desk.keyboard.type("1")
            await asked
            await desk.screen.shows('"question.closed"')
            desk.keyboard.type("second", "third")
            desk.keyboard.end()
            assert await chat == 0
            types = [json.loads(line)["type"] for line in desk.text.splitlines()]
            assert types[:2] == ["question.asked", "question.closed"]
            assert types.count("turn.ended") == 2


class TestSeveral:
    async def test_they_come_one_after_the_other_and_what_others_answer_is_taken_back(self) -> None:
        desk = Desk()
        async with House(agent=agent) as house, house.client() as client, house.client() as other:
            chat = chatting(client, desk)
            desk.keyboard.type("calls 4")
            await desk.screen.shows("Run?\n")
            theirs = await the_session(other)
            call = theirs.active_turn_id
            await soon(theirs.until(lambda _: _waiting(theirs) == 4))
            desk.keyboard.type("y")
            await desk.screen.shows("Run?\n", times=2)
            await soon(theirs.deny(f"{call}-call-2"))
            await desk.screen.shows("(no longer asked")
            await desk.screen.shows("Run?\n", times=3)
            desk.keyboard.type("n")
            await desk.screen.shows("Run?\n", times=4)
            desk.keyboard.type("y")
            await desk.screen.shows("1=True 2=False 3=False 4=True")
            desk.keyboard.end()
            assert await chat == 0


def _waiting(session: SessionClient) -> int:
    turn = session.live.turn if session.live else None
    return sum(isinstance(call, ToolCallPendingConfirmationState) for call in turn.calls()) if turn else 0
