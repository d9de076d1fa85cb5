"""The same agents everywhere, also those that only a running host has."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cli.programs import Done, address_of, run, running
from serai.contract import MessageContext, RelayMessage
from serai.relay.harness import define_harness
from serai.relay.sdk import Relay

SHOUT = """
async def shout(turn):
    await turn.say(turn.message.text.upper())
"""


@asynccontextmanager
async def hosting(home: Path) -> AsyncGenerator[None]:
    """A host with a function of its own, a program that takes part, and one that only has a token."""
    (home / "mine.py").write_text(SHOUT)
    words = ("serve", "--port", "0", "--agent", "mine:shout")
    async with running(*words, home=home, PYTHONPATH=str(home)) as host:
        address, token = await address_of(host, home)
        async with await Relay.connect(f"http://{address}", token) as relay:
            await relay.register(define_harness("reviewer", review))
            await relay.call("tokens.create", agent="ci")
            yield


async def review(message: RelayMessage, context: MessageContext) -> str | None:
    del context
    return None if message.text == "hush" else f"Looks good: {message.text}"


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[Path]:
    async with hosting(tmp_path):
        yield tmp_path


async def ask(home: Path, *words: str) -> Done:
    return await run("ask", *words, home=home, cwd=home)


async def test_the_list_has_what_only_the_host_has(home: Path) -> None:
    told = (await run("agents", home=home)).out
    rows = {line.split()[0]: line for line in told.splitlines() if line}
    assert {"demo", "shout", "reviewer", "claude"} <= set(rows)
    assert "serai send @reviewer" in rows["reviewer"]
    assert "ci" not in rows, "it takes no messages, but fetches them"
    listed = json.loads((await run("agents", "--json", home=home)).out)["agents"]
    by_id = {one["id"]: one for one in listed}
    assert by_id["shout"]["usable"] is True
    assert by_id["reviewer"]["handle"] == "@reviewer"


async def test_a_function_of_the_host_is_asked_there_and_leaves_no_session(home: Path) -> None:
    assert await ask(home, "shout", "hello") == Done(0, "HELLO\n", "")
    told = json.loads((await ask(home, "shout", "hello", "--json")).out)
    assert told == {"agent": "shout", "text": "HELLO", "stopReason": "end_turn"}
    assert json.loads((await run("sessions", "--json", home=home)).out) == []


async def test_a_program_that_takes_part_is_written_to_and_its_answer_printed(home: Path) -> None:
    assert await ask(home, "reviewer", "my diff") == Done(0, "Looks good: my diff\n", "")
    told = json.loads((await ask(home, "@reviewer", "it", "--json")).out)
    assert told == {"agent": "reviewer", "text": "Looks good: it", "stopReason": "end_turn"}
    silent = await ask(home, "reviewer", "hush")
    assert (silent.code, silent.out) == (0, "")
    chat = await run("chat", "--agent", "reviewer", "--once", "hello", home=home, cwd=home)
    assert (chat.code, "serai send @reviewer" in chat.err) == (1, True)


async def test_what_holds_only_for_others_and_unknown_names_are_refused(home: Path) -> None:
    for name in ("shout", "reviewer"):
        done = await ask(home, name, "hello", "--schema", "{}")
        assert (done.code, done.out) == (1, "")
        assert "--schema" in done.err
    done = await ask(home, "shoot", "hello")
    assert done.code == 1
    assert "Did you mean shout? There are: demo, " in done.err
    assert {"shout", "reviewer", "claude"} <= set(done.err.partition("There are: ")[2].split(", "))
    assert "demo is a part of Serai" in (await run("agents", "probe", "demo", home=home)).err


async def test_without_a_host_an_unknown_name_is_told_those_that_there_are(tmp_path: Path) -> None:
    assert "There are: demo, claude" in (await ask(tmp_path, "shout", "hello")).err
