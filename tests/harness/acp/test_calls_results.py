"""What came of a tool call, as far as its agent tells it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.client import Client, calls_of
from harness.acp.conftest import Inn, back, begin, ended, pending, said, status


def text(words: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": words}}


def told(**fields: Any) -> dict[str, Any]:
    return {"do": "tool_call_update", **fields}


AGAIN = {"do": "tool_call", "title": "make", "kind": "execute", "status": "in_progress"}


def shown(call: Any) -> list[str]:
    """The texts that a call shows; of an edit, the name of its kind."""
    return [getattr(each, "text", None) or type(each).__struct_config__.tag for each in call.content or ()]


# -- turns that end before it is told ----------------------------------------------------------------------

HALF = {**AGAIN, "content": [text("half")]}
QUESTION = {"do": "begin asking", "title": "make"}
WAIT = {"do": "wait"}


async def waiting(inn: Inn, client: Client, *steps: dict[str, Any]) -> tuple[str, str]:
    """A session and its turn, in which the agent waits after these steps."""
    session = await inn.begun(client)
    turn = await begin(client, session, f"scripted {json.dumps([*steps, WAIT])}")
    await client.until(lambda: said(client.session(session).active_turn) == "waiting")
    return session, turn


@pytest.mark.parametrize(
    ("steps", "shown_before"),
    [
        ([HALF], ["half"]),
        ([QUESTION, told(status="in_progress")], []),
    ],
    ids=["runs", "hasty"],
)
async def test_a_call_that_runs_when_someone_cancels_was_not_skipped(
    inn: Inn, client: Client, steps: list[dict[str, Any]], shown_before: list[str]
) -> None:
    session, turn = await waiting(inn, client, *steps)
    await client.dispatch(session, "turnCancelled", turnId=turn)
    over = await ended(client, session, turn)
    (call,) = calls_of(over)
    assert (over.state, status(call), call.success) == ("cancelled", "completed", False)
    assert call.error.message == "the agent did not tell how this ended"
    assert shown(call) == shown_before


async def test_a_call_that_runs_when_the_host_is_stopped_was_not_skipped(inn: Inn, client: Client) -> None:
    session, turn = await waiting(inn, client, HALF)
    again = await back(inn)
    over = await ended(again, session, turn)
    (call,) = calls_of(over)
    assert (over.error.error_type, status(call), call.success) == ("interrupted", "completed", False)
    assert call.error.message == "the agent did not tell how this ended"
    assert shown(call) == ["half"]


@pytest.mark.parametrize("before", [[], [HALF]], ids=["first", "in progress"])
async def test_a_call_that_someone_is_asked_about_when_they_cancel_was_skipped(
    inn: Inn, client: Client, before: list[dict[str, Any]]
) -> None:
    session, turn = await waiting(inn, client, *before, QUESTION)
    await pending(client, session)
    await client.dispatch(session, "turnCancelled", turnId=turn)
    (call,) = calls_of(await ended(client, session, turn))
    assert (status(call), call.reason) == ("cancelled", "skipped")
