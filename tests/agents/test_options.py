"""What can be said to an agent: options, parts of a prompt, traces."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import context, trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from serai import agents
from serai.acp import StdioServer
from serai.agents.ask.prompt import Command, audio, blocks_of, embedded, image, link
from serai.agents.testing import EVERYTHING, ScriptedAgent, ScriptedTurn
from serai.errors import Mismatch, PromptInvalid

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


async def test_a_filter_is_not_taken_away_by_saying_that_there_is_none() -> None:
    async def permit(turn: ScriptedTurn) -> None:
        turn.say(await turn.ask_permission("rm x", "delete"))

    warnings: list[str] = []
    agent: Any = agents.client(ScriptedAgent([permit]), tools=agents.ToolFilter(block_kinds=["delete"]))
    assert (await agent.ask("go", tools=None, on_warning=warnings.append)).text == "reject_once"
    assert "denied" in warnings[0]


def test_files_become_parts(tmp_path: Path) -> None:
    picture = tmp_path / "a b.jpeg"
    picture.write_bytes(b"\xff\xd8")
    assert image(picture) == {
        "type": "image",
        "data": base64.b64encode(b"\xff\xd8").decode(),
        "mimeType": "image/jpeg",
    }
    assert image(b"x")["mimeType"] == "image/png"
    assert audio(b"x", "audio/mpeg")["mimeType"] == "audio/mpeg"
    notes = tmp_path / "notes.txt"
    notes.write_text("héllo")
    assert embedded(notes)["resource"] == {"uri": notes.as_uri(), "text": "héllo"}
    assert link(notes) == {"type": "resource_link", "uri": notes.as_uri(), "name": "notes.txt"}
    assert link("https://example.com/", "Example")["name"] == "Example"


def test_texts_and_commands_become_blocks() -> None:
    assert blocks_of("hi", agent="a") == [{"type": "text", "text": "hi"}]
    blocks = blocks_of(
        [Command("review", "now"), "please", link("file:///x")], agent="a", commands=["review"]
    )
    assert [block.get("text") for block in blocks] == ["/review now", "please", None]


@pytest.mark.parametrize("prompt", ["", [], [""]])
def test_an_empty_prompt_is_refused(prompt: str | list[str]) -> None:
    with pytest.raises(PromptInvalid):
        blocks_of(prompt, agent="a")


def test_a_system_prompt_does_not_hide_a_command() -> None:
    assert blocks_of("hi", agent="a", system_prompt="Be brief.")[0]["text"] == "Be brief.\n\nhi"
    command, told = blocks_of(Command("review"), agent="a", system_prompt="Be brief.")
    assert (command["text"], told["text"]) == ("/review", "Be brief.")
    assert [block["type"] for block in blocks_of([link("file:///x")], agent="a", system_prompt="x")] == [
        "resource_link",
        "text",
    ]


SPAN = SpanContext(0xABC, 0xDEF, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
PARENT = "00-00000000000000000000000000000abc-0000000000000def-01"


def metas(agent: ScriptedAgent) -> list[Any]:
    opening = ("session/new", "session/load", "session/prompt")
    return [each["params"].get("_meta") for each in agent.requests if each.get("method") in opening]


async def test_the_span_that_is_active_is_told_with_sessions_and_prompts() -> None:
    agent = ScriptedAgent(["a", "b", "c"], capabilities=EVERYTHING)
    token = context.attach(trace.set_span_in_context(NonRecordingSpan(SPAN)))
    try:
        await agents.ask(agent, "go", meta={"mine": 1})
        await agents.ask(agent, "go", load="session-1", meta={"traceparent": "my own"})
    finally:
        context.detach(token)
    told = {"traceparent": PARENT, "mine": 1}
    assert metas(agent) == [told, told, {"traceparent": "my own"}, {"traceparent": "my own"}]


async def test_without_a_span_nothing_is_told() -> None:
    agent = ScriptedAgent(["a"])
    await agents.ask(agent, "go")
    assert metas(agent) == [None, None]
