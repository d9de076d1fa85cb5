"""What the workspace hears of an agent over ACP: the same events as of any other."""

from __future__ import annotations

from conformance.client import Client
from harness.acp.conftest import Inn, say
from relay.listeners import listening
from relay.workspaces import until
from requirements import proves
from serai.contract import AgentSessionEventType
from serai.contract.events import OBSERVED_BY_HOST
from serai.relay.policy import RelayPolicy
from serai.relay.workspace import Workspace


@proves("caps:Event-Capabilities/normalised")
async def test_the_workspace_hears_the_same_of_an_agent_over_acp(inn: Inn, client: Client) -> None:
    workspace = Workspace(inn.house.host, RelayPolicy(me="alice"))
    await workspace.open()
    inn.offer()
    try:
        async with listening(workspace) as heard:
            session = await inn.session(client)
            for text in ("echo hello", "tool", "tool failed", "mixed", "usage", "error -32603 nothing works"):
                await say(client, session, text)
            await until(inn.house.host, lambda: heard.own("error"))
        assert heard.statuses[:4] == ["starting", "idle", "active", "idle"]
        kinds = {AgentSessionEventType(one.partition("/")[2]) for one in heard.types if "/" in one}
        assert kinds >= {
            AgentSessionEventType.SESSION_STARTED,
            AgentSessionEventType.TRANSCRIPT_CHUNK,
            AgentSessionEventType.TOOL_CALLED,
            AgentSessionEventType.TOOL_COMPLETED,
            AgentSessionEventType.TOOL_FAILED,
            AgentSessionEventType.USAGE_UPDATED,
        }
        assert {kind for kind in kinds if kind.is_live} <= set(OBSERVED_BY_HOST)
        change = next(one for one in heard.own("file.changed") if one["path"].endswith("/w/a.py"))
        assert change["diff"] == "@@ -1,2 +1,3 @@\n 1\n-2\n+3\n+4"
        assert [one.get("costUsd") for one in heard.own("usage.updated")] == [0.25, 0.5, 0.5]
    finally:
        await workspace.close()
