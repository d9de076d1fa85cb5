"""What is told of a whole session with an agent, also with one that shares no code with the host."""

from __future__ import annotations

import sys
from pathlib import Path

from conformance.client import Client, calls_of
from harness.acp.conftest import FORKS, Inn, begin, confirm, ended, notices, pending, said, say
from relay import tables
from relay.listeners import listening
from relay.test_capabilities import live
from relay.workspaces import until
from requirements import proves
from serai.config.settings import RelayPolicy
from serai.relay.workspace import Workspace

SAID = (
    *(
        "echo hello",
        "tool",
        "tool failed",
        "mixed",
        "usage",
        "plan",
        "terminal",
        "lasting exit 3",
        "printing",
    ),
    *("error -32603 nothing works", "error -32000 sign in"),
)


@proves("caps:Event-Capabilities/normalised")
async def test_the_workspace_hears_the_same_of_an_agent_over_acp(inn: Inn, client: Client, keep: str) -> None:
    workspace = Workspace(inn.house.host, RelayPolicy(me="alice"))
    await workspace.open()
    inn.offer(keep=keep, capabilities=FORKS, definition={"terminal": True})
    host = inn.house.host
    try:
        async with listening(workspace) as heard:
            uri = await inn.session(client)
            for text in SAID:
                await say(client, uri, text)
            session = host.sessions.get(uri)
            assert session is not None
            turn = await begin(client, uri, "permission")
            await until(host, lambda: heard.statuses[-1] == "waiting")
            await client.dispatch(uri, "turnCancelled", turnId=turn)
            await ended(client, uri, turn)
            await until(host, lambda: heard.own("command.failed"))
            session.pause()
            session.resume()
            await (await session.agent()).fork()
            await host.dispose(uri)
            await until(host, lambda: "released" in heard.statuses)
        assert live(heard) == tables.said("Events", "ACP", "host", "declared")
        change = next(one for one in heard.own("file.changed") if one["path"].endswith("/w/a.py"))
        assert change["diff"] == "@@ -1,2 +1,3 @@\n 1\n-2\n+3\n+4"
        assert [one.get("costUsd") for one in heard.own("usage.updated")] == [0.25, 0.5, 0.5]
    finally:
        await workspace.close()


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
