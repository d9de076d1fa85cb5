"""What waits for the end of a turn, and what becomes of it when the turn does not complete."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from harness.conversation import Conversation, frame
from hosts import WITHIN, deliveries, outcome
from serai.ahp import actions as a
from serai.ahp.types import SessionInputRequest, UserMessage
from serai.errors import AuthRequired, CapabilityNotSupportedError
from serai.harness.callback import CallbackHarness
from serai.host.host import Host
from serai.host.turn import Turn
from serai.store.memory import MemoryStore


def queued(name: str) -> a.SessionPendingMessageSetAction:
    return a.SessionPendingMessageSetAction(kind="queued", id=name, user_message=UserMessage(text=name))


async def settled(talk: Conversation) -> None:
    """All that follows has happened."""
    await talk.host.journal.committed()
    await talk.host.journal.committed()
    await talk.quiet()


REFUSALS: list[Exception] = [
    AuthRequired("sign in first"),
    CapabilityNotSupportedError("mcpCapabilities.http"),
]


@pytest.mark.parametrize("error", [*REFUSALS, ZeroDivisionError()], ids=lambda error: type(error).__name__)
async def test_an_ordinary_refusal_is_one_line_of_the_log_and_a_mistake_says_where(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    class Refusing(CallbackHarness):
        async def create(self, settings: Any, context: Any) -> Any:
            del settings, context
            raise error

    async def answer(turn: Turn) -> None:
        del turn

    async def lines() -> list[str]:
        """What is logged of a session that does not begin."""
        caplog.clear()
        host = Host(MemoryStore(), [Refusing("refusing", answer)], frame)
        await host.open()
        try:
            talk = await Conversation.begin(host, "refusing")
            assert talk.state.lifecycle == "creationFailed"
        finally:
            await host.close()
        return [each.getMessage() for each in caplog.records if each.name == "serai.host.session.turns"]

    [line] = await lines()
    first, *where = line.splitlines()
    assert first.startswith("the agent of ahp-session:/")
    assert first.endswith(f"did not start: {type(error).__name__}")
    assert bool(where) is isinstance(error, ZeroDivisionError)
    with caplog.at_level(logging.DEBUG, "serai.host.session.turns"):
        assert any("in create\n    raise error" in line for line in await lines())


@pytest.mark.parametrize("kept", [0, 1])
async def test_a_question_that_goes_with_turns_of_an_idle_session_is_over(
    talk: Conversation, kept: int
) -> None:
    turn = await talk.say("one")
    asked = asyncio.create_task(talk.session.seat.ask(SessionInputRequest(id="q", message="Well?")))
    await talk.heard("session/inputRequested")
    talk.dispatch(a.SessionTruncatedAction(turn_id=turn.id if kept else None))
    assert not talk.state.input_requests
    answers = await asyncio.wait_for(asked, WITHIN)
    assert answers.response == "cancel"


async def test_a_truncation_that_cuts_nothing_is_refused_and_the_turn_goes_on(talk: Conversation) -> None:
    talk.start("ask")
    await talk.heard("session/inputRequested")
    talk.dispatch(a.SessionTruncatedAction(turn_id="no such turn"))
    await talk.until(lambda: talk.rejections)
    assert talk.rejections[0].startswith("no_such_turn: ")
    await talk.host.journal.committed()
    await talk.answer(None)
    assert (await talk.end()).state == "complete"


@pytest.mark.parametrize("is_running", [False, True])
async def test_the_title_of_a_message_that_is_gone_goes_with_it(talk: Conversation, is_running: bool) -> None:
    if is_running:
        talk.start("work")
    else:
        await talk.say("one")
        await talk.say("two")
    talk.dispatch(a.SessionTruncatedAction())
    assert talk.state.summary.title == ""
    await talk.say("another")
    assert talk.state.summary.title == "another"


# -- what is written down of it ----------------------------------------------------------------------------


def steering(name: str, text: str) -> a.SessionPendingMessageSetAction:
    return a.SessionPendingMessageSetAction(kind="steering", id=name, user_message=UserMessage(text=text))


async def outcomes(talk: Conversation) -> list[tuple[str, str]]:
    """What became of each message: how it waited, or else its text, and the last that is known of it."""
    await settled(talk)
    texts = {turn.id: turn.user_message.text for turn in talk.state.turns}
    return [
        (
            " ".join(record.metadata.get("pendingMessage", {}).values()) or texts[record.evidence["turnId"]],
            outcome(record),
        )
        for record in await deliveries(talk.host, talk.session.uri)
    ]


async def test_what_waited_and_is_sent_with_other_words_is_replaced_by_them(talk: Conversation) -> None:
    talk.start("work")
    talk.dispatch(queued("later"))
    talk.cancel()
    message = UserMessage(text="other words")
    talk.dispatch(a.SessionTurnStartedAction(turn_id="t", user_message=message, queued_message_id="later"))
    await talk.until(lambda: len(talk.state.turns) == 2)
    assert (await outcomes(talk))[1:] == [("queued later", "replaced"), ("other words", "delivered")]
    assert not talk.session.is_busy


@pytest.mark.parametrize("kind", ["queued", "steering"])
async def test_what_waited_is_sent_as_it_is(talk: Conversation, kind: str) -> None:
    talk.start("work")
    talk.dispatch(queued("later") if kind == "queued" else steering("later", "later"))
    talk.cancel()
    message = UserMessage(text="later")
    talk.dispatch(a.SessionTurnStartedAction(turn_id="t", user_message=message, queued_message_id="later"))
    await talk.until(lambda: len(talk.state.turns) == 2)
    assert (await outcomes(talk))[1:] == [(f"{kind} later", "delivered")]
