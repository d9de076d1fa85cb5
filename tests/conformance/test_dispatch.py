"""What clients dispatch: accepted, rejected, ignored, repeated."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.client import Client, connecting
from conformance.conftest import ROOT, Connect, new_session
from hosts import House


async def rejection(client: Client, session: str, kind: str, /, **fields: Any) -> str:
    """Dispatch something that is rejected; the reason."""
    seq = await client.dispatch(session, kind, **fields)
    envelope = await client.hear(kind, origin={"clientId": client.id, "clientSeq": seq})
    assert "rejectionReason" in envelope, envelope
    return envelope["rejectionReason"]


async def test_an_accepted_action_comes_back_to_all_with_its_origin(
    client: Client, session: str, connect: Connect
) -> None:
    other = await connect("other", session)
    seq = await client.dispatch(session, "titleChanged", title="A title")
    for one in (client, other):
        envelope = await one.hear("titleChanged")
        assert envelope["origin"] == {"clientId": "one", "clientSeq": seq}
        assert "rejectionReason" not in envelope
        assert one.session(session).summary.title == "A title"


async def test_a_rejection_goes_to_its_sender_alone_and_changes_nothing(
    client: Client, session: str, connect: Connect
) -> None:
    other = await connect("other", session)
    before = client.session(session)
    seq = await client.dispatch(session, "turnCancelled", turnId="none")
    envelope = await client.hear("turnCancelled")
    assert envelope["rejectionReason"].startswith("no_active_turn")
    assert envelope["origin"] == {"clientId": "one", "clientSeq": seq}
    await other.ping()
    assert other.envelopes == []
    assert client.session(session) == before


async def test_who_does_not_follow_the_channel_can_change_it(
    client: Client, session: str, connect: Connect
) -> None:
    other = await connect("other")
    await other.dispatch(session, "titleChanged", title="from outside")
    await client.hear("titleChanged", title="from outside")
    await other.ping()
    assert other.envelopes == []


@pytest.mark.parametrize("channel", ["ahp-session:/nowhere", "ahp-terminal:/1", "nonsense:", ""])
async def test_a_channel_that_does_not_exist_is_ignored_in_silence(client: Client, channel: str) -> None:
    await client.dispatch(channel, "titleChanged", title="x")
    await client.ping()
    assert client.envelopes == []
    assert client.nameless == []


@pytest.mark.parametrize("kind", ["session/imagined", "future/thing"])
async def test_an_unknown_action_is_rejected(client: Client, session: str, kind: str) -> None:
    seq = await client.dispatch(session, kind, anything={"at": ["all"]})
    envelope = await client.hear(kind)
    assert envelope["rejectionReason"].startswith("unknown_action")
    assert envelope["action"] == {"type": kind, "anything": {"at": ["all"]}}
    assert envelope["origin"]["clientSeq"] == seq


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("ready", {}),
        ("delta", {"turnId": "t", "partId": "p", "content": "x"}),
        ("turnComplete", {"turnId": "t"}),
        ("error", {"turnId": "t", "error": {"errorType": "x", "message": "y"}}),
        ("usage", {"turnId": "t", "usage": {}}),
        ("metaChanged", {"_meta": {"serai.grants": ["shell"]}}),
        ("serverToolsChanged", {"tools": []}),
        ("activityChanged", {"activity": "x"}),
        ("inputRequested", {"request": {"id": "r"}}),
        ("toolCallStart", {"turnId": "t", "toolCallId": "c", "toolName": "x", "displayName": "X"}),
        ("toolCallReady", {"turnId": "t", "toolCallId": "c", "invocationMessage": "x"}),
    ],
)
async def test_what_only_the_host_may_do_is_rejected(
    client: Client, session: str, kind: str, fields: dict[str, Any]
) -> None:
    before = client.session(session)
    assert (await rejection(client, session, kind, **fields)).startswith("server_only")
    assert client.session(session) == before


async def test_an_action_on_the_wrong_channel_is_rejected(client: Client, session: str) -> None:
    assert (await rejection(client, session, "root/configChanged", config={})).startswith("wrong_channel")
    assert (await rejection(client, ROOT, "session/titleChanged", title="x")).startswith("wrong_channel")
    assert (await rejection(client, ROOT, "root/agentsChanged", agents=[])).startswith("server_only")
    assert (await rejection(client, ROOT, "root/configChanged", config={"x": 1})).startswith("bad_config")


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("titleChanged", {}),
        ("titleChanged", {"title": 7}),
        ("turnStarted", {"turnId": "t1"}),
        ("turnStarted", {"turnId": "t1", "userMessage": "text"}),
        ("toolCallConfirmed", {"turnId": "t", "toolCallId": "c", "approved": True}),
        ("pendingMessageSet", {"kind": "queued", "id": "q", "userMessage": {"text": 5}}),
    ],
)
async def test_an_action_without_what_it_needs_is_rejected_and_not_answered(
    client: Client, session: str, kind: str, fields: dict[str, Any]
) -> None:
    reason = await rejection(client, session, kind, **fields)
    assert reason.startswith("invalid_action")
    await client.ping()
    assert client.nameless == [], "a notification has no answer"


@pytest.mark.parametrize("params", [{}, {"channel": "ahp-session:/one"}, {"clientSeq": "one"}, []])
async def test_a_dispatch_that_is_none_is_ignored(client: Client, session: str, params: Any) -> None:
    await client.send(f'{{"jsonrpc":"2.0","method":"dispatchAction","params":{params!r}}}'.replace("'", '"'))
    await client.dispatch(session, "titleChanged", title="still here")
    await client.hear("titleChanged", title="still here")
    assert client.nameless == []


# -- numbers of clients ------------------------------------------------------------------------------------


async def test_a_repeat_is_answered_to_its_sender_alone(
    client: Client, session: str, connect: Connect
) -> None:
    other = await connect("other", session)
    seq = await client.dispatch(session, "titleChanged", title="first")
    await client.dispatch(session, "titleChanged", title="second", seq=seq)
    await client.hear("titleChanged", title="first")
    repeat = await client.hear("titleChanged", title="second")
    assert repeat["rejectionReason"] == "duplicate"
    await client.ping()
    await other.ping()
    assert [action["title"] for action in other.heard("titleChanged")] == ["first"]
    assert client.session(session).summary.title == "first"


async def test_who_does_not_count_is_heard_each_time(client: Client, session: str) -> None:
    for title in ("a", "b", "c"):
        await client.dispatch(session, "titleChanged", title=title, seq=0)
        envelope = await client.hear("titleChanged", title=title)
        assert "rejectionReason" not in envelope
        assert envelope["origin"]["clientSeq"] == 0


async def test_initialize_begins_to_count_anew(house: House, client: Client, session: str) -> None:
    await client.dispatch(session, "titleChanged", title="old", seq=50)
    await client.hear("titleChanged", title="old")
    await client.close()
    async with connecting(house.url, "one") as again:
        await again.initialize(session)
        await again.dispatch(session, "titleChanged", title="new", seq=1)
        assert "rejectionReason" not in await again.hear("titleChanged", title="new")


@pytest.mark.parametrize("restart", [False, True])
async def test_reconnect_goes_on_counting_also_after_a_restart(
    house: House, client: Client, session: str, *, restart: bool
) -> None:
    await client.dispatch(session, "titleChanged", title="old", seq=50)
    await client.hear("titleChanged", title="old")
    client.drop()
    if restart:
        await house.restart()
    async with connecting(house.url, client.state) as again:
        await again.reconnect()
        await again.dispatch(session, "titleChanged", title="repeat", seq=50)
        assert (await again.hear("titleChanged", title="repeat"))["rejectionReason"] == "duplicate"
        await again.dispatch(session, "titleChanged", title="new", seq=51)
        assert "rejectionReason" not in await again.hear("titleChanged", title="new")


async def test_what_was_dispatched_just_before_the_connection_broke_is_not_taken_twice(
    house: House, connect: Connect
) -> None:
    first = await connect("watching")
    session = await new_session(first)
    for attempt in range(1, 11):
        name = f"hasty-{attempt}"
        async with connecting(house.url, name) as hasty:
            await hasty.initialize(session)
            await hasty.dispatch(session, "titleChanged", title=name, seq=7)
            async with connecting(house.url, name) as again:
                await again.reconnect()
                await again.dispatch(session, "titleChanged", title=name, seq=7)
                await again.ping()
    await first.ping()
    assert [a["title"] for a in first.heard("titleChanged")] == [f"hasty-{n}" for n in range(1, 11)]


@pytest.mark.parametrize("number", [1 << 53, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 70, -1])
async def test_no_number_of_a_client_harms_the_host(
    house: House, client: Client, session: str, number: int
) -> None:
    await client.dispatch(session, "titleChanged", title="strange", seq=number)
    await client.dispatch(session, "titleChanged", title="plain", seq=0)
    await client.hear("titleChanged", title="plain")
    await client.ping()
    assert not house.host.journal.ended.done()
