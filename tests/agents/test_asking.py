"""One line to ask an agent, and nothing left of it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from agents.players import ALL, Players
from machine.processes.watching import runs
from requirements import proves
from serai import agents
from serai.agents import RawEvent, TextAdded, TurnFinished
from serai.agents.testing import ScriptedAgent
from serai.errors import (
    AgentClosed,
    AgentInitTimedOut,
    AgentNotInstalled,
    AgentRequestFailed,
    AgentUnknown,
    AuthRequired,
    CapabilityNotSupportedError,
    Mismatch,
    PromptInvalid,
)


async def test_an_agent_is_asked_in_one_line(players: Players) -> None:
    result = await agents.ask("player", "echo Hello , world", **players.options)
    assert result.text == "Hello,world"
    assert result.stop_reason == "end_turn"
    assert (result.agent, result.session_id) == ("player", "s1")
    assert result.usage == {"inputTokens": 1000, "outputTokens": 100, "totalTokens": 1100}
    assert 0 < result.duration < 20
    assert result.cost is None
    assert players.methods == ["initialize", "session/new", "session/prompt"]


async def test_what_an_agent_said_before_the_prompt_is_no_part_of_its_answer(players: Players) -> None:
    """The player says Welcome when a session is made."""
    async with agents.stream("player", "echo Hi", **players.options) as stream:
        events = [event async for event in stream]
        assert (await stream.result()).text == "Hi"
    assert isinstance(events[0], RawEvent)
    assert events[0].update.raw["content"]["text"] == "Welcome!"
    assert [event.text for event in events if isinstance(event, TextAdded)] == ["Hi"]


async def test_a_stream_gives_events_and_the_agent_is_gone_before_the_last(players: Players) -> None:
    pid = 0
    async for event in agents.stream("player", "pid", **players.options):
        if isinstance(event, TextAdded) and event.text.isdecimal():
            pid = int(event.text)
            assert runs(pid)
        if isinstance(event, TurnFinished):
            assert not runs(pid)
            assert event.result.text == str(pid)
    assert pid


async def test_a_stream_that_is_cancelled_before_it_begins_starts_nothing() -> None:
    agent = ScriptedAgent(["a"])
    stream = agents.stream(agent, "go")
    stream.cancel()
    assert [type(event) for event in [event async for event in stream]] == [TurnFinished]
    assert ((await stream.result()).stop_reason, agent.starts) == ("cancelled", 0)


async def test_cancelling_ask_at_any_time_leaves_nothing(players: Players) -> None:
    """The fixture looks for processes, tasks and folders."""
    for steps in (0, 1, 5, 20, 60):
        task = asyncio.create_task(agents.ask("player", "wait", **players.options))
        for _ in range(steps):
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_leaving_a_stream_early_cancels_the_turn(players: Players) -> None:
    async with agents.stream("player", "wait", **players.options) as stream:
        async for event in stream:
            if isinstance(event, TextAdded) and event.text == "waiting":
                break
    assert players.methods[-1] == "session/cancel"


@proves("wire:Agent-capabilities/from-handshake", "wire:Reading-capabilities-at-runtime/probe")
async def test_capabilities_starts_asks_and_closes(players: Players) -> None:
    players.add("able", capabilities=ALL)
    able = await agents.capabilities("able", **players.options)
    plain = await agents.capabilities("player", **players.options)
    assert (able.load_session, able.additional_directories, able.mcp.sse) == (True, True, True)
    assert (plain.load_session, plain.additional_directories, plain.mcp.sse) == (False, False, False)
    assert plain.mcp.stdio
    assert plain.prompt.text
    assert players.methods == ["initialize"] * 2


@proves("wire:Reading-capabilities-at-runtime/act-on-probe")
async def test_by_what_an_agent_can_do_one_decides_before_a_session_is_begun(players: Players) -> None:
    players.add("able", capabilities=ALL)
    known = {name: await agents.capabilities(name, **players.options) for name in ("player", "able")}
    assert players.methods == ["initialize"] * 2
    [chosen] = [name for name, can in known.items() if can.additional_directories]
    result = await agents.ask(chosen, "echo a", additional_directories=["/more"], **players.options)
    assert (result.agent, result.text) == ("able", "a")
    assert players.warnings == []


async def test_detect_tells_what_can_be_used_and_starts_nothing(players: Players) -> None:
    players.add_missing("absent")
    options = players.options
    found = await agents.detect(catalogue=options.get("catalogue"), finder=options.get("finder"))
    assert [(one.id, one.installed) for one in found] == [("player", True), ("absent", False)]
    assert found[1].reason == "no-such-program was not found"
    assert found[1].definition.install == "pip install it"


async def test_agents_of_the_configuration_are_there_by_default(
    players: Players, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = players.project / "serai"
    home.mkdir()
    (home / "serai.toml").write_text('[agents.mine]\ncommand = "no-such-program"\n')
    monkeypatch.setenv("SERAI_HOME", str(home))
    with pytest.raises(AgentNotInstalled, match="no-such-program"):
        await agents.ask("mine", "hi")
    assert "mine" in [one.id for one in await agents.detect()]


@pytest.mark.parametrize(
    ("name", "prompt", "told", "error"),
    [
        ("nobody", "hi", {}, AgentUnknown),
        ("absent", "hi", {}, AgentNotInstalled),
        ("player", "crash", {}, AgentClosed),
        ("player", "fail -32603 oh", {}, AgentRequestFailed),
        ("player", "fail -32000 sign in", {}, AuthRequired),
        ("player", "", {}, PromptInvalid),
        ("player", "hi", {"mode": "fly"}, CapabilityNotSupportedError),
        ("player", "hi", {"permissions": "maybe"}, Mismatch),
        ("silent", "hi", {"start_timeout": 0.1}, AgentInitTimedOut),
    ],
)
async def test_what_goes_wrong_has_an_error_of_its_own(
    players: Players, name: str, prompt: str, told: Any, error: type[Exception]
) -> None:
    players.add_missing("absent")
    players.add("silent", silent=True)
    with pytest.raises(error):
        await agents.ask(name, prompt, **{**players.options, **told})


async def test_secrets_of_the_environment_are_in_no_error(players: Players) -> None:
    players.add("secretive", env={"PLAYER_API_KEY": "wholly-unguessable-0"})
    with pytest.raises(AgentClosed) as caught:
        await agents.ask("secretive", "crash", **players.options)
    assert "the key is [secret:PLAYER_API_KEY]" in caught.value.stderr_tail
    assert "unguessable" not in json.dumps(caught.value.to_wire())


async def test_an_option_that_there_is_not_is_refused(players: Players) -> None:
    wrong: Any = {"cwdd": "/"}
    with pytest.raises(TypeError, match="cwdd"):
        await agents.ask("player", "echo a", **players.options, **wrong)
    with pytest.raises(TypeError, match="load and fork"):
        agents.session("player", load="a", fork="b", **players.options)
