"""The relay's tools, in the process: a model session calls them as itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from serai.contract import Role
from serai.harness.model.tool import Asking, ForeignTool, ToolContext, ToolOutput
from serai.relay import tools as relay
from serai.relay.inbox import Caller
from serai.relay.workspace import Workspace

_ONCE = frozenset({"send_message", "reply", "create_room", "check_inbox"})
"""What is not the same when it is done twice."""


async def relay_tools(workspace: Workspace, tools: relay.RelayTools, session: str) -> list[RelayTool]:
    """The relay's tools for the agent of a session, given its URI, with one for each action it may use."""
    caller = Caller(Role.AGENT, workspace.identities.of_session(session))
    return [RelayTool(tools, caller, tool) for tool in await tools.tools(caller)]


class RelayTool(ForeignTool):
    """One of them. Nobody is asked: the relay's policy says who may do what."""

    asking = Asking.NEVER

    def __init__(self, tools: relay.RelayTools, caller: Caller, tool: relay.Tool) -> None:
        self.name = tool.name
        self.title = tool.name.replace("_", " ").capitalize()
        self.description = tool.description
        self.is_idempotent = tool.name not in _ONCE
        self.schema = tool.schema
        self._tools = tools
        self._caller = caller

    async def run(self, given: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """See `Tool`."""
        del context
        answer = await self._tools.call(self._caller, self.name, given)
        return ToolOutput(msgspec.json.encode(answer).decode())
