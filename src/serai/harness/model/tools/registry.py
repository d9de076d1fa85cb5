"""All tools by name, those of the relay among them, and which of them an agent has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from serai.contract import Role
from serai.harness.model.tool import Asking, ForeignTool, Tool, ToolContext, ToolOutput
from serai.harness.model.tools.commands import RunCommand
from serai.harness.model.tools.file_reads import ListDirectory, ReadFile, SearchFiles
from serai.harness.model.tools.file_writes import EditFile, WriteFile
from serai.harness.model.tools.git import GitCommit, GitDiff, GitStatus
from serai.harness.model.tools.http import HttpRequest
from serai.harness.model.tools.person import AskUser
from serai.relay.inbox import Caller
from serai.relay.tools import RelayTools
from serai.relay.tools import Tool as RelaysTool
from serai.relay.workspace import Workspace
from serai.session.agent_file import BUILT_IN_TOOLS, covers

_KINDS: tuple[type[Tool[Any]], ...] = (
    ReadFile,
    ListDirectory,
    SearchFiles,
    WriteFile,
    EditFile,
    RunCommand,
    GitStatus,
    GitDiff,
    GitCommit,
    HttpRequest,
    AskUser,
)


def built_in_tools() -> list[Tool[Any]]:
    """The built-in tools, for one session."""
    return [kind() for kind in _KINDS]


def is_tool_name(name: str) -> bool:
    """Whether an agent's file may name a tool so: a built-in one, one of the relay, or one of MCP.

    A last `*` stands for anything: `mcp__github__*`. What MCP servers offer is known only when they run.
    """
    known = (*BUILT_IN_TOOLS, *(tool.name for tool in RelayTools.own))
    return name.startswith("mcp__") or any(covers(name, one) for one in known)


def narrowed(tools: Iterable[Tool[Any]], names: Iterable[str] | None) -> dict[str, Tool[Any]]:
    """The tools that names leave, by name; `None` leaves all. Of two with one name the first counts."""
    wanted = None if names is None else tuple(names)
    left: dict[str, Tool[Any]] = {}
    for tool in tools:
        if wanted is None or any(covers(name, tool.name) for name in wanted):
            left.setdefault(tool.name, tool)
    return left


# -- the relay's ------------------------------------------------------------------------------------------

_ONCE = frozenset({"send_message", "reply", "create_room", "check_inbox"})
"""What is not the same when it is done twice."""


async def relay_tools(workspace: Workspace, tools: RelayTools, session: str) -> list[RelayTool]:
    """The relay's tools for the agent of a session, given its URI, with one for each action it may use."""
    caller = Caller(Role.AGENT, workspace.identities.of_session(session))
    return [RelayTool(tools, caller, tool) for tool in await tools.tools(caller)]


class RelayTool(ForeignTool):
    """One of them. Nobody is asked: the relay's policy says who may do what."""

    asking = Asking.NEVER

    def __init__(self, tools: RelayTools, caller: Caller, tool: RelaysTool) -> None:
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
