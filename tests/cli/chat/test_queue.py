"""Messages that wait in a session, in a chat and in `serai sessions show`."""

from __future__ import annotations

import asyncio

import pytest

from cli.screens import Desk, parse, talk
from client.hosts import House, soon
from serai.client import Client
from serai.host.turn import Turn


async def agent(turn: Turn) -> None:
    await turn.say(f"you said {turn.message.text}")
    if turn.message.text == "sleep":
        await asyncio.Event().wait()
    if turn.message.text == "fail":
        raise ValueError("it broke")


async def show(client: Client, *words: str) -> None:
    options = parse("sessions", "show", *words)
    assert await soon(options.command(client, options)) == 0


async def interrupted(desk: Desk, *messages: str) -> None:
    """Have messages wait behind a turn, and stop it."""
    desk.keyboard.type("sleep")
    await desk.screen.shows("you said sleep")
    for number, text in enumerate(messages, start=1):
        desk.keyboard.type(text)
        await desk.screen.shows("(queued: it follows this turn", times=number)
    desk.keyboard.type("/cancel")
    await desk.screen.shows("(the turn was cancelled)")


async def test_what_is_held_is_told_after_the_turn_and_goes_on_when_someone_says_so() -> None:
    desk = Desk()
    async with House(agent=agent) as house, house.client() as client:
        chat = asyncio.ensure_future(talk(client, desk))
        await interrupted(desk, "one", "two")
        await desk.screen.shows("(held, since the turn was cancelled: /go sends them, ")
        await desk.screen.shows("\n  1  one\n  2  two\n> ")
        assert desk.text.index("(the turn was cancelled)") < desk.text.index("(held, since")
        desk.keyboard.type("/go")
        await desk.screen.shows("> one\nyou said one\n")
        await desk.screen.shows("> two\nyou said two\n")
        assert desk.text.count("held") == 1
        await desk.screen.shows("> ", times=5)
        desk.keyboard.type("/go")
        await desk.screen.shows("No message waits.")
        desk.keyboard.type("/quit")
        assert await soon(chat) == 0


async def test_what_is_held_can_be_taken_back_one_by_one() -> None:
    desk = Desk()
    async with House(agent=agent) as house, house.client() as client:
        chat = asyncio.ensure_future(talk(client, desk))
        await interrupted(desk, "one", "two")
        for number, words in enumerate(["/drop", "/drop 3", "/drop one"], start=1):
            desk.keyboard.type(words)
            await desk.screen.shows(
                "Which one? /drop NUMBER takes it back.\n  1  one\n  2  two\n", times=number
            )
        desk.keyboard.type("/drop 1")
        await desk.screen.shows("It is taken back.")
        desk.keyboard.type("/drop 2")
        await desk.screen.shows("Which one? /drop NUMBER takes it back.\n  1  two\n")
        desk.keyboard.type("/drop")
        await desk.screen.shows("It is taken back.", times=2)
        desk.keyboard.type("/drop")
        await desk.screen.shows("No message waits.")
        desk.keyboard.type("last")
        await desk.screen.shows("you said last")
        desk.keyboard.type("/quit")
        assert await soon(chat) == 0
        assert "you said two" not in desk.text


async def test_who_comes_back_is_told_and_so_is_who_looks(capsys: pytest.CaptureFixture[str]) -> None:
    async with House(agent=agent) as house, house.client() as client:
        session = await soon(client.create_session())
        await soon(session.begin_turn("sleep"))
        await soon(session.queue("later"))
        await show(client, session.id)
        shown = capsys.readouterr().out
        assert "(queued) later\n" in shown
        assert "held" not in shown
        await house.restart()
        await soon(session.until(lambda state: state.active_turn is None))
        await show(client, session.id)
        shown = capsys.readouterr().out
        assert "\n(held, since the host was restarted: the next message sends what is queued, " in shown
        assert shown.endswith("or /go in a chat)\n(queued) later\n")
        desk = Desk()
        chat = asyncio.ensure_future(talk(client, desk, session.id))
        await desk.screen.shows("(held, since the host was restarted: /go sends them, ")
        desk.keyboard.type("/go")
        await desk.screen.shows("> later\nyou said later\n")
        desk.keyboard.type("/quit")
        assert await soon(chat) == 0
