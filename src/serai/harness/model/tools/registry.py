"""All tools by name, those of the relay among them, and which of them an agent has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from serai.contract import Role
from serai.harness.model.tool import Asking, BuiltIn, ForeignRequest, ModelTool, ToolAnswer, ToolRequest
from serai.harness.model.tools.commands import RunCommand
from serai.harness.model.tools.files import EditFile, ListDirectory, ReadFile, SearchFiles, WriteFile
from serai.harness.model.tools.git import GitCommit, GitDiff, GitStatus
from serai.harness.model.tools.http import HttpRequest
from serai.harness.model.tools.person import AskUser
from serai.relay.tokens import Caller
from serai.relay.tools import RelayTools
from serai.relay.workspace import Workspace
from serai.session.agent_file import covers

_KINDS: tuple[type[BuiltIn], ...] = (
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
BUILT_IN_TOOLS = tuple(kind.tool() for kind in _KINDS)
"""The tools of every agent whose file does not list its tools."""


def is_tool_name(name: str) -> bool:
    """Tell whether an agent's file may name a tool so: a built-in tool, one of the relay, or one of MCP.

    A last `*` stands for anything: `mcp__github__*`. What MCP servers offer is known only when they run.
    """
    known = (*BUILT_IN_TOOLS, *RelayTools.own)
    return name.startswith("mcp__") or any(covers(name, tool.name) for tool in known)


def narrowed(tools: Iterable[ModelTool], names: Iterable[str] | None) -> dict[str, ModelTool]:
    """Return the named tools; all for `None`. Of two tools with one name the first counts."""
    wanted = None if names is None else tuple(names)
    left: dict[str, ModelTool] = {}
    for tool in tools:
        if wanted is None or any(covers(name, tool.name) for name in wanted):
            left.setdefault(tool.name, tool)
    return left


# -- the relay's tools ------------------------------------------------------------------------------------

_ONCE = frozenset({"send_message", "reply", "create_room", "check_inbox"})
"""The tools whose repetition has another effect."""


async def relay_tools(workspace: Workspace, tools: RelayTools, session: str) -> list[ModelTool]:
    """Return the relay's tools for the agent of a session, with one tool for each action that it may use.

    No person is asked: the relay's policy decides who may do what.
    """
    caller = Caller(Role.AGENT, workspace.identities.of_session(session))

    def tool(name: str, description: str, schema: dict[str, Any]) -> ModelTool:
        title = name.replace("_", " ").capitalize()

        def read(given: Mapping[str, Any]) -> ToolRequest:
            async def call() -> ToolAnswer:
                return ToolAnswer(msgspec.json.encode(await tools.call(caller, name, given)).decode())

            return ForeignRequest(title, call)

        return ModelTool(
            name, title, description, schema, read, Asking.NEVER, is_idempotent=name not in _ONCE
        )

    return [tool(one.name, one.description, one.schema) for one in await tools.tools(caller)]
