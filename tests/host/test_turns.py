"""What waits for the end of a turn, and what becomes of it when the turn does not complete."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from harness.conversation import Conversation, frame
from hosts import WITHIN
from serai.ahp import actions as a
from serai.ahp.types import UserMessage
from serai.errors import AuthRequired
from serai.harness.callback import CallbackHarness
from serai.host.host import Host
from serai.host.turn import Turn
from serai.host.turns import HELD
from serai.store.memory import MemoryStore


@pytest.fixture
async def talk() -> AsyncIterator[Conversation]:
    """A conversation with an agent that works for ever when it is told so."""

    async def answer(turn: Turn) -> None:
        await turn.say(turn.message.text)
        if turn.message.text == "work":
            await asyncio.Event().wait()

    host = Host(MemoryStore(), [CallbackHarness("works", answer)], frame)
    await host.open()
    try:
        async with asyncio.timeout(WITHIN):
            yield await Conversation.begin(host, "works")
    finally:
        await host.close()


def queued(name: str) -> a.SessionPendingMessageSetAction:
    return a.SessionPendingMessageSetAction(kind="queued", id=name, user_message=UserMessage(text=name))


def said(talk: Conversation) -> list[str]:
    return [turn.user_message.text for turn in talk.state.turns]


async def settled(talk: Conversation) -> None:
    """All that follows has happened."""
    await talk.host.journal.committed()
    await talk.host.journal.committed()
    await talk.quiet()


@pytest.mark.parametrize("interrupt", [a.SessionTurnCancelledAction(turn_id="t"), a.SessionTruncatedAction()])
async def test_a_message_that_is_queued_just_before_the_turn_is_interrupted_is_held(
    talk: Conversation, interrupt: a.StateAction
) -> None:
    talk.dispatch(a.SessionTurnStartedAction(turn_id="t", user_message=UserMessage(text="work")))
    await talk.heard("session/delta")
    talk.dispatch(queued("later"))
    talk.dispatch(interrupt)  # nothing was committed in between
    await settled(talk)
    assert [message.id for message in talk.state.queued_messages or ()] == ["later"]
    assert (talk.state.meta or {})[HELD] == "cancelled"
    assert talk.state.active_turn is None
    assert "later" not in said(talk)


async def test_what_an_agent_queues_just_before_its_turn_is_cancelled_is_held_too(talk: Conversation) -> None:
    talk.start("work")
    await talk.heard("session/delta")
    talk.session.enqueue(UserMessage(text="later"), "agent")
    talk.cancel()
    await settled(talk)
    assert (talk.state.meta or {})[HELD] == "cancelled"
    assert said(talk) == ["work"]


async def test_a_message_that_starts_a_turn_and_is_cancelled_at_once_starts_no_other(
    talk: Conversation,
) -> None:
    talk.dispatch(queued("work"))
    talk.dispatch(queued("later"))
    talk.cancel()
    await settled(talk)
    assert said(talk) == ["work"]
    assert [message.id for message in talk.state.queued_messages or ()] == ["later"]
    assert (talk.state.meta or {})[HELD] == "cancelled"


async def test_a_queue_that_is_held_after_a_restart_does_not_start_because_someone_signs_in() -> None:
    async def answer(turn: Turn) -> None:
        await turn.say("done")

    class Strict(CallbackHarness):
        is_signed_in = False

        async def create(self, settings: Any, context: Any) -> Any:
            if not self.is_signed_in:
                raise AuthRequired("sign in first")
            return await super().create(settings, context)

    store, agent = MemoryStore(), Strict("strict", answer)
    host = Host(store, [agent], frame)
    await host.open()
    talk = await Conversation.begin(host, "strict")
    talk.dispatch(queued("later"))
    await host.close()

    again = Host(store, [agent], frame)
    await again.open()
    try:
        session = await again.sessions.bring(talk.session.uri)
        assert session is not None
        talk = Conversation(again, session)
        agent.is_signed_in = True
        async with asyncio.timeout(WITHIN):
            await session.signed_in()
            await settled(talk)
        assert talk.state.lifecycle == "ready"
        assert (talk.state.meta or {})[HELD] == "restart"
        talk.dispatch(queued("last"))
        await talk.until(lambda: len(talk.state.turns) == 2)
        assert said(talk) == ["later", "last"]
    finally:
        await again.close()


async def test_messages_that_are_queued_at_once_are_worked_off_in_order(talk: Conversation) -> None:
    for name in ("one", "two", "three"):
        talk.dispatch(queued(name))
    await talk.until(lambda: len(talk.state.turns) == 3)
    assert said(talk) == ["one", "two", "three"]
