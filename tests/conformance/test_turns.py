"""Turns: what begins them, what they bring, and all the ways in which they end."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.client import Client, calls_of, connecting, text_of, timeless
from conformance.conftest import Connect, over, say
from hosts import House
from requirements import proves


@proves("ahp:session/turnStarted/agent-starts")
async def test_a_message_is_answered_by_the_agent(client: Client, session: str) -> None:
    await say(client, session, "good morning")
    turn = await over(client, session)
    assert turn.state == "complete"
    assert turn.user_message.text == "good morning"
    assert "good morning" in text_of(turn)
    assert client.session(session).summary.status & 1


@proves("ahp:session/delta/part-comes-first", "ahp:session/reasoning/part-comes-first")
async def test_a_part_is_there_before_text_is_added_to_it(client: Client, session: str) -> None:
    await say(client, session, "think about it; write 40")
    parts: set[str] = set()
    grown = 0
    for envelope in client.envelopes:
        action = envelope["action"]
        if action["type"] == "session/responsePart":
            parts.add(action["part"].get("id"))
        elif action["type"] in {"session/delta", "session/reasoning"}:
            assert action["partId"] in parts
            grown += 1
    assert grown >= 2


@proves("ahp:SystemNotificationResponsePart/seen-by-person")
async def test_a_notice_is_seen_by_every_client(client: Client, session: str, connect: Connect) -> None:
    other = await connect("other", session)
    await say(client, session, "notice Mind the step")
    for one in (client, other):
        turn = await over(one, session)
        assert [p.content for p in turn.response_parts if not hasattr(p, "id")] == ["Mind the step"]


@proves("ahp:session/titleChanged/generated-title")
async def test_a_title_is_taken_from_the_first_message_until_someone_sets_one(
    client: Client, session: str
) -> None:
    await say(client, session, "A first line\nand a second one")
    assert client.session(session).summary.title == "A first line"
    await say(client, session, "Something else", "t2")
    assert client.session(session).summary.title == "A first line"
    await client.dispatch(session, "titleChanged", title="Mine")
    await say(client, session, "And more", "t3")
    assert client.session(session).summary.title == "Mine"


@pytest.mark.parametrize(
    ("turn", "reason"), [("t1", "turn_exists"), ("t2", "turn_in_progress")], ids=["again", "meanwhile"]
)
async def test_a_turn_that_cannot_begin_is_rejected(
    client: Client, session: str, turn: str, reason: str
) -> None:
    await say(client, session, "hello" if turn == "t1" else "ask text")
    await client.dispatch(session, "turnStarted", turnId=turn, userMessage={"text": "again"})
    await client.until(lambda: any("rejectionReason" in e for e in client.envelopes))
    assert client.envelopes[-1]["rejectionReason"].startswith(reason)


# -- cancelling, failing -----------------------------------------------------------------------------------


@proves("ahp:session/turnCancelled/processing-stops")
async def test_a_cancelled_turn_stops_its_agent(house: House, client: Client, session: str) -> None:
    await client.dispatch(
        session, "turnStarted", turnId="t1", userMessage={"text": "work 600 every 1; write 9"}
    )
    await client.hear("delta")
    await client.dispatch(session, "turnCancelled", turnId="t1")
    await client.hear("turnCancelled")
    turn = await over(client, session)
    assert turn.state == "cancelled"
    await client.ping()
    await client.ping()
    hosted = house.host.sessions.get(session)
    assert hosted is not None
    assert not hosted.is_busy
    await say(client, session, "hello", "t2")
    assert (await over(client, session, "t2")).state == "complete"


async def test_cancelling_and_saying_something_else_at_once_works(client: Client, session: str) -> None:
    await client.dispatch(session, "turnStarted", turnId="t0", userMessage={"text": "work 600 every 1"})
    await client.hear("delta")
    for number in range(10):
        await client.dispatch(session, "turnCancelled", turnId=f"t{number}")
        message = {"text": "work 600 every 1" if number < 9 else "hello again"}
        await client.dispatch(session, "turnStarted", turnId=f"t{number + 1}", userMessage=message)
    last = await over(client, session, "t10")
    assert last.state == "complete"
    assert "hello again" in text_of(last)
    assert [turn.state for turn in client.session(session).turns] == ["cancelled"] * 10 + ["complete"]


@pytest.mark.parametrize(
    ("text", "code"), [("fail Out of bread", "demo_failed"), ("crash", "agent_error")], ids=["fail", "crash"]
)
@proves("ahp:session/error/sent-on-failure")
async def test_a_turn_that_fails_ends_with_the_error(
    client: Client, session: str, text: str, code: str
) -> None:
    await say(client, session, f"write 3; {text}; write 3")
    turn = await over(client, session)
    assert turn.state == "error"
    assert turn.error is not None
    assert turn.error.error_type == code
    assert client.session(session).summary.status & 2
    await say(client, session, "hello", "t2")
    assert client.session(session).summary.status & 31 == 1


async def test_an_open_question_ends_with_its_turn(client: Client, session: str) -> None:
    await say(client, session, "ask")
    assert client.session(session).input_requests
    await client.dispatch(session, "turnCancelled", turnId="t1")
    await over(client, session)
    assert client.session(session).input_requests is None


# -- choices -----------------------------------------------------------------------------------------------


@proves("ahp:session/modelChanged/applied-after-turn", "ahp:session/agentChanged/applied-after-turn")
async def test_another_model_or_agent_waits_for_the_end_of_the_turn(client: Client, session: str) -> None:
    await say(client, session, "ask text; usage 10")
    await client.dispatch(session, "modelChanged", model={"id": "demo-large"})
    await client.dispatch(session, "agentChanged", agent={"uri": "agent:/other"})
    await client.ping()
    assert client.heard("modelChanged") == []
    assert client.session(session).summary.model is None
    [request] = client.session(session).input_requests or []
    await client.dispatch(session, "inputCompleted", requestId=request.id, response="decline")
    first = await over(client, session)
    changed = await client.hear("modelChanged")
    assert changed["origin"] == {"clientId": "one", "clientSeq": 2}
    await client.hear("agentChanged")
    await say(client, session, "usage 10", "t2")
    second = await over(client, session, "t2")
    assert (first.usage.model, second.usage.model) == ("demo-small", "demo-large")


@proves("ahp:AgentSelection/none-is-provider-default")
async def test_a_model_and_an_agent_are_chosen_at_once_when_nothing_runs(
    client: Client, session: str
) -> None:
    await client.dispatch(session, "modelChanged", model={"id": "demo-large"})
    await client.dispatch(session, "agentChanged", agent={"uri": "agent:/other"})
    await client.hear("agentChanged")
    assert client.session(session).summary.agent is not None
    await client.dispatch(session, "agentChanged")
    await client.hear("agentChanged")
    assert client.session(session).summary.agent is None
    await say(client, session, "hello")


@proves("ahp:session/configChanged/checked-and-broadcast")
async def test_settings_are_checked_and_told_to_all(client: Client, session: str, connect: Connect) -> None:
    other = await connect("other", session)
    await client.dispatch(session, "configChanged", config={"approve": "always"})
    await other.hear("configChanged")
    config = other.session(session).config
    assert config is not None
    assert config.values["approve"] == "always"
    for bad in ({"approve": "perhaps"}, {"approve": 1}, {"imagined": 1}):
        await client.dispatch(session, "configChanged", config=bad)
        assert (await client.hear("configChanged", config=bad))["rejectionReason"].startswith("bad_config")


async def test_read_and_archived_are_flags_that_stay(house: House, client: Client, session: str) -> None:
    await client.dispatch(session, "isReadChanged", isRead=True)
    await client.dispatch(session, "isArchivedChanged", isArchived=True)
    await client.hear("isArchivedChanged")
    assert client.session(session).summary.status == 1 | 32 | 64
    await house.restart()
    async with connecting(house.url, "again") as again:
        await again.initialize(session)
        assert again.session(session).summary.status == 1 | 32 | 64
        await say(again, session, "news")
        assert again.session(session).summary.status == 1 | 64
        await again.dispatch(session, "isArchivedChanged", isArchived=False)
        await again.hear("isArchivedChanged")
        assert again.session(session).summary.status == 1


@proves("ahp:session/activityChanged/tells-what-runs")
async def test_what_a_session_is_busy_with_is_told_until_the_turn_ends(client: Client, session: str) -> None:
    await say(client, session, "activity sweeping the court; ask text")
    assert client.session(session).summary.activity == "sweeping the court"
    await client.until(lambda: any(n.get("changes", {}).get("activity") for n in client.notes))
    await client.dispatch(session, "turnCancelled", turnId="t1")
    await client.until(lambda: client.session(session).summary.activity is None)


# -- truncating --------------------------------------------------------------------------------------------


@proves("ahp:session/truncated/then-edited-message")
@pytest.mark.parametrize("kept", [0, 1, 3])
async def test_after_truncating_an_edited_message_begins_a_new_turn(
    house: House, client: Client, session: str, kept: int
) -> None:
    for number in range(1, 4):
        await say(client, session, f"word {number}", f"t{number}")
    after: dict[str, Any] = {"turnId": f"t{kept}"} if kept else {}
    await client.dispatch(session, "truncated", **after)
    await client.dispatch(session, "turnStarted", turnId="new", userMessage={"text": "edited"})
    await over(client, session, "new")
    names = [f"t{n}" for n in range(1, kept + 1)] + ["new"]
    assert [turn.id for turn in client.session(session).turns] == names
    expected = client.session(session)
    await house.restart()
    async with connecting(house.url, "again") as again:
        await again.initialize(session)
        assert timeless(again.session(session)) == timeless(expected)


async def test_truncating_drops_the_running_turn_and_stops_its_agent(
    house: House, client: Client, session: str
) -> None:
    await say(client, session, "first")
    await client.dispatch(session, "turnStarted", turnId="t2", userMessage={"text": "work 600 every 1"})
    await client.hear("delta", turnId="t2")
    await client.dispatch(session, "truncated", turnId="t1")
    await client.dispatch(session, "turnStarted", turnId="t3", userMessage={"text": "edited"})
    await over(client, session, "t3")
    assert [turn.id for turn in client.session(session).turns] == ["t1", "t3"]
    hosted = house.host.sessions.get(session)
    assert hosted is not None
    await client.until(lambda: not hosted.is_busy)


# -- attachments -------------------------------------------------------------------------------------------


SIMPLE = {"type": "simple", "label": "note", "modelRepresentation": "some text", "_meta": {"a": [1, 2]}}
EMBEDDED = {
    "type": "embeddedResource",
    "label": "dot.png",
    "data": "iVBORw0KGgo=",
    "contentType": "image/png",
}
RESOURCE = {
    "type": "resource",
    "label": "main.py",
    "uri": "file:///main.py",
    "displayKind": "document",
    "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 4}},
    "selection": {"range": {"start": {"line": 3, "character": 1}, "end": {"line": 9, "character": 2}}},
}


@proves("ahp:MessageEmbeddedResourceAttachment/delivered-with-message")
async def test_attachments_of_all_kinds_are_kept_whole_and_reach_the_agent(
    house: House, client: Client, session: str
) -> None:
    attachments = [SIMPLE, EMBEDDED, RESOURCE]
    await say(client, session, "look", attachments=attachments)
    started = client.heard("turnStarted")[0]
    assert started["userMessage"]["attachments"] == attachments
    said = text_of(await over(client, session))
    for named in ("**note**, 9 characters", "image/png, 8 bytes", "file:///main.py"):
        assert named in said
    await house.restart()
    async with connecting(house.url, "again") as again:
        await again.initialize()
        page = await again.request("fetchTurns", session)
        assert page["turns"][0]["userMessage"]["attachments"] == attachments


@proves("ahp:SimpleMessageAttachment/client-must-represent")
@pytest.mark.parametrize("kind", ["turnStarted", "pendingMessageSet"])
async def test_an_attachment_that_nobody_could_read_is_refused(
    client: Client, session: str, kind: str
) -> None:
    message = {"text": "x", "attachments": [{"type": "simple", "label": "mystery"}]}
    fields = {"turnId": "t1"} if kind == "turnStarted" else {"kind": "queued", "id": "q"}
    await client.dispatch(session, kind, userMessage=message, **fields)
    assert (await client.hear(kind))["rejectionReason"].startswith("bad_attachment")


async def test_what_a_newer_client_sends_along_comes_back_unchanged(client: Client, session: str) -> None:
    message = {"text": "hello", "_meta": {"origin": {"editor": "x"}}}
    await client.dispatch(session, "turnStarted", turnId="t1", userMessage=message)
    assert (await client.hear("turnStarted"))["action"]["userMessage"] == message
    await over(client, session)


# -- turns belong to the host ------------------------------------------------------------------------------


async def test_a_turn_goes_on_when_its_client_is_gone(
    house: House, client: Client, session: str, connect: Connect
) -> None:
    other = await connect("other", session)
    await client.dispatch(session, "turnStarted", turnId="t1", userMessage={"text": "write 3000"})
    await client.hear("delta")
    client.drop()
    turn = await over(other, session)
    assert turn.state == "complete"
    async with connecting(house.url, client.state) as again:
        await again.reconnect()
        assert await over(again, session) == turn


async def test_a_turn_that_was_running_ends_with_a_restart(
    house: House, client: Client, session: str
) -> None:
    await say(client, session, "write 10; tool ls")
    await client.ping()
    client.drop()
    await house.restart()
    async with connecting(house.url, client.state) as again:
        await again.reconnect()
        turn = await over(again, session)
        assert turn.state == "error"
        assert turn.error is not None
        assert turn.error.error_type == "interrupted"
        [call] = calls_of(turn)
        assert type(call).__struct_config__.tag == "cancelled"
        assert again.session(session).summary.status & 2
        await say(again, session, "hello", "t2")
        assert (await over(again, session, "t2")).state == "complete"
