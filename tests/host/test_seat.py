"""What an agent does in its session beside its turns."""

from __future__ import annotations

import pytest

from harness.conversation import Conversation
from host.test_turns import queued, settled
from serai.ahp import actions as a
from serai.ahp.types import PendingMessageKind, UserMessage
from serai.host.session.turns import HELD

STEERING = PendingMessageKind.STEERING.value


def said(talk: Conversation) -> list[str]:
    return [turn.user_message.text for turn in talk.state.turns]


def steering(name: str, text: str) -> a.SessionPendingMessageSetAction:
    return a.SessionPendingMessageSetAction(kind=STEERING, id=name, user_message=UserMessage(text=text))


def held(talk: Conversation) -> str | None:
    return (talk.state.meta or {}).get(HELD)


@pytest.mark.parametrize("interrupt", [a.SessionTurnCancelledAction(turn_id="t"), a.SessionTruncatedAction()])
async def test_what_an_agent_queues_after_its_turn_was_interrupted_waits(
    talk: Conversation, interrupt: a.StateAction
) -> None:
    talk.dispatch(a.SessionTurnStartedAction(turn_id="t", user_message=UserMessage(text="work")))
    await talk.heard("session/delta")
    talk.dispatch(interrupt)
    talk.session.seat.queue(UserMessage(text="later"), "agent")
    await settled(talk)
    assert held(talk) == "cancelled"
    assert "later" not in said(talk)
    talk.dispatch(queued("now"))
    await talk.until(lambda: said(talk)[-2:] == ["later", "now"])


async def test_what_an_agent_queues_after_a_turn_that_is_complete_is_the_next_one(talk: Conversation) -> None:
    await talk.say("one")
    talk.session.seat.queue(UserMessage(text="two"), "agent")
    await talk.until(lambda: said(talk) == ["one", "two"])
    assert held(talk) is None


@pytest.mark.parametrize("name", ["s1", "s2"])
async def test_a_steering_message_whose_place_was_taken_is_neither_taken_nor_queued(
    talk: Conversation, name: str
) -> None:
    seat = talk.session.seat
    talk.start("work")
    await talk.heard("session/delta")
    talk.dispatch(steering("s1", "one"))
    first = seat.steering
    assert first is not None
    talk.dispatch(steering(name, "two"))
    seat.take_steering(first, "a test")
    seat.queue_steering(first, "agent")
    second = seat.steering
    assert second is not None
    assert second.user_message.text == "two"
    seat.queue_steering(second, "agent")
    assert seat.steering is None
    assert [message.user_message.text for message in talk.state.queued_messages or ()] == ["two"]
    talk.cancel()
    await settled(talk)
