"""Several lines at once in `serai chat`, and what is written while a turn runs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cli.screens import Desk, parse, talk
from client.hosts import House, soon
from serai.ahp.types import SessionInputQuestion, SessionInputRequest, SessionInputTextQuestion
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
        (["//one", "two"], "/one\ntwo"),
        (["/queue one", "two"], "one\ntwo"),
    ],
)
async def test_what_is_pasted_is_one_message(pasted: list[str], sent: str) -> None:
    desk = Desk()
    async with House(agent=agent) as house, house.client() as client:
        chat = asyncio.ensure_future(talk(client, desk))
        await desk.screen.shows("\n> ")
        desk.keyboard.paste(*pasted)
        await desk.screen.shows(f"you said {sent!r}\n")
        assert "queued" not in desk.text
        desk.keyboard.type("/quit")
        assert await soon(chat) == 0


async def test_what_is_pasted_while_a_turn_runs_follows_it_as_one_message() -> None:
    desk = Desk()
    async with House(agent=agent) as house, house.client() as client:
        chat = asyncio.ensure_future(talk(client, desk))
        desk.keyboard.type("sleep")
        await desk.screen.shows("you said 'sleep'")
        desk.keyboard.paste("one", "two")
        await desk.screen.shows("(queued")
        desk.keyboard.paste("/steer three", "four")
        await desk.screen.shows("and 'three\\nfour'")
        await desk.screen.shows("you said 'one\\ntwo'")
        desk.keyboard.type("/steer")
        await desk.screen.shows("/steer needs a text after it.")
        desk.keyboard.type("/quit")
        assert await soon(chat) == 0


def test_an_empty_message_is_a_wrong_call(capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("", " \n"):
        options = parse("chat", "--once", text)
        with pytest.raises(SystemExit):
            options.run(options)
        assert "--once: there is no message to send" in capsys.readouterr().err
