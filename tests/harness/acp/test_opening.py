"""How the agent's own session comes back: resumed, loaded, forked, made anew, or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.client import Client, calls_of
from harness.acp.conftest import FORKS, LOADS, ONE, RESUMES, Inn, back, notices, said, say
from serai.harness.acp.record import read_records


def opened(client: Client) -> str:
    meta = client.session(ONE).meta
    assert meta is not None
    return meta["serai.acp"]["opened"]


async def test_a_session_tells_what_its_agent_can_do(inn: Inn, client: Client) -> None:
    meta = client.session(await inn.begun(client, capabilities=FORKS)).meta
    assert meta is not None
    told = meta["serai.acp"]["capabilities"]
    assert (told["loadSession"], told["forkSession"], told["listSessions"]) == (True, True, False)
    assert told["mcp"] == {"stdio": True, "http": False, "sse": False}


@pytest.mark.parametrize(("can", "how"), [(RESUMES, "resumed"), (LOADS, "loaded")])
async def test_after_a_restart_the_agent_remembers_and_nothing_is_recorded_twice(
    inn: Inn, client: Client, keep: str, can: dict[str, Any], how: str
) -> None:
    session = await inn.begun(client, keep=keep, capabilities=can)
    await say(client, session, "echo one")
    client = await back(inn)
    turn = await say(client, session, "recall")
    assert said(turn) == '["echo one"]'
    assert f"has {how} its session" in notices(turn)[0]
    assert len(notices(turn)) == 1
    assert calls_of(turn) == []
    assert [t.user_message.text for t in client.session(session).turns] == ["echo one", "recall"]
    assert opened(client) == how
    assert notices(await say(client, session, "echo more")) == []


async def test_an_agent_that_cannot_is_given_the_conversation_in_a_new_session(
    inn: Inn, client: Client
) -> None:
    session = await inn.begun(client)
    await say(client, session, "echo one")
    client = await back(inn)
    turn = await say(client, session, "blocks")
    assert (
        "works in a new session of its own, since the agent cannot open earlier sessions" in notices(turn)[0]
    )
    (block,) = json.loads(said(turn))
    assert "User: echo one\n\nYou: one" in block["text"]
    assert opened(client) == "re-created"
    assert json.loads(said(await say(client, session, "blocks"))) == []


async def test_an_agent_that_cannot_be_started_again_fails_the_turn_and_says_so(
    inn: Inn, client: Client, tmp_path: Path
) -> None:
    signed_in = tmp_path / "signed-in"
    signed_in.touch()
    session = await inn.begun(client, signed_in=str(signed_in), definition={"login": ("quick", "login")})
    await say(client, session, "echo one")
    signed_in.unlink()
    client = await back(inn)
    turn = await say(client, session, "echo two")
    assert (turn.state, turn.error.error_type) == ("error", "auth_required")
    assert "Run 'quick login' in a terminal" in turn.error.message
    assert "could not be started again" in notices(turn)[0]
    meta = client.session(session).meta
    assert meta is not None
    assert meta["serai.login"]["command"] == ["quick", "login"]
    signed_in.touch()
    after = await say(client, session, "echo three")
    assert (said(after), after.state) == ("three", "complete")
    assert "serai.login" not in (client.session(session).meta or {})


async def test_a_turn_that_was_running_is_interrupted_and_the_next_one_goes_on(
    inn: Inn, client: Client, keep: str
) -> None:
    session = await inn.begun(client, keep=keep, capabilities=RESUMES)
    await say(client, session, "echo one")
    await client.dispatch(session, "turnStarted", turnId="running", userMessage={"text": "wait"})
    await client.hear("delta", content="waiting")
    client = await back(inn)
    assert client.session(session).turns[-1].error is not None
    turn = await say(client, session, "recall")
    assert "resumed" in notices(turn)[0]


BOTH = {"loadSession": True, "sessionCapabilities": {"resume": {}}}


async def test_an_agent_that_does_not_survive_an_earlier_session_gets_a_new_one(
    inn: Inn, client: Client, keep: str
) -> None:
    session = await inn.begun(
        client, keep=keep, capabilities=BOTH, dies_in=["session/load", "session/resume"]
    )
    await say(client, session, "echo one")
    assert (await say(client, session, "vanish")).error.error_type == "connection_closed"
    turn = await say(client, session, "blocks")
    assert "works in a new session of its own" in notices(turn)[0]
    assert "You: one" in said(turn)
    assert (turn.state, opened(client)) == ("complete", "re-created")
    assert said(await say(client, session, "recall")) == '["blocks"]'


# -- turns that were taken back ----------------------------------------------------------------------------


async def test_a_truncated_session_is_made_anew_with_what_is_left(
    inn: Inn, client: Client, keep: str
) -> None:
    session = await inn.begun(client, keep=keep, capabilities=RESUMES)
    first = await say(client, session, "echo one")
    await say(client, session, "echo two")
    await client.dispatch(session, "truncated", turnId=first.id)
    await client.until(lambda: len(client.session(session).turns) == 1)
    turn = await say(client, session, "blocks")
    assert "since agents cannot take back what was said" in notices(turn)[0]
    (block,) = json.loads(said(turn))
    assert "echo one" in block["text"]
    assert "echo two" not in block["text"]


# -- forks -------------------------------------------------------------------------------------------------

FORK = "ahp-session:/fork"


async def test_a_fork_at_the_last_turn_is_the_agents_own(inn: Inn, client: Client, keep: str) -> None:
    session = await inn.begun(client, keep=keep, capabilities=FORKS)
    last = await say(client, session, "echo one")
    await inn.session(client, FORK, fork={"session": session, "turnId": last.id})
    turn = await say(client, FORK, "recall")
    assert said(turn) == '["echo one"]'
    assert "has forked its session" in notices(turn)[0]
    assert said(await say(client, session, "recall")) == '["echo one"]'
    await inn.restart()
    client = await inn.connect("again", FORK)
    again = await say(client, FORK, "recall")
    assert said(again) == '["echo one", "recall"]'


async def test_another_fork_is_a_new_session_that_says_so(inn: Inn, client: Client, keep: str) -> None:
    session = await inn.begun(client, keep=keep, capabilities=FORKS)
    first = await say(client, session, "echo one")
    await say(client, session, "echo two")
    await inn.session(client, FORK, fork={"session": session, "turnId": first.id})
    turn = await say(client, FORK, "blocks")
    assert "before the last turn" in notices(turn)[0]
    assert "echo one" in said(turn)
    assert "echo two" not in said(turn)


def test_what_was_made_anew_is_untold_until_the_agent_was_prompted() -> None:
    again, prompted = {"type": "opened", "sessionId": "b"}, {"type": "prompted", "turn": "u"}
    anew = [again, prompted, {**again, "anew": True}]
    assert read_records(anew).is_untold
    assert read_records([*anew, again]).is_untold
    assert not read_records([*anew, prompted, again]).is_untold


# -- what a session is opened with -------------------------------------------------------------------------

SERVERS = [{"name": "tools", "command": "serve", "env": {"A": "1"}}]


async def test_folder_directories_and_servers_are_told_to_the_agent(
    inn: Inn, client: Client, keep: str, tmp_path: Path
) -> None:
    can = {"sessionCapabilities": {"additionalDirectories": {}, "resume": {}}}
    inn.offer(keep=keep, capabilities=can)
    config = {"additionalDirectories": [(tmp_path / "more").as_uri(), "/other"], "mcpServers": SERVERS}
    session = await inn.session(client, config=config)
    (call,) = json.loads(said(await say(client, session, "opened")))
    wanted = {
        "cwd": str(inn.folder),
        "additionalDirectories": [str(tmp_path / "more"), "/other"],
        "mcpServers": [
            {"name": "tools", "command": "serve", "args": [], "env": [{"name": "A", "value": "1"}]}
        ],
    }
    assert call == ["session/new", wanted]
    client = await back(inn)
    (call,) = json.loads(said(await say(client, session, "opened")))
    assert (call[0], call[1]["mcpServers"]) == ("session/resume", wanted["mcpServers"])


# -- history that comes late -------------------------------------------------------------------------------


async def test_history_that_is_told_after_the_answer_is_history_too(
    inn: Inn, client: Client, keep: str
) -> None:
    session = await inn.begun(client, keep=keep, capabilities=LOADS, late=0.05)
    await say(client, session, "echo one")
    client = await back(inn)
    turn = await say(client, session, "recall")
    assert (said(turn), calls_of(turn)) == ('["echo one"]', [])
    assert len(notices(turn)) == 1


async def test_the_history_of_a_fork_is_not_recorded_again(inn: Inn, client: Client, keep: str) -> None:
    session = await inn.begun(client, keep=keep, capabilities=FORKS, late=0.05)
    last = await say(client, session, "echo one")
    await inn.session(client, FORK, fork={"session": session, "turnId": last.id})
    turn = await say(client, FORK, "recall")
    assert (said(turn), calls_of(turn)) == ('["echo one"]', [])
    (notice,) = notices(turn)
    assert "has forked its session" in notice
    assert notices(await say(client, FORK, "echo more")) == []
