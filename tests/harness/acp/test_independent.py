"""An agent on the agent side of the Python SDK, which knows nothing of this host, through the port."""

from __future__ import annotations

import sys
from pathlib import Path

from conformance.client import Client, calls_of
from harness.acp.conftest import Inn, begin, confirm, ended, notices, pending, said, say

INDEPENDENT = (
    sys.executable,
    str(Path(__file__).parents[2] / "acp" / "agents" / "independent.py"),
)


async def test_a_whole_session_with_an_independent_agent(inn: Inn, client: Client) -> None:
    inn.offer(INDEPENDENT, "independent", definition={"fs": False, "terminal": True})
    session = await inn.session(client, provider="independent", model={"id": "large"}, config={"mode": "do"})
    state = client.session(session)
    assert state.lifecycle == "ready", state.creation_error
    assert state.config is not None
    assert state.config.values["mode"] == "do"

    turn = await begin(client, session, "work")
    call = await pending(client, session)
    assert (call.tool_name, call.invocation_message) == ("execute", "ls")
    await confirm(client, session, call, selectedOptionId="yes")
    over = await ended(client, session, turn)
    (call,) = calls_of(over)
    assert (call.success, call.selected_option.id) == (True, "yes")
    assert call.content[0].text == "README.md"
    assert over.usage.meta["serai.sessionCost"]["amount"] == 0.5
    assert (over.usage.input_tokens, over.usage.output_tokens) == (3, 2)
    assert client.session(session).summary.title == "Work"
    assert "- [ ] look" in notices(over)

    turn = await begin(client, session, "terminal")
    assert "0" in said(await ended(client, session, turn))

    turn = await begin(client, session, "wait")
    await client.until(lambda: "waiting" in said(client.session(session).active_turn))
    await client.dispatch(session, "turnCancelled", turnId=turn)
    assert (await ended(client, session, turn)).state == "cancelled"
    assert said(await say(client, session, "say on")) == "on"

    over = await say(client, session, "crash")
    assert over.error.error_type == "connection_closed"
    over = await say(client, session, "say back")
    assert said(over) == "back"
    assert "has resumed its session" in notices(over)[0]
