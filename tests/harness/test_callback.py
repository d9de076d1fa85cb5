"""A Python function as an agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from msgspec.structs import replace

from harness.conversation import Conversation, frame, prose
from serai.ahp.types import TurnState
from serai.contract import (
    OBSERVED_BY_HOST,
    AgentSessionCapabilities,
    DeliveryMode,
    MessageContext,
    RelayMessage,
    check_registration,
)
from serai.harness.callback import CAPABILITIES, STEERABLE, CallbackHarness
from serai.host.host import Host
from serai.host.turn import Turn
from serai.store.memory import MemoryStore


@asynccontextmanager
async def talking_to(harness: CallbackHarness, **params: Any) -> AsyncGenerator[Conversation]:
    """A conversation with an agent on a host of its own."""
    host = Host(MemoryStore(), [harness], frame)
    await host.open()
    try:
        yield await Conversation.begin(host, harness.name, **params)
    finally:
        await host.close()


async def shout(turn: Turn) -> None:
    await turn.say(turn.message.text.upper())


class TestAnswering:
    async def test_a_function_of_two_lines_answers(self) -> None:
        async with talking_to(CallbackHarness("shout", shout)) as conversation:
            assert prose(await conversation.say("good morning")) == "GOOD MORNING"
            assert prose(await conversation.say("and again")) == "AND AGAIN"

    def test_a_function_that_is_not_async_is_refused_at_once(self) -> None:
        with pytest.raises(TypeError, match="must be an async function"):
            CallbackHarness("wrong", cast("Any", print))

    async def test_an_exception_ends_the_turn_with_an_error(self) -> None:
        async def stumble(turn: Turn) -> None:
            await turn.say("so far")
            raise LookupError("the key is under the mat")

        async with talking_to(CallbackHarness("stumble", stumble)) as conversation:
            turn = await conversation.say("go")
            error = await conversation.heard("session/error")
        assert error["error"] == {"errorType": "agent_error", "message": "the key is under the mat"}
        assert (turn.state, prose(turn)) == (TurnState.ERROR, "so far")

    async def test_cancelling_the_turn_cancels_the_function(self) -> None:
        ended = asyncio.Event()

        async def wait(turn: Turn) -> None:
            try:
                await turn.activity("waiting")
                await asyncio.Event().wait()
            finally:
                ended.set()

        async with talking_to(CallbackHarness("wait", wait)) as conversation:
            conversation.start("go")
            await conversation.heard("session/activityChanged")
            conversation.cancel()
            turn = await conversation.end()
            async with asyncio.timeout(30):
                await ended.wait()
            await conversation.quiet()
            assert conversation.state.summary.activity is None
        assert turn.state == TurnState.CANCELLED

    async def test_the_function_answers_the_message_that_was_handed_over(self) -> None:
        async with talking_to(CallbackHarness("shout", shout)) as conversation:
            agent = await conversation.session.agent()
            receive = agent.receive_message

            async def another(message: RelayMessage, context: MessageContext) -> Any:
                return await receive(replace(message, text="from elsewhere"), context)

            cast("Any", agent).receive_message = another
            assert prose(await conversation.say("go")) == "FROM ELSEWHERE"

    async def test_a_repeated_delivery_does_not_call_the_function_again(self) -> None:
        called: list[str] = []
        delivered: list[Any] = []

        async def count(turn: Turn) -> None:
            called.append(turn.id)

        async with talking_to(CallbackHarness("count", count)) as conversation:
            agent = await conversation.session.agent()
            receive = agent.receive_message

            async def twice(message: Any, context: MessageContext) -> Any:
                delivered.extend([await receive(message, context), await receive(message, context)])
                return delivered[-1]

            cast("Any", agent).receive_message = twice
            await conversation.say("go")
        assert len(called) == 1
        assert delivered[0] == delivered[1]


class TestCapabilities:
    @pytest.mark.parametrize("declared", [CAPABILITIES, STEERABLE])
    async def test_a_session_declares_what_its_harness_was_given(
        self, declared: AgentSessionCapabilities
    ) -> None:
        harness = CallbackHarness("shout", shout, capabilities=declared)
        async with talking_to(harness) as conversation:
            agent = await conversation.session.agent()
            assert agent.capabilities == declared
            check_registration(agent, OBSERVED_BY_HOST)

    def test_only_a_function_that_says_so_takes_messages_while_it_works(self) -> None:
        assert DeliveryMode.NEXT_TOOL_CALL not in CAPABILITIES.delivery.modes
        assert DeliveryMode.NEXT_TOOL_CALL in STEERABLE.delivery.modes
