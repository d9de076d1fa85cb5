"""All tools by name, and which of them an agent has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from serai.harness.model.tool import Tool
from serai.harness.model.tools.commands import RunCommand
from serai.harness.model.tools.file_reads import ListDirectory, ReadFile, SearchFiles
from serai.harness.model.tools.file_writes import EditFile, WriteFile
from serai.harness.model.tools.git import GitCommit, GitDiff, GitStatus
from serai.harness.model.tools.http import HttpRequest
from serai.harness.model.tools.person import AskUser
from serai.relay.tools import RelayTools
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
