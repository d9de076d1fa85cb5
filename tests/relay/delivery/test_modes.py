"""When a message surfaces in a session: the five modes, and what policy makes of them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from relay.workspaces import Inn, Nobody, inn
from requirements import proves
from serai.ahp import actions as a
from serai.config.settings import Inbound, RelayPolicy
from serai.contract import DeliveryMode, DeliveryState, IdentityKind
from serai.harness.callback import STEERABLE, CallbackHarness
from serai.host.turn import Turn

WORKING = "work 600 every 1"


def texts(session: Any) -> list[str]:
    """What each turn of a session answered, without our header lines."""
    said = [turn.user_message.text for turn in session.live.head.turns]
    if session.live.turn is not None:
        said.append(session.live.turn.snapshot().user_message.text)
    return ["\n".join(line for line in text.splitlines() if not line.startswith("[relay]")) for text in said]


@proves("delivery:Delivery/delivery-reaches-session", "delivery:Receipts/delivered-once-surfaced")
async def test_a_message_to_an_idle_session_begins_a_turn_and_names_its_evidence(house: Inn) -> None:
    session = await house.session("one")
    sent = await house.send("@demo", "hello", waitFor="answered")
    [record] = sent.deliveries
    assert record.state == DeliveryState.DELIVERED
    assert record.evidence["turnId"] == session.live.head.turns[0].id
    assert record.answer is not None
    assert record.answer.state == "complete"
    assert texts(session) == ["hello"]


@proves("delivery:Delivery-Modes/on-idle-waits", "caps:Delivery-Capabilities/others-wait-for-boundary")
async def test_what_comes_while_a_turn_runs_waits_and_enters_together_when_it_is_over(house: Inn) -> None:
    session = await house.session("one")
    house.say(session, WORKING)
    records = [(await house.send("@demo", f"note {n}")).deliveries[0] for n in range(3)]
    assert {record.waits_for for record in records} == {"idle"}
    assert len(session.live.head.turns) == 0
    assert session.live.turn is not None
    session.turns.interrupt_for_message()
    house.say(session, "go on", "next")
    await house.until(lambda: len(session.live.head.turns) == 3)
    assert texts(session)[2] == "note 0\n\nnote 1\n\nnote 2"
    for record in records:
        assert (await house.final(record.id)).state == DeliveryState.DELIVERED


@proves("caps:Capability-Negotiation/mode-enforced")
async def test_an_agent_may_not_interrupt_and_is_told_what_was_made_of_its_wish(house: Inn) -> None:
    session = await house.session("one")
    await house.session("two")
    house.say(session, WORKING)
    [record] = (await house.send("@demo", "hey", house.agent("@demo-2"), mode="immediate")).deliveries
    assert (record.mode, record.requested_mode) == (DeliveryMode.NEXT_TOOL_CALL, DeliveryMode.IMMEDIATE)
    assert session.live.turn is not None
    assert session.live.turn.id == "said"


@proves("delivery:Delivery-Modes/next-message-rides-along")
async def test_next_message_enters_with_what_a_person_says_next_in_one_turn() -> None:
    seen: list[str] = []

    async def answer(turn: Turn) -> None:
        seen.append(turn.message.text)

    async with inn(harnesses=[CallbackHarness("echo", answer)]) as house:
        session = await house.session("one", "echo")
        [record] = (await house.send("@echo", "mind the gap", mode="next-message")).deliveries
        assert (record.state, record.waits_for) == (DeliveryState.ACCEPTED, "next-message")
        house.say(session, "go")
        await house.until(lambda: session.live.head.turns)
        assert (await house.final(record.id)).evidence["turnId"] == "said"
        [text] = seen
        assert text.startswith("[relay] from @alice (human)")
        assert text.endswith("mind the gap\n\ngo")
        assert session.live.head.turns[0].user_message.text == "go"


async def test_without_a_tool_call_it_waits_for_idle_from_then_on_and_that_is_said() -> None:
    going = asyncio.Event()

    async def answer(turn: Turn) -> None:
        await going.wait()
        await turn.say("done")

    async with inn(harnesses=[CallbackHarness("busy", answer, capabilities=STEERABLE)]) as house:
        session = await house.session("one", "busy")
        house.say(session, "hello")
        [record] = (await house.send("@busy", "later", mode="next-tool-call")).deliveries
        going.set()
        record = await house.final(record.id)
        assert (record.mode, record.requested_mode) == (DeliveryMode.ON_IDLE, DeliveryMode.NEXT_TOOL_CALL)
        told = [kept.receipt.metadata.get("why") for kept in record.receipts]
        assert "the turn ended without a tool call" in told
        await house.until(lambda: "later" in texts(session))


@proves("delivery:Delivery-Modes/manual-held-until-flush", "delivery:Receipts/accepted-before-surfacing")
@proves("delivery:DeliveryRunner.flush", "delivery:FlushInput.agent", "delivery:FlushInput.mode")
async def test_manual_is_held_until_someone_flushes(house: Inn) -> None:
    session = await house.session("one")
    [record] = (await house.send("@demo", "when you like", mode="manual")).deliveries
    assert (record.state, record.waits_for) == (DeliveryState.ACCEPTED, "flush")
    assert session.live.turn is None
    assert (await house.call("deliveries.flush", agent="@demo", mode="next-message")).deliveries == ()
    [flushed] = (await house.call("deliveries.flush", agent="@demo", mode="manual")).deliveries
    assert (await house.final(flushed.id)).state == DeliveryState.DELIVERED
    assert "when you like" in texts(session)[0]


async def test_after_a_person_cancelled_nothing_enters_until_someone_goes_on(house: Inn) -> None:
    session = await house.session("one")
    house.say(session, WORKING)
    cancel = a.SessionTurnCancelledAction(turn_id="said")
    origin = a.ActionOrigin(client_id="client", client_seq=2)
    [record] = (await house.send("@demo", "and then this")).deliveries
    session.dispatch(cancel, origin, Nobody())
    await house.host.journal.committed()
    await asyncio.sleep(0)
    assert (await house.delivery(record.id)).state == DeliveryState.ACCEPTED
    house.say(session, "go on", "next")
    assert (await house.final(record.id)).state == DeliveryState.DELIVERED


async def test_a_failed_turn_holds_nothing_up(house: Inn) -> None:
    session = await house.session("one")
    house.say(session, "fail")
    [record] = (await house.send("@demo", "still here?")).deliveries
    assert (await house.final(record.id)).state == DeliveryState.DELIVERED
    assert session.live.head.turns[0].state == "error"


@pytest.mark.parametrize("kind", ["hold", "refuse"])
async def test_messages_of_a_kind_of_sender_are_held_or_refused(kind: str) -> None:
    policy = RelayPolicy(me="alice", inbound={IdentityKind.HUMAN: Inbound(kind)})
    async with inn(policy=policy) as house:
        await house.session("one")
        [record] = (await house.send("@demo", "hello")).deliveries
        if kind == "refuse":
            assert (record.state, record.error) == (DeliveryState.FAILED, "refused_by_policy")
        else:
            assert (record.state, record.waits_for) == (DeliveryState.ACCEPTED, "approval")
            by_agent = await house.call("deliveries.flush", house.agent("@demo"), agent="@demo")
            assert by_agent.deliveries == ()  # an agent does not approve what is held for it
            await house.call("deliveries.flush", agent="@demo")
            assert (await house.final(record.id)).state == DeliveryState.DELIVERED


@proves("delivery:Delivery-Runner/applies-policy")
async def test_two_agents_that_answer_each_other_for_ever_are_stopped(house: Inn) -> None:
    await house.session("one")
    await house.session("two")
    sent = await house.send("@demo-2", "over to you", house.agent("@demo"))
    states = [sent.deliveries[0]]
    for turn in range(10):
        speaker = house.agent("@demo-2" if turn % 2 == 0 else "@demo")
        last = sent.message.id
        sent = await house.call("messages.reply", speaker, messageId=last, text="no, to you")
        states.append(sent.deliveries[0])
    assert [record.error for record in states].count("hop_limit") == 3
    assert {record.state for record in states[8:]} == {DeliveryState.FAILED}
