"""What a session asks people: drafts, answers, and what becomes of them."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.client import Client, text_of
from conformance.conftest import Connect, over, say
from requirements import proves


def submitted(kind: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"state": "submitted", "value": {"kind": kind, "value": value, **more}}


ANSWERS = {
    "name": submitted("text", "Nour"),
    "email": submitted("text", "nour@example.com"),
    "warmth": submitted("number", 21.5),
    "nights": submitted("number", 3),
    "camel": submitted("boolean", value=True),
    "bread": submitted("selected", "rye"),
    "extras": submitted("selected-many", ["tea"], freeformValues=["a map"]),
}


def request_of(client: Client, session: str) -> Any:
    [request] = client.session(session).input_requests or []
    return request


async def complete(client: Client, session: str, response: str = "accept", **fields: Any) -> int:
    request = request_of(client, session)
    return await client.dispatch(session, "inputCompleted", requestId=request.id, response=response, **fields)


async def change(client: Client, session: str, question: str, answer: dict[str, Any] | None) -> int:
    fields = {} if answer is None else {"answer": answer}
    return await client.dispatch(
        session,
        "inputAnswerChanged",
        requestId=request_of(client, session).id,
        questionId=question,
        **fields,
    )


@proves("ahp:session/inputCompleted/accept-resumes")
async def test_questions_of_every_kind_are_asked_and_answered(client: Client, session: str) -> None:
    await say(client, session, "ask")
    request = request_of(client, session)
    assert request.url == "https://example.com/"
    kinds = [type(question).__struct_config__.tag for question in request.questions]
    assert kinds == ["text", "text", "number", "integer", "boolean", "single-select", "multi-select"]
    assert client.session(session).summary.status & 31 == 24
    await complete(client, session, answers=ANSWERS)
    turn = await over(client, session)
    said = text_of(turn)
    for told in ("“Nour”", "21.5", "3", "yes", "Rye bread", "Tea, “a map”"):
        assert told in said
    assert client.session(session).input_requests is None


@proves("ahp:SessionInputRequest/drafts-shared", "ahp:SessionInputRequest/any-client-completes")
async def test_drafts_are_shared_and_any_client_completes(
    client: Client, session: str, connect: Connect
) -> None:
    other = await connect("other", session)
    await say(client, session, "ask text")
    await change(client, session, "name", {"state": "draft", "value": {"kind": "text", "value": "N"}})
    await other.hear("inputAnswerChanged")
    assert request_of(other, session).answers["name"].value.value == "N"
    await change(other, session, "name", ANSWERS["name"])
    await change(other, session, "email", {"state": "skipped", "freeformValues": ["no letters"]})
    await client.hear("inputAnswerChanged", questionId="email")
    assert request_of(client, session).answers["name"].value.value == "Nour"
    await complete(other, session)
    said = text_of(await over(client, session))
    assert "“Nour”" in said
    assert "skipped" in said


async def test_a_draft_can_be_taken_back(client: Client, session: str) -> None:
    await say(client, session, "ask text")
    await change(client, session, "name", ANSWERS["name"])
    await change(client, session, "name", None)
    await client.hear("inputAnswerChanged")
    await client.hear("inputAnswerChanged")
    assert request_of(client, session).answers is None
    await complete(client, session)
    assert (await client.hear("inputCompleted"))["rejectionReason"].startswith("bad_answer")


async def test_no_draft_gets_to_the_agent_that_would_be_no_answer(client: Client, session: str) -> None:
    await say(client, session, "ask number")
    draft = {"state": "draft", "value": {"kind": "number", "value": 99999999}}
    await change(client, session, "warmth", draft)
    assert "rejectionReason" not in await client.hear("inputAnswerChanged")
    await complete(client, session)
    refused = await client.hear("inputCompleted")
    assert refused["rejectionReason"] == "bad_answer: the answer to 'warmth' must be at most 30"
    assert request_of(client, session).answers["warmth"].value.value == 99999999, "it can still be mended"
    await change(client, session, "warmth", {"state": "draft", "value": {"kind": "number", "value": 20}})
    await complete(client, session)
    assert "20, only a draft" in text_of(await over(client, session))


@pytest.mark.parametrize(("response", "told"), [("decline", "rather not say"), ("cancel", "closed the")])
async def test_questions_may_be_declined_or_closed(
    client: Client, session: str, response: str, told: str
) -> None:
    await say(client, session, "ask")
    await complete(client, session, response)
    assert told in text_of(await over(client, session))


async def test_of_two_who_answer_the_first_wins(client: Client, session: str, connect: Connect) -> None:
    other = await connect("other", session)
    await say(client, session, "ask text")
    await other.until(lambda: other.session(session).input_requests)
    await complete(client, session, answers={"name": submitted("text", "First")})
    await complete(other, session, answers={"name": submitted("text", "Second")})
    await over(client, session)
    await over(other, session)
    refused = [e for e in [*client.envelopes, *other.envelopes] if "rejectionReason" in e]
    assert [e["rejectionReason"].split(":")[0] for e in refused] == ["no_such_request"]
