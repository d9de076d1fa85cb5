"""What an agent refuses to open is made anew, whatever its words; what it can open later is not."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.client import Client
from harness.acp.conftest import FORKS, LOADS, RESUMES, Inn, back, notices, said, say
from harness.acp.test_opening import FORK, opened

TOO_LONG = {
    "code": -32603,
    "message": "cannot restore: the conversation exceeds the context window of the model",
}
NO_FILE = {"code": -32002, "message": "no session file /var/sessions/503/x.json"}
NAMED = {"code": -32603, "message": "Session fix-rate-limit-429 not found"}
FOLDER = {"code": -32603, "message": "bad JSON in /home/me/rate-limiter/unauthorized/s.json"}

QUOTED = {"code": -32603, "message": "session 'rate_limit_work' is corrupt"}
ANOTHERS = {"code": -32603, "message": "unauthorized: session belongs to another user"}
COUNTED = {"code": -32603, "message": "Error: 503 sessions scanned, none matched"}
UNREAD = {"code": -32603, "message": 'Failed to parse history: {"title":"handle rate limit"}'}
FULL = {"code": -32603, "message": "disk quota exceeded"}


@pytest.mark.parametrize("error", [TOO_LONG, NO_FILE, NAMED, FOLDER, QUOTED, ANOTHERS, COUNTED, UNREAD, FULL])
@pytest.mark.parametrize("can", [LOADS, RESUMES])
async def test_a_session_that_the_agent_refuses_to_open_is_made_anew_whatever_its_words(
    inn: Inn, client: Client, keep: str, can: dict[str, Any], error: dict[str, Any]
) -> None:
    inn.offer(keep=keep, capabilities=can, refuses={"session/load": error, "session/resume": error})
    session = await inn.session(client)
    await say(client, session, "echo one")
    client = await back(inn)
    turn = await say(client, session, "blocks")
    assert (turn.state, opened(client)) == ("complete", "re-created")
    assert "works in a new session of its own" in notices(turn)[0]
    assert error["message"] in notices(turn)[0]
    assert "You: one" in said(turn)
    assert notices(await say(client, session, "echo more")) == []


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 429, "message": "later"}, "rate_limit"),
        ({"code": -32603, "message": "Too many requests"}, "rate_limit"),
        ({"code": -32603, "message": "Internal error", "data": {"error": "overloaded_error"}}, "overloaded"),
        ({"code": -32603, "message": "You've hit your usage limit"}, "usage_limit"),
        ({"code": -32603, "message": "Request rejected (429)"}, "rate_limit"),
    ],
)
async def test_a_session_that_can_be_opened_later_is_not_given_up(
    inn: Inn, client: Client, keep: str, error: dict[str, Any], kind: str
) -> None:
    inn.offer(keep=keep, capabilities=LOADS)
    session = await inn.session(client)
    await say(client, session, "echo one")
    inn.forget()
    inn.offer(keep=keep, capabilities=LOADS, refuses={"session/load": error})
    client = await back(inn)
    turn = await say(client, session, "recall")
    assert (turn.state, turn.error.error_type) == ("error", kind)
    assert "could not be started again" in notices(turn)[0]
    inn.forget()
    inn.offer(keep=keep, capabilities=LOADS)
    client = await back(inn)
    turn = await say(client, session, "recall")
    assert (said(turn), opened(client)) == ('["echo one"]', "loaded")


async def test_a_fork_that_the_agent_refuses_is_a_new_session_that_says_why(
    inn: Inn, client: Client, keep: str
) -> None:
    inn.offer(keep=keep, capabilities=FORKS, refuses={"session/fork": TOO_LONG})
    session = await inn.session(client)
    last = await say(client, session, "echo one")
    await inn.session(client, FORK, fork={"session": session, "turnId": last.id})
    turn = await say(client, FORK, "blocks")
    assert "exceeds the context window" in notices(turn)[0]
    assert "You: one" in said(turn)
