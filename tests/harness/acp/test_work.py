"""A turn, from a client's prompt to an agent's process and back."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

from conformance.client import Client
from harness.acp.conftest import Inn, begin, ended, notices, said, say
from harness.acp.test_harness import STEERS
from hosts import deliveries, outcome
from serai.ahp import wire
from serai.ahp.types import MarkdownResponsePart, ReasoningResponsePart, ResourceResponsePart, UserMessage
from serai.harness.acp.content import blocks_of
from serai.host.session.turns import HELD


async def test_what_an_agent_says_becomes_the_answer(inn: Inn, client: Client) -> None:
    session = await inn.begun(client)
    assert client.session(session).lifecycle == "ready"
    turn = await say(client, session, "echo Hello there")
    assert (turn.state, said(turn)) == ("complete", "Hellothere")
    assert notices(turn) == []
    assert len([part for part in turn.response_parts if isinstance(part, MarkdownResponsePart)]) == 1


async def test_thoughts_are_reasoning_and_each_message_is_a_part_of_its_own(inn: Inn, client: Client) -> None:
    turn = await say(client, await inn.begun(client), "think")
    kinds = [(type(part), part.content) for part in turn.response_parts]
    assert kinds == [
        (ReasoningResponsePart, "hm, well"),
        (MarkdownResponsePart, "done"),
        (MarkdownResponsePart, " and more"),
    ]


async def test_a_plan_is_in_the_session_and_its_first_and_last_state_in_the_turn(
    inn: Inn, client: Client
) -> None:
    session = await inn.begun(client)
    turn = await say(client, session, "plan")
    assert notices(turn) == ["- [ ] look", "- [x] look"]
    meta = client.session(session).meta
    assert meta is not None
    assert meta["serai.plan"] == [{"content": "look", "priority": "high", "status": "completed"}]


async def test_cost_is_that_of_the_session_and_never_added_up(inn: Inn, client: Client) -> None:
    turn = await say(client, await inn.begun(client, options=True), "usage")
    usage = turn.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (3, 2, 1)
    assert usage.meta["serai.sessionCost"] == {"amount": 0.5, "currency": "USD"}
    assert usage.meta["serai.context"] == {"used": 20, "size": 100}
    assert usage.model == "small"


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("max_tokens", "its model may not say more"),
        ("bored", "The agent stopped: bored."),
    ],
)
async def test_another_end_than_the_usual_one_is_told(
    inn: Inn, client: Client, reason: str, told: str
) -> None:
    turn = await say(client, await inn.begun(client), f"stops {reason}")
    assert turn.state == "complete"
    assert told in notices(turn)[0]


async def test_a_title_a_mode_a_model_and_commands_are_the_sessions(inn: Inn, client: Client) -> None:
    session = await inn.begun(client, modes=True, options=True)
    await say(client, session, "news")
    state = client.session(session)
    assert state.summary.title == "A title of the agent's own"
    assert state.config is not None
    assert state.summary.model is not None
    assert (state.config.values["mode"], state.summary.model.id) == ("do", "large")
    found = await client.request("completions", session, kind="userMessage", text="/rev", offset=4)
    assert found["items"][0]["insertText"] == "/review"


async def test_pictures_and_links_of_an_answer_are_parts_of_it(inn: Inn, client: Client) -> None:
    turn = await say(client, await inn.begun(client), "mixed")
    pictures = [part for part in turn.response_parts if isinstance(part, ResourceResponsePart)]
    assert [picture.content_type for picture in pictures] == ["image/png"]
    content = await client.request("resourceRead", uri=pictures[0].uri)
    assert content["data"] == "hi"
    assert "`a` <file:///a>" in said(turn)


# -- cancelling --------------------------------------------------------------------------------------------


async def test_a_turn_that_is_cancelled_is_over_at_once_and_the_next_one_works(
    inn: Inn, client: Client
) -> None:
    session = await inn.begun(client)
    turn = await begin(client, session, "wait")
    await client.hear("delta", content="waiting")
    await client.dispatch(session, "turnCancelled", turnId=turn)
    assert (await ended(client, session, turn)).state == "cancelled"
    assert said(await say(client, session, "echo again")) == "again"


async def test_an_agent_that_does_not_stop_is_ended_and_started_again(inn: Inn, client: Client) -> None:
    session = await inn.begun(client, timeouts={"cancel_timeout": 0.2})
    turn = await begin(client, session, "until_steered")
    await client.hear("delta", content="working")
    await client.dispatch(session, "turnCancelled", turnId=turn)
    assert (await ended(client, session, turn)).state == "cancelled"
    after = await say(client, session, "echo back")
    assert said(after) == "back"
    assert "new session of its own" in notices(after)[1]


async def test_a_silent_agent_fails_its_turn(inn: Inn, client: Client) -> None:
    session = await inn.begun(client, timeouts={"inactivity_timeout": 0.2})
    turn = await say(client, session, "mute")
    assert (turn.state, turn.error.error_type) == ("error", "inactivity_timeout")
    assert said(await say(client, session, "echo back")) == "back"


# -- evidence ----------------------------------------------------------------------------------------------


async def test_a_message_is_delivered_when_the_agent_has_shown_that_it_has_it(
    inn: Inn, client: Client
) -> None:
    session = await inn.begun(client)
    turn = await begin(client, session, "wait")
    await client.hear("delta", content="waiting")
    await client.ping()
    [record] = await deliveries(inn.house.host, session)
    assert (record.state, record.evidence["evidence"]) == ("delivered", "the first update")
    await client.dispatch(session, "turnCancelled", turnId=turn)
    await ended(client, session, turn)


async def test_a_prompt_that_nobody_answered_was_perhaps_not_delivered(inn: Inn, client: Client) -> None:
    session = await inn.begun(client)
    turn = await begin(client, session, "mute")
    async with asyncio.timeout(30):
        while client.session(session).active_turn is None:
            await client.ping()
    await inn.house.host.journal.committed()
    assert [record.state for record in await deliveries(inn.house.host, session)] == ["handing"]
    await client.dispatch(session, "turnCancelled", turnId=turn)
    await ended(client, session, turn)
    await say(client, session, "vanish")
    # The first was cancelled before the agent had it, or the agent has answered that it is.
    first, second = await deliveries(inn.house.host, session)
    assert first.state in {"delivered", "failed"}
    assert outcome(second) == "outcome_unknown"


# -- failing -----------------------------------------------------------------------------------------------


async def test_a_dead_agent_fails_its_turn_with_code_and_log_and_is_started_again(
    inn: Inn, client: Client
) -> None:
    session = await inn.begun(client)
    turn = await say(client, session, "crash 7")
    assert (turn.state, turn.error.error_type) == ("error", "connection_closed")
    assert "7" in turn.error.message
    assert "fatal: out of luck" in turn.error.message
    assert "sk-ant-[masked:" in turn.error.stack
    assert "the key is" in turn.error.stack
    after = await say(client, session, "echo alive")
    assert (said(after), after.state) == ("alive", "complete")


async def test_an_error_of_the_agent_ends_the_turn_with_what_it_means(inn: Inn, client: Client) -> None:
    session = await inn.begun(client)
    turn = await say(client, session, "error -32603 rate limit reached")
    assert (turn.state, turn.error.error_type) == ("error", "rate_limit")
    assert said(await say(client, session, "echo fine")) == "fine"


PICTURE = base64.b64encode(b"png").decode()
NOTES = base64.b64encode(b"some notes").decode()

ATTACHMENTS: list[dict[str, Any]] = [
    {"type": "simple", "label": "selection", "modelRepresentation": "the words"},
    {"type": "embeddedResource", "label": "p.png", "data": PICTURE, "contentType": "image/png"},
    {"type": "embeddedResource", "label": "s.wav", "data": PICTURE, "contentType": "audio/wav"},
    {"type": "embeddedResource", "label": "n.md", "data": NOTES, "contentType": "text/markdown"},
    {
        "type": "resource",
        "label": "main.py",
        "uri": "file:///w/main.py",
        "contentType": "text/x-python",
        "sizeHint": 12,
        "selection": {"range": {"start": {"line": 2, "character": 0}, "end": {"line": 4, "character": 1}}},
    },
]
TEXT = {"type": "text", "text": "selection:\nthe words"}
LINK = {
    "type": "resource_link",
    "uri": "file:///w/main.py",
    "name": "main.py",
    "mimeType": "text/x-python",
    "size": 12,
    "description": "Lines 3 to 5 are selected",
}


async def test_attachments_of_all_kinds_are_content_blocks(inn: Inn, client: Client) -> None:
    can = {"promptCapabilities": {"image": True, "audio": True, "embeddedContext": True}}
    turn = await say(client, await inn.begun(client, capabilities=can), "blocks", attachments=ATTACHMENTS)
    assert notices(turn) == []
    assert json.loads(said(turn)) == [
        TEXT,
        {"type": "image", "data": PICTURE, "mimeType": "image/png"},
        {"type": "audio", "data": PICTURE, "mimeType": "audio/wav"},
        {
            "type": "resource",
            "resource": {
                "uri": "attachment:///n.md",
                "mimeType": "text/markdown",
                "text": "some notes",
            },
        },
        LINK,
    ]


async def test_what_the_agent_cannot_take_is_left_out_and_named(inn: Inn, client: Client) -> None:
    turn = await say(client, await inn.begun(client), "blocks", attachments=ATTACHMENTS)
    assert json.loads(said(turn)) == [TEXT, LINK]
    assert notices(turn) == [
        'Agent "quick" does not take these parts of a prompt — dropped: image, audio, resource.'
    ]


def message(**fields: Any) -> UserMessage:
    return wire.convert({"text": "hi", **fields}, UserMessage)


def test_a_command_of_the_agents_own_is_told_once() -> None:
    command = {"type": "simple", "label": "review", "_meta": {"serai.kind": "command"}}
    assert blocks_of(message(text="/review", attachments=[command])) == (
        [{"type": "text", "text": "/review"}],
        [],
    )


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


# -- overtaken by a cancel ---------------------------------------------------------------------------------


async def cancelled(client: Client, session: str, outcome: str) -> None:
    """A turn that is cancelled before the agent has answered the message for it."""
    turn = await begin(client, session, f"steered {outcome} {outcome}")
    await client.hear("delta", content="working")
    await steer(client, session, "echo steering")
    await client.hear("delta", content=" 1")
    await client.dispatch(session, "turnCancelled", turnId=turn)
    assert (await ended(client, session, turn)).state == "cancelled"


async def test_a_message_that_is_refused_after_a_cancel_waits_until_someone_goes_on(
    inn: Inn, client: Client
) -> None:
    session = await inn.begun(client, **STEERS)
    await cancelled(client, session, "error")
    await client.until(lambda: waiting(client, session) == (None, ["echo steering"], "cancelled"))
    await client.ping()
    assert client.session(session).active_turn is None
    await say(client, session, "echo on")
    await client.until(lambda: len(client.session(session).turns) == 3)
    assert [said(turn) for turn in client.session(session).turns[1:]] == ["on", "steering"]
