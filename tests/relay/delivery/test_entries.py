"""What is handed to an agent in another process, by a client or the relay, and is not taken at once."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hosts import WITHIN, deliveries, outcome
from relay.workspaces import Inn, inn
from serai.contract import Accepted, Deferred
from serai.harness.callback import CallbackHarness
from serai.host.session.session import Session
from serai.host.turn import Turn
from serai.store.memory import MemoryStore


class Remote(CallbackHarness):
    """An agent in another process that does something else with what it is handed than to take it."""

    def __init__(self, does: str) -> None:
        async def answer(turn: Turn) -> None:
            await turn.say("never")

        super().__init__("remote", answer)
        self.in_process = False
        self.does = does
        self.often = 0
        self.goes_on = asyncio.Event()

    async def create(self, settings: Any, context: Any) -> Any:
        session = await super().create(settings, context)

        async def receive_message(message: Any, context: Any) -> Any:
            del message
            self.often += 1
            match self.does:
                case "fails":
                    raise RuntimeError("out of paper")
                case "defers":
                    later = datetime.now(UTC) + timedelta(milliseconds=1)
                    return Deferred(delivery_id=context.id, available_at=later, reason="out of paper")
                case _:
                    if self.does == "accepts late":
                        await self.goes_on.wait()
                    return Accepted(delivery_id=context.id)

        session.receive_message = receive_message
        return session


@pytest.mark.parametrize("does", ["fails", "defers"])
async def test_what_did_not_reach_the_agent_is_not_tried_again_behind_the_client_s_back(does: str) -> None:
    agent = Remote(does)
    async with inn(harnesses=[agent]) as house:
        session = await house.session("one", "remote")
        house.say(session, "hello")
        await house.until(lambda: session.live.head.turns)
        assert session.live.head.turns[-1].state == "error"
        [record] = await deliveries(house.host, session.uri)
        assert (record.is_open, outcome(record), record.due) == (False, "out of paper", None)
        assert agent.often == 1


async def accepted(house: Inn, session: Session) -> None:
    """Wait until the agent has accepted what it was handed."""
    async with asyncio.timeout(WITHIN):
        while [one.state for one in await deliveries(house.host, session.uri)] != ["accepted"]:
            await house.host.journal.committed()


@pytest.mark.parametrize("does", ["accepts", "accepts late"])
async def test_what_the_agent_accepted_and_never_answered_has_failed_when_its_turn_is_cancelled(
    does: str,
) -> None:
    agent = Remote(does)
    async with inn(harnesses=[agent]) as house:
        session = await house.session("one", "remote")
        house.say(session, "hello")
        await house.until(lambda: agent.often)
        if does == "accepts":
            await accepted(house, session)
        session.turns.interrupt_for_message()
        agent.goes_on.set()
        await house.until(lambda: not session.tasks)
        [record] = await deliveries(house.host, session.uri)
        assert outcome(record) == "cancelled"


@pytest.mark.parametrize("sender", ["a client", "the relay"])
async def test_what_the_agent_accepted_and_never_answered_is_unknown_after_a_restart(sender: str) -> None:
    store, agent = MemoryStore(), Remote("accepts")
    async with inn(store=store, harnesses=[agent]) as house:
        session = await house.session("one", "remote")
        if sender == "a client":
            house.say(session, "hello")
        else:
            await house.send("@remote", "hello")
        await accepted(house, session)
    async with inn(store=store, harnesses=[agent]) as house:
        [record] = await deliveries(house.host, session.uri)
        assert outcome(record) == "outcome_unknown"
