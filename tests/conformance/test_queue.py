"""Messages that wait: queued ones, and those that steer."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.client import Client, calls_of, connecting, text_of
from conformance.conftest import new_session, over, say
from hosts import House, housing
from requirements import proves
from serai.config.settings import Settings
from serai.harness.callback import CallbackHarness
from serai.host.turn import Turn

HELD = "serai.queueHeld"


async def queue(client: Client, session: str, name: str, text: str) -> None:
    await client.dispatch(session, "pendingMessageSet", kind="queued", id=name, userMessage={"text": text})
    await client.hear("pendingMessageSet", id=name)


async def answer(client: Client, session: str) -> None:
    """Let a turn go on that asks something."""
    [request] = client.session(session).input_requests or []
    await client.dispatch(session, "inputCompleted", requestId=request.id, response="decline")


def said(client: Client, session: str) -> list[str]:
    return [turn.user_message.text for turn in client.session(session).turns]


def waiting(client: Client, session: str) -> list[str]:
    return [message.id for message in client.session(session).queued_messages or []]


def held(client: Client, session: str) -> Any:
    return (client.session(session).meta or {}).get(HELD)


@proves(
    "ahp:session/pendingMessageSet/idle-starts-turn", "ahp:session/pendingMessageRemoved/sent-when-consumed"
)
async def test_a_message_that_is_queued_on_an_idle_session_starts_a_turn(
    client: Client, session: str
) -> None:
    await queue(client, session, "q1", "hello")
    removed = await client.hear("pendingMessageRemoved", kind="queued", id="q1")
    started = await client.hear("turnStarted")
    assert started["action"]["queuedMessageId"] == "q1"
    assert removed["serverSeq"] < started["serverSeq"]
    assert "origin" not in started
    await over(client, session, started["action"]["turnId"])
    assert waiting(client, session) == []


@proves("ahp:PendingMessage/queued-starts-the-next-turn")
async def test_the_queue_is_worked_off_in_order_after_turns_that_completed(
    client: Client, session: str
) -> None:
    await say(client, session, "ask text")
    for name in ("a", "b", "c"):
        await queue(client, session, name, f"message {name}")
    assert waiting(client, session) == ["a", "b", "c"]
    await answer(client, session)
    await client.until(lambda: len(said(client, session)) == 4)
    assert said(client, session) == ["ask text", "message a", "message b", "message c"]


async def test_the_queue_can_be_reordered_edited_and_cut(client: Client, session: str) -> None:
    await say(client, session, "ask text")
    for name in ("a", "b", "c", "d"):
        await queue(client, session, name, f"message {name}")
    await client.dispatch(session, "queuedMessagesReordered", order=["c", "unknown", "a", "c"])
    await client.hear("queuedMessagesReordered")
    assert waiting(client, session) == ["c", "a", "b", "d"]
    await queue(client, session, "a", "message a, edited")
    await client.dispatch(session, "pendingMessageRemoved", kind="queued", id="b")
    await client.hear("pendingMessageRemoved", id="b")
    await client.dispatch(session, "pendingMessageRemoved", kind="queued", id="b")
    assert (await client.hear("pendingMessageRemoved", id="b"))["rejectionReason"].startswith("no_such")
    await answer(client, session)
    await client.until(lambda: len(said(client, session)) == 4)
    assert said(client, session)[1:] == ["message c", "message a, edited", "message d"]


@pytest.mark.parametrize("how", ["cancelled", "error"])
async def test_after_a_turn_that_did_not_complete_the_queue_is_held_until_someone_goes_on(
    client: Client, session: str, how: str
) -> None:
    await say(client, session, "ask text" if how == "cancelled" else "ask text; fail")
    await queue(client, session, "a", "message a")
    if how == "cancelled":
        await client.dispatch(session, "turnCancelled", turnId="t1")
    else:
        await answer(client, session)
    await over(client, session)
    await client.until(lambda: held(client, session) == how)
    await client.ping()
    assert waiting(client, session) == ["a"]
    await queue(client, session, "b", "message b")
    await client.until(lambda: len(said(client, session)) == 3)
    assert said(client, session)[1:] == ["message a", "message b"]
    assert held(client, session) is None


async def test_a_queue_is_held_over_a_restart(house: House, client: Client, session: str) -> None:
    await say(client, session, "ask text")
    await queue(client, session, "a", "message a")
    client.drop()
    await house.restart()
    async with connecting(house.url, client.state) as again:
        await again.reconnect()
        await again.until(lambda: held(again, session) == "restart")
        assert waiting(again, session) == ["a"]
        await queue(again, session, "a", "message a, again")
        await again.until(lambda: len(said(again, session)) == 2)
        assert said(again, session)[1] == "message a, again"
        assert held(again, session) is None


async def test_a_queue_that_was_emptied_is_no_longer_held(client: Client, session: str) -> None:
    await say(client, session, "ask text")
    await queue(client, session, "a", "message a")
    await client.dispatch(session, "turnCancelled", turnId="t1")
    await client.until(lambda: held(client, session) == "cancelled")
    await client.dispatch(session, "pendingMessageRemoved", kind="queued", id="a")
    await client.until(lambda: held(client, session) is None)


@proves("ahp:session/metaChanged/host-keeps-other-keys")
async def test_holding_and_going_on_leave_other_keys_of_meta_alone(client: Client, session: str) -> None:
    await say(client, session, "tool ls; ask text")
    [call] = calls_of(client.session(session).active_turn)
    await client.dispatch(
        session,
        "toolCallConfirmed",
        turnId="t1",
        toolCallId=call.tool_call_id,
        approved=True,
        confirmed="user-action",
        selectedOptionId="allow-session",
    )
    await client.until(lambda: client.session(session).input_requests)
    await queue(client, session, "a", "message a")
    await client.dispatch(session, "turnCancelled", turnId="t1")
    await client.until(lambda: held(client, session) == "cancelled")
    assert (client.session(session).meta or {})["serai.grants"] == ["shell"]
    await client.dispatch(session, "pendingMessageRemoved", kind="queued", id="a")
    await client.until(lambda: held(client, session) is None)
    assert client.session(session).meta == {"serai.grants": ["shell"]}


async def test_a_queue_has_a_bound(client: Client, session: str) -> None:
    most = Settings().mailbox_size
    await say(client, session, "ask text")
    for number in range(most + 1):
        await client.dispatch(
            session, "pendingMessageSet", kind="queued", id=f"q{number}", userMessage={"text": "x"}
        )
    refused = await client.hear("pendingMessageSet", id=f"q{most}")
    assert refused["rejectionReason"].startswith("mailbox_full")
    assert len(waiting(client, session)) == most


# -- steering ----------------------------------------------------------------------------------------------


@proves("ahp:PendingMessage/steering-goes-into-the-running-turn")
async def test_a_message_that_steers_reaches_the_agent_inside_its_turn(client: Client, session: str) -> None:
    await client.dispatch(session, "turnStarted", turnId="t1", userMessage={"text": "work 600 every 2"})
    await client.hear("delta")
    await client.dispatch(
        session, "pendingMessageSet", kind="steering", id="s1", userMessage={"text": "stop"}
    )
    await client.hear("pendingMessageRemoved", kind="steering", id="s1")
    turn = await over(client, session)
    assert turn.state == "complete"
    assert "You steer me: “stop”" in text_of(turn)
    assert client.session(session).steering_message is None


async def test_there_is_one_place_for_a_message_that_steers_and_it_waits_while_idle(
    client: Client, session: str
) -> None:
    for name in ("s1", "s2"):
        await client.dispatch(
            session, "pendingMessageSet", kind="steering", id=name, userMessage={"text": f"be {name}"}
        )
    await client.hear("pendingMessageSet", id="s2")
    waits = client.session(session).steering_message
    assert waits is not None
    assert waits.id == "s2"
    assert client.session(session).active_turn is None
    await say(client, session, "write 3")
    assert "be s2" in text_of(await over(client, session))


async def test_an_agent_that_cannot_be_steered_refuses_it() -> None:
    async def plain(turn: Turn) -> None:
        await turn.say("plain")

    async with (
        housing(harnesses=[CallbackHarness("plain", plain)]) as house,
        connecting(house.url) as client,
    ):
        await client.initialize()
        session = await new_session(client, provider="plain")
        await client.dispatch(
            session, "pendingMessageSet", kind="steering", id="s", userMessage={"text": "x"}
        )
        refused = await client.hear("pendingMessageSet")
        assert refused["rejectionReason"].startswith("capability_unsupported")
