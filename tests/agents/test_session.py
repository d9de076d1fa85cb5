"""A conversation: turns in their order, what it can do, and how it ends."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agents.players import ALL, Players
from machine.processes.watching import runs, until
from requirements import proves
from serai import agents
from serai.agents import TextAdded, WireHost, WireSession
from serai.agents.testing import EVERYTHING, ScriptedAgent, ScriptedTurn
from serai.errors import (
    AgentClosed,
    CapabilityNotSupportedError,
    Mismatch,
    PromptInvalid,
    SessionCreateFailed,
)


async def told(session: WireSession, *parts: Any) -> dict[str, Any]:
    """What the agent was told, in its own words."""
    return json.loads((await session.ask([*parts, "told"])).text)


@proves(
    "wire:Agent-capabilities/on-host",
    "wire:Agent-capabilities/on-session",
    "wire:Reading-capabilities-at-runtime/through-the-session",
)
async def test_a_session_has_its_agents_capabilities_and_a_host(players: Players) -> None:
    players.add("able", capabilities=ALL)
    async with agents.session("able", **players.options) as session:
        assert session.capabilities == session.host.capabilities
        assert session.host.capabilities.additional_directories
        assert session.host.definition.id == "able"
        assert session.host.handshake.agent_info["name"] == "player"
        assert [method.id for method in session.host.handshake.auth_methods] == ["key"]
        assert (session.id, session.acp.cwd) == ("s1", players.project)
        assert session.acp.modes is not None
        assert session.acp.modes.value == "ask"


async def test_it_can_be_awaited_and_closed_as_well(players: Players) -> None:
    session = await agents.session("player", **players.options)
    pid = int((await session.ask("pid")).text)
    await session.close()
    await session.close()
    assert not runs(pid)
    with pytest.raises(AgentClosed):
        await session.ask("echo a")


async def test_turns_follow_one_another_in_their_order(players: Players) -> None:
    async with agents.session("player", **players.options) as session:
        results = await asyncio.gather(*(session.ask(f"echo {number}") for number in range(4)))
        assert [result.text for result in results] == ["0", "1", "2", "3"]


async def test_a_turn_that_was_left_does_not_disturb_the_next(players: Players) -> None:
    async with agents.session("player", **players.options) as session:
        async with session.stream("wait") as stream:
            async for event in stream:
                if isinstance(event, TextAdded) and event.text == "waiting":
                    break
        asking = asyncio.create_task(session.ask("wait"))
        await until(lambda: session.acp.turn is not None)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert (await session.ask("echo next")).text == "next"


async def test_cancel_ends_the_turn_with_what_was_said_until_then(players: Players) -> None:
    async with agents.session("player", **players.options) as session:
        session.cancel()
        async with session.stream("wait") as stream:
            async for event in stream:
                if isinstance(event, TextAdded) and event.text == "waiting":
                    session.cancel()
                    session.cancel()
            result = await stream.result()
        assert (result.text, result.stop_reason) == ("waitingstopped", "cancelled")
        assert players.methods.count("session/cancel") == 1


async def test_closing_ends_a_turn_that_runs(players: Players) -> None:
    session = await agents.session("player", **players.options)
    asking = asyncio.create_task(session.ask("wait"))
    await until(lambda: session.acp.turn is not None)
    await session.close()
    with pytest.raises(AgentClosed):
        await asking


REFUSED: list[tuple[Callable[[WireHost], Awaitable[Any]], str]] = [
    (lambda host: host.load_session("x"), "loadSession"),
    (lambda host: host.resume_session("x"), "sessionCapabilities.resume"),
    (lambda host: host.fork_session("x"), "sessionCapabilities.fork"),
    (lambda host: host.list_sessions(), "sessionCapabilities.list"),
    (lambda host: anext(host.stream_all_sessions()), "sessionCapabilities.list"),
    (lambda host: host.close_session("x"), "sessionCapabilities.close"),
    (lambda host: host.delete_session("x"), "sessionCapabilities.delete"),
    (lambda host: host.logout(), "auth.logout"),
    (
        lambda host: host.new_session(mcp_servers=[{"name": "m", "type": "http", "url": "http://m"}]),
        "mcpCapabilities.http",
    ),
    (
        lambda host: host.new_session(mcp_servers=[{"name": "m", "type": "sse", "url": "http://m"}]),
        "mcpCapabilities.sse",
    ),
]


@proves(
    "wire:Session-capabilities/load-refused",
    "wire:Session-capabilities/list-refused",
    "wire:Session-capabilities/stream-all-refused",
    "wire:MCP-capabilities/checked-at-creation",
    "wire:MCP-capabilities/http-refused",
    "wire:MCP-capabilities/sse-refused",
)
@pytest.mark.parametrize(("act", "capability"), REFUSED, ids=[name for _, name in REFUSED])
async def test_what_the_agent_does_not_offer_is_refused_before_any_call(
    players: Players, act: Callable[[WireHost], Awaitable[Any]], capability: str
) -> None:
    async with agents.host("player", **players.options) as host:
        with pytest.raises(CapabilityNotSupportedError) as caught:
            await act(host)
        assert caught.value.capability == capability
        assert caught.value.agent == "player"
    assert players.methods == ["initialize"]


@proves(
    "wire:Session-capabilities/load-works",
    "wire:Session-capabilities/list-works",
    "wire:Session-capabilities/close-is-not-exit",
)
async def test_earlier_sessions_are_loaded_resumed_forked_listed_closed_and_deleted(players: Players) -> None:
    players.add("able", capabilities=ALL)
    async with agents.host("able", **players.options) as host:
        loaded = await host.load_session("old")
        assert (loaded.id, [update.kind for update in loaded.acp.replayed]) == (
            "old",
            ["user_message_chunk", "usage_update"],
        )
        resumed = await host.resume_session("older")
        forked = await resumed.fork()
        assert forked.id == "older-fork"
        assert (await forked.ask("echo a")).text == "a"
        assert [info.id for info in (await host.list_sessions()).sessions] == ["old"]
        assert [info.id async for info in host.stream_all_sessions()] == ["old"]
        await host.close_session(resumed)
        await host.close_session("unheard-of")
        await forked.close()
        await host.delete_session("old")
        assert list(host.open_sessions) == ["old"]
        with pytest.raises(AgentClosed):
            await forked.ask("echo a")
    assert players.methods[-4:] == ["session/close"] * 3 + ["session/delete"]


async def test_a_session_that_shares_its_agent_is_closed_alone(players: Players) -> None:
    async with agents.host("player", **players.options) as host:
        first, second = await host.new_session(), await host.new_session()
        await first.close()
        assert (await second.ask("echo a")).text == "a"
        assert list(host.open_sessions) == [second.id]


@proves("wire:additionalDirectories/forwarded-on-new")
async def test_additional_directories_are_forwarded_to_an_agent_that_knows_of_them(players: Players) -> None:
    players.add("able", capabilities=ALL)
    directories: Any = {"additional_directories": ["/more", Path("less")]}
    async with agents.session("able", **players.options, **directories) as session:
        opened = (await told(session))["opened"]
    assert opened["additionalDirectories"] == ["/more", str(players.project / "less")]
    assert players.warnings == []


@proves("wire:additionalDirectories/forwarded-on-load")
@pytest.mark.parametrize("how", ["load", "resume", "fork"])
async def test_additional_directories_are_forwarded_with_an_earlier_session_too(
    players: Players, how: Any
) -> None:
    players.add("able", capabilities=ALL)
    options: dict[str, Any] = {**players.options, how: "old", "additional_directories": ["/more"]}
    async with agents.session("able", **options) as session:
        opened = (await told(session))["opened"]
    assert (opened["sessionId"], opened["additionalDirectories"]) == ("old", ["/more"])
    assert f"session/{how}" in players.methods
    assert players.warnings == []


@proves("wire:additionalDirectories/strictness-is-the-callers")
async def test_who_insists_on_additional_directories_can_look_first(players: Players) -> None:
    async def strictly(name: str) -> str:
        async with agents.host(name, **players.options) as host:
            if not host.capabilities.additional_directories:
                raise LookupError(f"{name} would not see them")
            return (await host.new_session(additional_directories=["/more"])).id

    with pytest.raises(LookupError, match="player"):
        await strictly("player")
    assert players.methods == ["initialize"]
    assert players.warnings == []
    assert await strictly(players.add("able", capabilities=ALL)) == "s1"


@proves("wire:MCP-capabilities/http-accepted", "wire:MCP-capabilities/sse-accepted")
@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_servers_go_to_an_agent_that_can_reach_them_and_to_no_other(
    players: Players, transport: str
) -> None:
    players.add("reaching", capabilities={"mcpCapabilities": {transport: True}})
    server = {"name": "m", "type": transport, "url": "http://m", "headers": {"A": "b"}}
    async with agents.session("reaching", mcp_servers=[server], **players.options) as session:
        opened = (await told(session))["opened"]
        other = "sse" if transport == "http" else "http"
        with pytest.raises(CapabilityNotSupportedError) as caught:
            await session.host.new_session(mcp_servers=[{**server, "type": other}])
    assert opened["mcpServers"] == [{**server, "headers": [{"name": "A", "value": "b"}]}]
    assert caught.value.capability == f"mcpCapabilities.{other}"
    assert players.methods.count("session/new") == 1


@proves("wire:MCP-capabilities/stdio-always-accepted")
async def test_a_server_that_is_a_process_is_for_every_agent(players: Players) -> None:
    server = {"name": "m", "command": "serve"}
    async with agents.session("player", mcp_servers=[server], **players.options) as session:
        opened = (await told(session))["opened"]
    assert opened["mcpServers"] == [{**server, "args": [], "env": []}]


@proves(
    "wire:additionalDirectories/dropped-when-unadvertised",
    "wire:additionalDirectories/warned-once",
    "wire:additionalDirectories/session-still-made",
)
async def test_additional_directories_are_left_out_elsewhere_with_one_warning(players: Players) -> None:
    async with agents.host("player", additional_directories=["/a", "/b"], **players.options) as host:
        session = await host.new_session()
        await host.new_session()
        assert "additionalDirectories" not in (await told(session))["opened"]
    assert players.warnings == [
        'Agent "player" does not advertise additionalDirectories capability — ignoring 2 entries.'
    ]


@proves("wire:Prompt-capabilities/dropped-parts-warned")
async def test_parts_that_the_agent_cannot_take_are_left_out_with_a_warning_that_lists_them(
    players: Players,
) -> None:
    parts = [
        agents.image(b"png"),
        agents.audio(b"wav"),
        agents.embedded("file:///x", "text"),
        agents.link("file:///y"),
    ]
    async with agents.session("player", **players.options) as session:
        result = await session.ask([*parts, "told"])
    assert [block["type"] for block in json.loads(result.text)["prompt"]] == ["resource_link", "text"]
    assert result.dropped == ("image", "audio", "resource")
    assert players.warnings == [
        'Agent "player" does not take these parts of a prompt — dropped: image, audio, resource.'
    ]


@proves(
    "wire:Prompt-capabilities/image-sent",
    "wire:Prompt-capabilities/audio-sent",
    "wire:Prompt-capabilities/embedded-context-sent",
)
async def test_parts_that_the_agent_takes_are_sent(players: Players) -> None:
    players.add("able", capabilities=ALL)
    parts = [agents.image(b"png"), agents.audio(b"wav"), agents.embedded("file:///x", "text")]
    async with agents.session("able", **players.options) as session:
        sent = (await told(session, *parts))["prompt"]
    picture, sound, context, text = sent
    assert (picture["type"], base64.b64decode(picture["data"])) == ("image", b"png")
    assert (sound["type"], base64.b64decode(sound["data"])) == ("audio", b"wav")
    assert (context["type"], context["resource"]["text"]) == ("resource", "text")
    assert text["text"] == "told"
    assert players.warnings == []


async def test_a_system_prompt_goes_before_the_first_message_only(players: Players) -> None:
    async with agents.session("player", system_prompt="Be brief.", **players.options) as session:
        assert (await told(session))["prompt"][0]["text"] == "Be brief.\n\ntold"
        assert (await told(session))["prompt"][0]["text"] == "told"


async def test_an_agent_that_has_a_place_for_it_gets_the_system_prompt_there(players: Players) -> None:
    name = players.native("native")
    async with agents.session(name, system_prompt="Be brief.", meta={"a": 1}, **players.options) as session:
        heard = await told(session)
    assert heard["prompt"][0]["text"] == "told"
    assert heard["opened"]["_meta"] == {"systemPrompt": {"append": "Be brief."}, "a": 1}


async def test_a_command_must_be_one_of_the_agents(players: Players) -> None:
    async with agents.session("player", **players.options) as session:
        assert (await session.ask(agents.Command("echo", "a"))).text == "a"  # it has told none
        await session.ask("work")
        with pytest.raises(PromptInvalid, match="It has: review"):
            await session.ask(agents.Command("echo", "a"))


async def test_model_mode_and_options_are_chosen_when_a_session_is_opened(players: Players) -> None:
    async with agents.session("player", model="large", mode="do", **players.options) as session:
        assert session.acp.config_options[1].value == "large"
        assert session.acp.modes is not None
        assert session.acp.modes.value == "do"
        await session.set_mode("ask")
        await session.set_config_option("model", "small")
        assert session.acp.config_options[1].value == "small"
    assert players.warnings == []


async def test_a_model_that_the_agent_does_not_have_is_warned_of(players: Players) -> None:
    players.add("plain", plain=True)
    options = players.options
    await agents.ask("player", "echo a", model="huge", config={"colour": "red"}, **options)
    await agents.ask("plain", "echo a", model="large", effort="high", **options)
    huge, colour, model, effort = players.warnings
    assert "did not take the model 'huge'" in huge
    assert "did not take colour = 'red'" in colour
    assert model == "Agent \"plain\" does not offer to choose the model — ignoring 'large'."
    assert effort == "Agent \"plain\" does not offer to choose the effort — ignoring 'high'."


async def test_a_model_that_is_chosen_by_an_argument_is_not_chosen_again(players: Players) -> None:
    players.add("argued", way={"model_args": ("--model={}",)})
    await agents.ask("argued", "echo a", model="huge", **players.options)
    assert "session/set_config_option" not in players.methods
    assert players.warnings == []


async def test_variables_and_meta_reach_the_agent(players: Players) -> None:
    options: dict[str, Any] = {
        **players.options,
        "env": {"PLAYER_API_KEY": "k-0123456789abcdef"},
        "meta": {"trace": "t"},
    }
    async with agents.session("player", **options) as session:
        heard = json.loads((await session.ask("told", meta={"span": 1})).text)
        assert (heard["opened"]["_meta"], heard["meta"]) == ({"trace": "t"}, {"trace": "t", "span": 1})
        with pytest.raises(AgentClosed) as caught:
            await session.ask("crash")
        assert "[secret:PLAYER_API_KEY]" in str(caught.value)


async def test_a_session_that_cannot_be_opened_leaves_no_agent(players: Players) -> None:
    players.add("poor", new_error={"code": -32603, "message": "no room"})
    with pytest.raises(SessionCreateFailed):
        await agents.session("poor", **players.options)
    with pytest.raises(Mismatch):
        await agents.session("player", mcp_servers=[{"name": "x"}], **players.options)


# -- modes -------------------------------------------------------------------------------------------------


async def test_a_fork_has_the_options_of_its_session() -> None:
    async def turn(turn: ScriptedTurn) -> None:
        turn.say(await turn.ask_permission())
        turn.usage(cost_usd=0.5)

    seen: list[str] = []

    def look(use: agents.AgentToolCall) -> bool:
        seen.append(use.title)
        return True

    agent = ScriptedAgent(turn, capabilities=EVERYTHING)
    costs = agents.CostTracker()
    async with agents.host(agent) as host:
        session = await host.new_session(
            permissions="auto-reject",
            tools=agents.ToolFilter(on_tool_use=look),
            costs=costs,
            mcp_servers=[{"name": "files", "command": "serve"}],
        )
        fork = await session.fork()
        assert (await fork.ask("go")).text == "reject_once"
        assert (seen, costs.spent_usd) == (["do it"], 0.5)
        other = await fork.fork(permissions="auto-allow-once")
        assert (await other.ask("go")).text == "allow_once"
    servers = [each["params"]["mcpServers"][0]["name"] for each in agent.asked("session/fork")]
    assert servers == ["files", "files"]
    assert [each["params"]["sessionId"] for each in agent.asked("session/fork")] == [session.id, fork.id]
