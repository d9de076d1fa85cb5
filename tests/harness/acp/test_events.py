"""What the workspace hears of an agent over ACP: the same events as of any other."""

from __future__ import annotations

from conformance.client import Client
from harness.acp.conftest import FORKS, Inn, begin, ended, say
from relay.listeners import listening
from relay.tables import said
from relay.test_capabilities import live
from relay.workspaces import until
from requirements import proves
from serai.relay.policy import RelayPolicy
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
        assert live(heard) == said("Events", "ACP", "host", "declared")
        change = next(one for one in heard.own("file.changed") if one["path"].endswith("/w/a.py"))
        assert change["diff"] == "@@ -1,2 +1,3 @@\n 1\n-2\n+3\n+4"
        assert [one.get("costUsd") for one in heard.own("usage.updated")] == [0.25, 0.5, 0.5]
    finally:
        await workspace.close()
