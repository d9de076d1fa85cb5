"""The examples of docs/client.md do what the page says."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

import serai
from client.hosts import House, soon
from client.test_port import TOKEN, serving
from serai.ahp.types import SessionInputRequest
from serai.client import connect
from serai.host.turn import Turn

PAGE = Path(__file__).parents[2] / "docs" / "client.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def example(word: str) -> str:
    [found] = [text for text in EXAMPLES if word in text]
    return found


async def demo(turn: Turn) -> None:
    await turn.say(f"You said: {turn.message.text}")
    for name in ("read_file", "rm"):
        call = await turn.tool(name, name, message=name)
        if call.approved:
            await call.done("Read it", confirm_result=True)
        elif call.suggestion:
            await turn.say(call.suggestion.text)
    answers = await turn.ask(SessionInputRequest(id="q", message="Well?"))
    await turn.say(answers.response)


async def greeter(turn: Turn) -> None:
    await turn.say(f"You said: {turn.message.text}")


async def test_ten_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code = example("async def main()")
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    async with House(demo=greeter) as house, serving(house) as url:
        monkeypatch.setenv("SERAI_URL", url)
        monkeypatch.setenv("SERAI_TOKEN", TOKEN)
        monkeypatch.setattr(serai, "connect", connect, raising=False)
        # It has a loop of its own, as a script has.
        await soon(asyncio.to_thread(exec, code, {"__name__": "example"}))
    assert capsys.readouterr().out == "You said: Hello!\n"


async def test_watch(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    exec(example("async def watch"), names)  # noqa: S102 - it is our own page
    async with House(demo=greeter) as house, house.client() as client:
        await soon(names["watch"](await soon(client.create_session()), "hi"))
    assert capsys.readouterr().out == "You said: hi\ncomplete: no error\n"


async def test_answer_everything() -> None:
    names: dict[str, Any] = {}
    exec(example("async def answer_everything"), names)  # noqa: S102 - it is our own page
    async with House(demo=demo) as house, house.client() as client:
        session = await soon(client.create_session())
        result = await soon(names["answer_everything"](session, "hi"))
        assert result.text == "You said: hi\n\nOnly read, please.decline"


async def test_the_other_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    exec(example("def tell"), names)  # noqa: S102 - it is our own page
    exec(example("async def read"), names)  # noqa: S102 - it is our own page
    async with House(demo=greeter) as house:
        client = house.client()
        client.on_event(names["tell"])
        client.handle("resourceRead", names["read"])
        async with client:
            pass
    assert capsys.readouterr().out == "connected: initialized\n"
    assert (await names["read"](None)).data == "the content"
