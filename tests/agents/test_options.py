"""What is said when an agent is started is looked at before anything is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from serai import agents
from serai.acp import StdioServer
from serai.agents.testing import EVERYTHING, ScriptedAgent, ScriptedTurn
from serai.errors import Mismatch

NO_VARIABLES: list[Any] = [{"A": 5}, {"A": None}, {5: "a"}, {"A": b"a"}, ["A=5"], "A=5"]


@pytest.mark.parametrize("env", NO_VARIABLES, ids=repr)
async def test_variables_are_texts(env: Any) -> None:
    agent = ScriptedAgent(["never"])
    for use in (agents.session, agents.host, agents.client):
        with pytest.raises(Mismatch) as caught:
            use(agent, env=env)
        assert caught.value.field == "env"
    with pytest.raises(Mismatch):
        await agents.ask(agent, "go", env=env)
    with pytest.raises(Mismatch):
        agents.client(agent, env={"B": "b"}).having(env=env)
    assert agent.starts == 0


WRONG: list[tuple[str, Any]] = [
    ("cwd", 5),
    ("cwd", b"/more"),
    ("model", 5),
    ("effort", ["high"]),
    ("mode", 5),
    ("config", 5),
    ("config", ["fast"]),
    ("config", {5: "a"}),
    ("config", {"fast": 5}),
    ("config", None),
    ("system_prompt", 5),
    ("mcp_servers", 5),
    ("mcp_servers", "abc"),
    ("mcp_servers", b"abc"),
    ("mcp_servers", {"name": "a", "command": "a"}),
    ("mcp_servers", StdioServer(name="a", command="a")),
    ("mcp_servers", None),
    ("additional_directories", "/more"),
    ("additional_directories", b"/more"),
    ("additional_directories", Path("/more")),
    ("additional_directories", {"/more": 1}),
    ("additional_directories", 5),
    ("additional_directories", [5]),
    ("additional_directories", [b"/more"]),
    ("meta", 5),
    ("meta", {5: 5}),
    ("permissions", 5),
    ("permission_timeout", "x"),
    ("permission_timeout", -1),
    ("permission_timeout", float("nan")),
    ("tools", 5),
    ("tools", ["execute"]),
    ("costs", 5),
    ("env_filter", 5),
    ("program", 5),
    ("client", 5),
    ("on_warning", 5),
    ("on_stderr", "x"),
    ("record", 5),
    ("retries", "x"),
    ("retries", 1.5),
    ("recycle_after", "x"),
    ("on_renewed", 5),
    ("mask", 5),
    ("start_timeout", "x"),
    ("inactivity_timeout", "x"),
    ("cancel_timeout", "x"),
    ("cancel_timeout", None),
    ("catalogue", 5),
    ("finder", 5),
    ("processes", 5),
    ("load", 5),
    ("resume", 5),
    ("fork", 5),
]


@pytest.mark.parametrize(("name", "value"), WRONG, ids=repr)
async def test_what_is_of_another_kind_than_it_should_be_is_named(name: str, value: Any) -> None:
    agent = ScriptedAgent(["never"], capabilities=EVERYTHING)
    wrong: dict[str, Any] = {name: value}
    for use in (agents.session, agents.host, agents.client):
        with pytest.raises(Mismatch) as caught:
            use(agent, **wrong)
        assert caught.value.field == name
    with pytest.raises(Mismatch):
        await agents.ask(agent, "go", **wrong)
    with pytest.raises(Mismatch):
        agents.client(agent).having(**wrong)
    assert agent.starts == 0


@pytest.mark.parametrize(
    ("server", "field"),
    [
        (5, "mcpServers[1]"),
        (None, "mcpServers[1]"),
        ("a", "mcpServers[1]"),
        ({"name": "b"}, "mcpServers[1].command"),
    ],
)
async def test_so_is_a_server_that_is_none_before_the_agent_is_started(server: Any, field: str) -> None:
    agent = ScriptedAgent(["never"])
    with pytest.raises(Mismatch) as caught:
        await agents.ask(agent, "go", mcp_servers=[{"name": "a", "command": "a"}, server])
    assert caught.value.field == field
    assert agent.starts == 0


async def test_what_is_not_said_may_be_none() -> None:
    agent = ScriptedAgent(["here"])
    never = {
        "env",
        "config",
        "meta",
        "mcp_servers",
        "additional_directories",
        "permissions",
        "cancel_timeout",
    }
    nothing: dict[str, Any] = dict.fromkeys(agents.Options.__annotations__.keys() - never)
    assert (await agents.ask(agent, "go", **nothing)).text == "here"


async def test_folders_come_in_any_collection() -> None:
    for folders in (["/a", Path("/b")], ("/a", "/b"), iter(["/a", "/b"]), {"/a": 1, "/b": 2}.keys()):
        agent = ScriptedAgent(["here"], capabilities=EVERYTHING)
        await agents.ask(agent, "go", additional_directories=folders)
        assert agent.asked("session/new")[0]["params"]["additionalDirectories"] == ["/a", "/b"]


async def test_a_filter_is_not_taken_away_by_saying_that_there_is_none() -> None:
    async def permit(turn: ScriptedTurn) -> None:
        turn.say(await turn.ask_permission("rm x", "delete"))

    warnings: list[str] = []
    agent: Any = agents.client(ScriptedAgent([permit]), tools=agents.ToolFilter(block_kinds=["delete"]))
    assert (await agent.ask("go", tools=None, on_warning=warnings.append)).text == "reject_once"
    assert "denied" in warnings[0]
