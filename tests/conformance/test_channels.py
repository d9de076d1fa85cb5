"""Following channels: snapshots, what comes after them, and in which order."""

from __future__ import annotations

import asyncio

import pytest

from conformance.client import Client, Refused, timeless
from conformance.conftest import ONE, ROOT, Connect, new_session, over, say
from requirements import proves

TWO = "ahp-session:/two"


@proves("ahp:SessionState/snapshot-on-subscribe")
async def test_a_snapshot_is_the_whole_state_with_the_number_that_it_reflects(
    client: Client, session: str, connect: Connect
) -> None:
    await say(client, session, "write 30; usage 1000")
    other = await connect("other")
    snapshot = await other.subscribe(session)
    assert snapshot["resource"] == session
    assert snapshot["fromSeq"] >= client.envelopes[-1]["serverSeq"]
    assert timeless(other.session(session)) == timeless(client.session(session))
    assert {"summary", "lifecycle", "turns"} <= set(snapshot["state"])
    assert {"resource", "provider", "title", "status", "createdAt", "modifiedAt"} <= set(
        snapshot["state"]["summary"]
    )


async def test_a_snapshot_in_the_middle_of_a_stream_leaves_no_gap_and_no_overlap(
    client: Client, session: str, connect: Connect
) -> None:
    await client.dispatch(session, "turnStarted", turnId="t1", userMessage={"text": "write 4000"})
    await client.hear("delta")
    for number in range(8):
        other = await connect(f"other-{number}")
        await other.subscribe(session)
        turn = await over(other, session)
        assert turn == (await over(client, session))


@pytest.mark.parametrize(
    ("channel", "code"),
    [
        ("ahp-session:/nowhere", -32001),
        ("ahp-terminal:/1", -32008),
        ("ahp-changeset:/1", -32008),
        ("ahp-otlp:/logs", -32008),
        ("serai-relay", -32008),
        ("serai-deferred:ahp-session:/one", -32008),
        ("nonsense", -32008),
        ("", -32008),
    ],
)
async def test_an_unknown_channel_cannot_be_followed(client: Client, channel: str, code: int) -> None:
    await new_session(client)
    with pytest.raises(Refused) as refused:
        await client.subscribe(channel)
    assert refused.value.code == code


async def test_who_unsubscribed_hears_no_more(client: Client, session: str, connect: Connect) -> None:
    other = await connect("other", session)
    await other.notify("unsubscribe", channel=session)
    await other.notify("unsubscribe", channel="ahp-session:/never-followed")
    await other.ping()
    await client.dispatch(session, "titleChanged", title="unheard")
    await client.hear("titleChanged", title="unheard")
    await other.ping()
    assert other.envelopes == []


async def test_subscribing_twice_does_not_send_twice(client: Client, session: str) -> None:
    await client.subscribe(session)
    await client.subscribe(session)
    await client.dispatch(session, "titleChanged", title="once")
    await client.hear("titleChanged", title="once")
    await client.ping()
    assert len(client.heard("titleChanged")) == 1


async def test_numbers_ascend_over_all_channels_of_a_connection(client: Client) -> None:
    await new_session(client)
    await new_session(client, TWO)
    for session in (ONE, TWO):
        await client.dispatch(session, "turnStarted", turnId="t1", userMessage={"text": "write 300"})
    for session in (ONE, TWO):
        await over(client, session)
    numbers = [envelope["serverSeq"] for envelope in client.envelopes]
    assert numbers == sorted(set(numbers))
    assert {envelope["channel"] for envelope in client.envelopes} == {ROOT, ONE, TWO}


async def test_an_answer_comes_after_all_that_it_reflects(client: Client, session: str) -> None:
    for number in range(5):
        await client.dispatch(session, "titleChanged", title=f"title {number}")
        listed = await client.request("listSessions")
        assert listed["items"][0]["title"] == f"title {number}"
        assert client.heard("titleChanged")[-1]["title"] == f"title {number}"


async def test_requests_that_are_sent_together_are_answered_in_their_order(client: Client) -> None:
    answers = [
        await client.ask("createSession", ONE),
        await client.ask("subscribe", ONE),
        await client.ask("listSessions"),
        await client.ask("fetchTurns", ONE),
        await client.ask("disposeSession", ONE),
        await client.ask("listSessions"),
    ]
    order: list[int] = []
    for number, answer in enumerate(answers):
        answer.add_done_callback(lambda _, number=number: order.append(number))
    results = await asyncio.gather(*answers)
    assert order == [0, 1, 2, 3, 4, 5]
    assert [len(result["items"]) for result in (results[2], results[5])] == [1, 0]
