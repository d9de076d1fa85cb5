"""What can be said to an agent: options, parts of a prompt, traces."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import context, trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from serai import agents
from serai.agents.ask.prompt import Command, audio, blocks_of, embedded, image, link
from serai.agents.testing import EVERYTHING, ScriptedAgent, ScriptedTurn
from serai.errors import Mismatch, PromptInvalid


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mcp_servers", {"name": "a", "command": "a"}),
        ("additional_directories", "/more"),
        ("permissions", "allow"),
    ],
)
async def test_what_could_be_taken_for_something_else_is_refused(name: str, value: Any) -> None:
    agent = ScriptedAgent(["never"], capabilities=EVERYTHING)
    wrong: dict[str, Any] = {name: value}
    for use in (agents.session, agents.host, agents.client, agents.client(agent).having):
        with pytest.raises(Mismatch) as caught:
            use(*(() if use.__name__ == "having" else (agent,)), **wrong)
        assert caught.value.field == name
    assert agent.starts == 0


@pytest.mark.parametrize(
    ("server", "field"),
    [
        (5, "mcpServers[1]"),
        ({"name": "b"}, "mcpServers[1]"),
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
