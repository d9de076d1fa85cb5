"""Messages for the turn that runs: taken, refused, replaced on their way, and overtaken by a cancel."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.client import Client
from harness.acp.conftest import Inn, begin, ended, said, say
from harness.acp.test_harness import STEERS
from serai.host.session.turns import HELD


def waiting(client: Client, session: str) -> tuple[str | None, list[str], str | None]:
    """The steering message, the queued ones, and why those are held."""
    state = client.session(session)
    steering = state.steering_message
    queued = [message.user_message.text for message in state.queued_messages or ()]
    return steering and steering.user_message.text, queued, (state.meta or {}).get(HELD)


async def steer(client: Client, session: str, text: str, name: str = "s1", **message: Any) -> None:
    message = {"text": text, **message}
    await client.dispatch(session, "pendingMessageSet", kind="steering", id=name, userMessage=message)


async def test_steering_is_refused_where_the_agent_does_not_offer_it(inn: Inn, client: Client) -> None:
    session = await inn.begun(client)
    turn = await begin(client, session, "wait")
    await client.hear("delta", content="waiting")
    await steer(client, session, "left")
    assert (await client.hear("pendingMessageSet"))["rejectionReason"].startswith("capability_unsupported")
    await client.dispatch(session, "turnCancelled", turnId=turn)
    await ended(client, session, turn)


async def test_a_steering_message_reaches_the_turn_that_runs(inn: Inn, client: Client) -> None:
    session = await inn.begun(client, **STEERS)
    turn = await begin(client, session, "until_steered")
    await client.hear("delta", content="working")
    await steer(client, session, "left")
    assert said(await ended(client, session, turn)) == "workingleft"
    await client.until(lambda: client.session(session).steering_message is None)
    assert client.session(session).queued_messages is None


async def test_a_steering_message_that_comes_too_late_is_the_next_one(inn: Inn, client: Client) -> None:
    session = await inn.begun(client, steering_outcome="promptRequired", **STEERS)
    turn = await begin(client, session, "until_steered")
    await client.hear("delta", content="working")
    await steer(client, session, "echo later")
    await ended(client, session, turn)
    await client.until(lambda: len(client.session(session).turns) == 2)
    assert said(client.session(session).turns[1]) == "later"
    assert client.session(session).steering_message is None


# -- replaced on their way ---------------------------------------------------------------------------------


async def both(client: Client, session: str, prompt: str, second: str) -> str:
    """A turn, and two messages for it of which the second comes while the first is on its way."""
    turn = await begin(client, session, prompt)
    await client.hear("delta", content="working")
    await steer(client, session, "echo one")
    await client.hear("delta", content=" 1")
    await steer(client, session, "echo two", second)
    return turn


# -- overtaken by a cancel ---------------------------------------------------------------------------------


async def cancelled(client: Client, session: str, outcome: str) -> None:
    """A turn that is cancelled before the agent has answered the message for it."""
    turn = await begin(client, session, f"steered {outcome} {outcome}")
    await client.hear("delta", content="working")
    await steer(client, session, "echo steering")
    await client.hear("delta", content=" 1")
    await client.dispatch(session, "turnCancelled", turnId=turn)
    assert (await ended(client, session, turn)).state == "cancelled"


@pytest.mark.parametrize("outcome", ["promptRequired", "error"])
async def test_a_message_that_is_refused_after_a_cancel_waits_until_someone_goes_on(
    inn: Inn, client: Client, outcome: str
) -> None:
    session = await inn.begun(client, **STEERS)
    await cancelled(client, session, outcome)
    await client.until(lambda: waiting(client, session) == (None, ["echo steering"], "cancelled"))
    await client.ping()
    assert client.session(session).active_turn is None
    await say(client, session, "echo on")
    await client.until(lambda: len(client.session(session).turns) == 3)
    assert [said(turn) for turn in client.session(session).turns[1:]] == ["on", "steering"]


# -- what is left of them ----------------------------------------------------------------------------------
