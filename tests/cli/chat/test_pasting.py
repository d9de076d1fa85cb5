"""Several lines at once in `serai chat`, and what is written while a turn runs."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from cli.programs import running, seated
from cli.screens import Desk, parse, talk
from client.hosts import House, soon
from serai.ahp.types import SessionInputQuestion, SessionInputRequest, SessionInputTextQuestion
from serai.cli.console.terminal import StdinLines
from serai.host.turn import Turn


def value_of(answer: Any) -> str:
    return answer.value.value


async def agent(turn: Turn) -> None:
    await turn.say(f"you said {turn.message.text!r}")
    if turn.message.text == "sleep":
        while (steering := turn.steering()) is None:  # noqa: ASYNC110 - an agent that looks now and then
            await asyncio.sleep(0)
        await turn.say(f" and {steering.text!r}")
    if turn.message.text == "ask":
        names = ("first", "second")
        questions: list[SessionInputQuestion] = [
            SessionInputTextQuestion(id=name, message=f"The {name}?") for name in names
        ]
        answers = (await turn.ask(SessionInputRequest(id="q", questions=questions))).answers
        await turn.say(f" and {[value_of(answers[name]) for name in names]}")


@pytest.mark.parametrize(
    ("pasted", "sent"),
    [
        (["one", "two", "", "/quit"], "one\ntwo\n\n/quit"),
        (["", "one", "two", ""], "one\ntwo"),
        (["//one", "two"], "/one\ntwo"),
        (["/queue one", "two"], "one\ntwo"),
        (["/queue", "one", "two"], "one\ntwo"),
    ],
)
async def test_what_is_pasted_is_one_message(pasted: list[str], sent: str) -> None:
    desk = Desk()
    async with House(agent=agent) as house, house.client() as client:
        chat = asyncio.ensure_future(talk(client, desk))
        await desk.screen.shows("\n> ")
        desk.keyboard.paste(*pasted)
        await desk.screen.shows(f"you said {sent!r}\n")
        assert "A turn is running" not in desk.text
        desk.keyboard.type("/quit")
        assert await soon(chat) == 0


async def test_commands_and_answers_that_are_pasted_are_taken_one_by_one() -> None:
    desk = Desk()
    async with House(agent=agent) as house, house.client() as client:
        chat = asyncio.ensure_future(talk(client, desk))
        desk.keyboard.type("ask")
        await desk.screen.shows("The first?")
        desk.keyboard.paste("one", "two")
        await desk.screen.shows("and ['one', 'two']")
        desk.keyboard.paste("/title Pasted", "/quit", "nobody hears this")
        assert await soon(chat) == 0
        [summary] = await soon(client.list_sessions())
        assert summary.title == "Pasted"
        assert "nobody hears this" not in desk.text


async def test_what_was_written_while_a_turn_runs_is_not_lost() -> None:
    desk = Desk()
    async with House(agent=agent) as house, house.client() as client:
        chat = asyncio.ensure_future(talk(client, desk))
        desk.keyboard.type("sleep")
        await desk.screen.shows("you said 'sleep'")
        desk.keyboard.paste("one", "two")
        await desk.screen.shows("A turn is running: /queue sends this afterwards, /steer now")
        desk.keyboard.type("/queue")
        await desk.screen.shows("It waits for the end of the turn.")
        desk.keyboard.type("/queue")
        await desk.screen.shows("/queue needs a text after it.")
        desk.keyboard.type("//three")
        await desk.screen.shows("A turn is running", times=2)
        desk.keyboard.type("/steer")
        await desk.screen.shows("and '/three'")
        await desk.screen.shows("you said 'one\\ntwo'")
        desk.keyboard.type("/steer")
        await desk.screen.shows("/steer needs a text after it.")
        desk.keyboard.type("/quit")
        assert await soon(chat) == 0


async def test_on_a_terminal(tmp_path: Path) -> None:
    async with running("serve", "--port", "0", home=tmp_path) as host:
        await host.says("address")
        async with seated("chat", "--agent", "demo", home=tmp_path) as seat:
            await seat.shows(r"\n> ")
            seat.type("first line\nsecond line\nthird ü\n")
            await seat.shows("You said “first line second line third ü”")
            assert "A turn is running" not in seat.text
            seat.type("/quit\n")
            assert await seat.ended() == 0


async def test_the_lines_of_a_pipe_do_not_come_together() -> None:
    fd, write = os.pipe()
    os.write(write, b"one\ntwo\n")
    lines = StdinLines(fd)
    try:
        assert await soon(lines.read()) == "one"
        assert await soon(lines.together()) == []
        assert await soon(lines.read()) == "two"
    finally:
        lines.close()
        os.close(fd)
        os.close(write)


def test_an_empty_message_is_a_wrong_call(capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("", " \n"):
        options = parse("chat", "--once", text)
        with pytest.raises(SystemExit):
            options.run(options)
        assert "--once: there is no message to send" in capsys.readouterr().err
