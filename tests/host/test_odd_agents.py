"""Agents that do what no agent should: their turn ends with an error, and everything else goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from harness.conversation import Conversation, frame
from hosts import WITHIN
from serai.ahp import wire
from serai.ahp.types import MarkdownResponsePart, TurnState, UsageInfo
from serai.harness.callback import Answer, CallbackHarness
from serai.host.host import Host
from serai.host.turn import Turn
from serai.store.memory import MemoryStore


class Inn:
    """Hosts on one store, one after the other."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.answer: Answer | None = None
        self.host = self._host()

    def _host(self) -> Host:
        async def answer(turn: Turn) -> None:
            assert self.answer is not None
            await self.answer(turn)

        return Host(self.store, [CallbackHarness("odd", answer)], frame)

    async def turn(self, answer: Answer) -> Any:
        """What becomes of a turn; a host that starts again knows the same of it."""
        self.answer = answer
        talk = await Conversation.begin(self.host, "odd")
        turn, known = await talk.say("go"), wire.encode(talk.state.turns)
        await self.host.close()
        self.host = self._host()
        await self.host.open()
        again = await self.host.sessions.bring(talk.session.uri)
        assert again is not None
        assert wire.encode(again.live.snapshot().turns) == known
        return turn


@pytest.fixture
async def inn() -> AsyncGenerator[Inn]:
    inn = Inn()
    await inn.host.open()
    async with asyncio.timeout(WITHIN):
        yield inn
    await inn.host.close()


async def test_text_that_is_not_unicode_is_mended(inn: Inn) -> None:
    async def answer(turn: Turn) -> None:
        await turn.say("half \ud800 a character")
        await turn.notice("and \udcff again")
        await turn.activity("\udc00")

    turn = await inn.turn(answer)
    assert turn.state == TurnState.COMPLETE
    part = turn.response_parts[0]
    assert isinstance(part, MarkdownResponsePart)
    assert part.content == "half \ufffd a character"


async def test_an_error_about_a_name_that_is_not_unicode_is_told(inn: Inn) -> None:
    async def answer(turn: Turn) -> None:
        del turn
        raise ValueError("no file 'a\udcff.txt'")

    turn = await inn.turn(answer)
    assert turn.state == TurnState.ERROR
    assert turn.error.message == "no file 'a\ufffd.txt'"


async def test_what_is_no_json_fails_the_turn_alone(inn: Inn) -> None:
    async def answer(turn: Turn) -> None:
        call = await turn.tool("t", "T", message="T", confirmed="not-needed")
        await call.done("Done", structured={"a": object()})

    assert (await inn.turn(answer)).state == TurnState.ERROR


async def test_a_count_that_is_no_number_is_not_kept(inn: Inn) -> None:
    async def answer(turn: Turn) -> None:
        await turn.used(UsageInfo(input_tokens=float("nan")))

    turn = await inn.turn(answer)
    assert turn.usage.input_tokens is None


@pytest.mark.parametrize("error", [SystemExit(3), asyncio.CancelledError(), ZeroDivisionError()])
async def test_whatever_it_raises_its_turn_ends(inn: Inn, error: BaseException) -> None:
    async def answer(turn: Turn) -> None:
        del turn
        raise error

    assert (await inn.turn(answer)).state == TurnState.ERROR
