"""Secrets reach neither a frame nor the store, also in pieces."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from conformance.client import Client, connecting, text_of
from conformance.conftest import ONE, ROOT, new_session, over
from hosts import House, housing
from serai.ahp.types import (
    SessionInputRequest,
    SessionInputTextQuestion,
    ToolResultTextContent,
)
from serai.harness.callback import STEERABLE, CallbackHarness
from serai.host.turn import Turn
from store.kinds import contents

MANAGED = "correct-horse-battery-staple-9000"
SHAPE = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5"
BOTH = f"{MANAGED} and {SHAPE}"


def pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


async def leak(turn: Turn) -> None:  # noqa: C901 - a list of all the ways
    """Lets secrets slip wherever an agent can say something."""
    what = turn.message.text.split()[0]
    match what:
        case "say":
            for size in (1, 2, 3, 7, 20, 1000):
                for piece in pieces(f"it is {BOTH}, you know. ", size):
                    await turn.say(piece)
        case "think":
            for size in (1, 5):
                for piece in pieces(f"it is {BOTH}, hm. ", size):
                    await turn.think(piece)
        case "tool":
            call = await turn.tool(
                "shell", "Shell", message=f"use {BOTH}", input=f'{{"key": "{BOTH}"}}', confirmed="not-needed"
            )
            call.show(ToolResultTextContent(text=f"got {BOTH}"))
            await call.done(f"used {BOTH}", text=f"{BOTH}\n" * 2000, structured={"key": BOTH})
            failed = await turn.tool("shell", "Shell", message="again", confirmed="not-needed")
            await failed.done("failed", error=f"denied for {BOTH}")
        case "ask":
            question = SessionInputTextQuestion(id="q", message=f"is it {BOTH}?")
            reply = await turn.ask(
                SessionInputRequest(id=f"{turn.id}-r", message=f"about {BOTH}", questions=[question])
            )
            await turn.say(str(reply.answers))
        case "notice":
            await turn.activity(f"using {BOTH}")
            await turn.notice(f"found {BOTH}")
        case "client":
            assert turn.active_client is not None
            call = await turn.tool(
                "lookup",
                "Look up",
                message="look",
                confirmed="not-needed",
                client_id=turn.active_client.client_id,
            )
            await turn.say(str(await call.result()))
        case "cut":
            await turn.say(f"it is {MANAGED[:-3]}")
            raise RuntimeError(f"no access for {BOTH}")
        case _:
            await turn.say(f"you said: {turn.message.text}")


class Careless(CallbackHarness):
    """An agent that does not take messages, and says why with a secret."""

    def __init__(self) -> None:
        super().__init__("careless", leak)

    async def create(self, settings: Any, context: Any) -> Any:
        session = await super().create(settings, context)

        async def receive(message: Any, context: Any) -> Any:
            del message, context
            raise RuntimeError(f"no login with {BOTH}")

        session.receive_message = receive  # type: ignore[method-assign]
        return session


@pytest.fixture
async def house() -> AsyncIterator[House]:
    harnesses = [CallbackHarness("leaky", leak, capabilities=STEERABLE), Careless()]
    async with housing(harnesses=harnesses, secrets={"HORSE": MANAGED}) as house:
        yield house


@pytest.fixture
async def session(client: Client) -> str:
    return await new_session(client, provider="leaky")


async def nothing_leaked(house: House, *clients: Client, typed: bool = False) -> None:
    async with connecting(house.url, "late") as late:
        await late.initialize(ROOT, ONE)
        await late.request("listSessions")
        await late.request("fetchTurns", ONE)
        frames = [frame for client in (*clients, late) for frame in client.frames]
    for text in (contents(house.store).decode(errors="replace"), *frames):
        assert MANAGED not in text
        if not typed:  # a person's own words stay as they are, but for secrets that are managed
            assert SHAPE not in text
        assert MANAGED[:-3] not in text


@pytest.mark.parametrize("what", ["say", "think", "tool", "ask", "notice", "cut"])
async def test_what_an_agent_lets_slip_is_masked(
    house: House, client: Client, session: str, what: str
) -> None:
    await client.dispatch(session, "turnStarted", turnId="t1", userMessage={"text": what})
    if what == "ask":
        await client.hear("inputRequested")
        answers = {"q": {"state": "submitted", "value": {"kind": "text", "value": "yes"}}}
        await client.dispatch(session, "inputCompleted", requestId="t1-r", response="accept", answers=answers)
    await over(client, session)
    await nothing_leaked(house, client)


async def test_a_text_is_whole_but_for_its_secrets(client: Client, session: str) -> None:
    await client.dispatch(session, "turnStarted", turnId="t1", userMessage={"text": "say"})
    said = text_of(await over(client, session))
    assert said.count("[secret:HORSE]") == 6
    assert said.count(", you know. ") == 6
    assert said.startswith("it is [secret:HORSE] and ghp_[")


async def test_a_managed_secret_is_masked_in_what_a_person_says(
    house: House, client: Client, session: str
) -> None:
    message = {
        "text": f"hello {BOTH}",
        "attachments": [
            {"type": "simple", "label": f"{MANAGED}", "modelRepresentation": MANAGED, "_meta": {"k": MANAGED}}
        ],
    }
    await client.dispatch(session, "turnStarted", turnId="t1", userMessage=message)
    said = text_of(await over(client, session))
    assert "[secret:HORSE]" in said
    await client.dispatch(session, "titleChanged", title=f"about {MANAGED}")
    await client.dispatch(session, "pendingMessageSet", kind="queued", id="q", userMessage=message)
    await client.until(lambda: len(client.session(session).turns) == 2)
    await client.dispatch(session, "pendingMessageSet", kind="steering", id="s", userMessage=message)
    await client.hear("pendingMessageSet", id="s")
    await nothing_leaked(house, client, typed=True)
    assert SHAPE in client.heard("turnStarted")[0]["userMessage"]["text"]


async def test_a_rejection_does_not_repeat_a_secret(house: House, client: Client, session: str) -> None:
    await client.dispatch(session, "titleChanged", title="first", seq=9)
    await client.dispatch(session, "titleChanged", title=MANAGED, seq=9)
    await client.dispatch(session, "titleChanged", text=MANAGED)
    await client.dispatch(session, "turnCancelled", turnId=MANAGED)
    await client.dispatch(session, "imagined", text=[MANAGED])
    await client.until(lambda: sum("rejectionReason" in e for e in client.envelopes) == 4)
    await nothing_leaked(house, client)


async def test_what_a_client_s_tool_returns_is_masked_as_any_tool_s(
    house: House, client: Client, session: str
) -> None:
    active = {"clientId": "one", "tools": [{"name": "lookup"}]}
    await client.dispatch(session, "activeClientChanged", activeClient=active)
    await client.dispatch(session, "turnStarted", turnId="t1", userMessage={"text": "client"})
    call = (await client.hear("toolCallStart"))["action"]
    content = [{"type": "text", "text": f"found {BOTH}"}]
    where = {"turnId": "t1", "toolCallId": call["toolCallId"]}
    await client.dispatch(session, "toolCallContentChanged", **where, content=content)
    result = {"success": True, "pastTenseMessage": f"found {BOTH}", "content": content}
    await client.dispatch(session, "toolCallComplete", **where, result=result)
    await over(client, session)
    await nothing_leaked(house, client)


async def test_why_a_message_was_not_taken_is_masked(house: House, client: Client) -> None:
    await new_session(client, provider="careless")
    await client.dispatch(ONE, "turnStarted", turnId="t1", userMessage={"text": "hello"})
    turn = await over(client, ONE)
    assert turn.error is not None
    assert turn.error.error_type == "delivery_failed"
    await nothing_leaked(house, client)


async def test_a_secret_in_what_a_session_is_made_of_is_masked(house: House, client: Client) -> None:
    active = {"clientId": "one", "displayName": MANAGED, "tools": [{"name": "x", "description": MANAGED}]}
    await new_session(
        client,
        provider="leaky",
        activeClient=active,
        model={"id": "m", "config": {"key": MANAGED}},
        agent={"uri": f"agent:/{MANAGED}"},
    )
    await nothing_leaked(house, client)
