"""An agent's file, and what a session takes away from its agent."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from serai.errors import DocumentInvalid, Mismatch
from serai.session.agent_file import (
    AgentBudget,
    AgentFile,
    AgentLimits,
    FsScopeTier,
    Known,
    Narrowing,
    OnExceed,
    narrow,
    read_agent,
)
from serai.session.yaml import dump, load

FILE = """\
# A reviewer.
slug: reviewer
name: Reviewer
description: Looks at changes
model: local:small
fallback_chain: [local:large]
system_prompt: |
  You review {{ctx.project}}.
tools: [read_file, run_command, mcp__github__*]
allowed_commands:
  - git log *
  - make test
fs_scope: project
mcp_servers:
  github: {command: github-mcp, args: [--stdio], env: {TOKEN: "keyring:github"}}
variables: {project: serai}
limits: {max_turns: 20, max_tool_turns: 8, max_tokens: 4096, max_seconds: 600}
budget: {max_cost_microcents: 5000000, on_exceed: ask}
"""
AGENT = AgentFile(
    slug="reviewer",
    name="Reviewer",
    description="Looks at changes",
    model="local:small",
    fallback_chain=("local:large",),
    system_prompt="You review {{ctx.project}}.\n",
    tools=("read_file", "run_command", "mcp__github__*"),
    allowed_commands=("git log *", "make test"),
    fs_scope=FsScopeTier.PROJECT,
    mcp_servers={
        "github": {"command": "github-mcp", "args": ["--stdio"], "env": {"TOKEN": "keyring:github"}}
    },
    variables={"project": "serai"},
    limits=AgentLimits(max_turns=20, max_tool_turns=8, max_tokens=4096, max_seconds=600),
    budget=AgentBudget(max_cost_microcents=5_000_000, on_exceed=OnExceed.ASK),
)


def is_tool(name: str) -> bool:
    return name in {"read_file", "write_file", "run_command"} or name.startswith("mcp__")


KNOWN = Known(is_tool, {"local:small", "local:large"}.__contains__)


def read(text: str) -> AgentFile:
    return read_agent(load(text.encode(), "a.agent.yaml"), KNOWN)


def test_a_file_with_everything_is_read() -> None:
    assert read(FILE) == AGENT
    assert read(dump(msgspec.to_builtins(AGENT))) == AGENT


def test_a_slug_is_enough() -> None:
    assert read("slug: helper") == AgentFile(slug="helper")


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "expected"),
        ("name: x\n", 1, "slug: is required"),
        ("slug: A b\n", 1, "slug: "),
        ("slug: a\n\nmodell: x\n", 3, "unknown field `modell`"),
        ("slug: a\ntools:\n  - read_file\n  - fly\n", 4, "no tool 'fly'"),
        ("slug: a\nmodel: gpt\n", 2, "NAME:ID"),
        ("slug: a\nmodel: other:small\n", 2, "no model 'other:small'"),
        ("slug: a\nlimits:\n  max_turns: many\n", 3, "limits.max_turns: "),
        ("slug: a\nlimits:\n  turns: 1\n", 3, "unknown field `turns`"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, line: int, what: str) -> None:
    with pytest.raises(DocumentInvalid) as caught:
        read(text)
    assert caught.value.message.startswith(f"a.agent.yaml:{line}: ")
    assert what in caught.value.message


@pytest.mark.parametrize(
    ("wish", "left"),
    [
        ({}, {}),
        ({"tools": ["read_file", "mcp__github__search"]}, {"tools": ("read_file", "mcp__github__search")}),
        ({"tools": []}, {"tools": ()}),
        (
            {"allowedCommands": ["git log --oneline", "git log x *"]},
            {"allowed_commands": ("git log --oneline", "git log x *")},
        ),
        ({"fsScopeTier": "sandboxed"}, {"fs_scope": FsScopeTier.SANDBOXED}),
        ({"maxTurns": 3}, {"limits": msgspec.structs.replace(AGENT.limits, max_turns=3)}),
    ],
)
def test_a_session_takes_away(wish: dict[str, Any], left: dict[str, Any]) -> None:
    assert narrow(AGENT, msgspec.convert(wish, Narrowing), is_tool) == msgspec.structs.replace(AGENT, **left)


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        ({"tools": ["read_file", "write_file"]}, "tools"),
        ({"tools": ["*"]}, "tools"),
        ({"allowedCommands": ["git *"]}, "allowedCommands"),
        ({"fsScopeTier": "full"}, "fsScopeTier"),
        ({"maxTurns": 21}, "maxTurns"),
        ({"maxToolTurns": 9}, "maxToolTurns"),
    ],
)
def test_what_would_widen_is_refused_by_name(wish: dict[str, Any], field: str) -> None:
    with pytest.raises(Mismatch) as caught:
        narrow(AGENT, msgspec.convert(wish, Narrowing), is_tool)
    assert caught.value.field == field


def test_an_agent_that_names_no_tools_has_the_built_in_ones_and_those_of_its_servers() -> None:
    agent = AgentFile(slug="a")
    wish = Narrowing(tools=("read_file", "mcp__github__search"), max_turns=100)
    assert narrow(agent, wish, is_tool).tools == wish.tools
    assert narrow(agent, wish, is_tool).limits.max_turns == 100
    with pytest.raises(Mismatch):
        narrow(agent, Narrowing(tools=("fly",)), is_tool)


WORDS = st.lists(st.sampled_from(["git", "log", "*", "a"]), min_size=1, max_size=3).map(" ".join)
COMMANDS = st.lists(st.sampled_from(["git", "log", "a"]), min_size=1, max_size=3)


def allows(pattern: str, command: list[str]) -> bool:
    words = pattern.split()
    return command[: len(words) - 1] == words[:-1] if words[-1] == "*" else command == words


@given(agents=WORDS, sessions=WORDS, command=COMMANDS)
def test_no_command_is_allowed_that_the_agent_does_not_allow(
    agents: str, sessions: str, command: list[str]
) -> None:
    agent = AgentFile(slug="a", allowed_commands=(agents,))
    try:
        left = narrow(agent, Narrowing(allowed_commands=(sessions,)), is_tool)
    except Mismatch:
        return
    assert not any(allows(one, command) for one in left.allowed_commands) or allows(agents, command)
