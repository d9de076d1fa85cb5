"""A turn that is followed: its events, and its end."""

from __future__ import annotations

import asyncio

from agents.players import Players
from serai import agents
from serai.agents import (
    CommandsChanged,
    Cost,
    Diff,
    Event,
    ModeChanged,
    OptionsChanged,
    PermissionAsked,
    PlanChanged,
    RawEvent,
    SessionInfoChanged,
    TextAdded,
    ThinkingAdded,
    ToolCalled,
    ToolChanged,
    TurnFinished,
    UsageChanged,
)
from serai.agents.ask.turn import AgentStream


class Follower:
    """Follows a stream to its end in a task of its own."""

    def __init__(self, stream: AgentStream) -> None:
        self.texts: list[str] = []
        self.waits = asyncio.Event()
        self.task = asyncio.create_task(self._follow(stream))

    async def _follow(self, stream: AgentStream) -> None:
        async for event in stream:
            if isinstance(event, TextAdded):
                self.texts.append(event.text)
            if self.texts[-1:] == ["waiting"]:
                self.waits.set()

    async def waiting(self) -> None:
        async with asyncio.timeout(20):
            await self.waits.wait()


async def test_closing_ends_the_iteration_elsewhere_and_the_turn(players: Players) -> None:
    async with agents.session("player", **players.options) as session:
        stream = session.stream("wait")
        follower = Follower(stream)
        await follower.waiting()
        async with asyncio.timeout(20):
            await stream.close()
            await follower.task
        assert follower.texts == ["waiting"]
        assert (await session.ask("echo on")).text == "on"
    assert players.methods.count("session/cancel") == 1


async def test_a_turn_whose_stream_is_forgotten_ends_as_well(players: Players) -> None:
    async with agents.session("player", **players.options) as session:
        async for event in session.stream("wait"):
            if isinstance(event, TextAdded):
                break
        async with asyncio.timeout(20):
            assert (await session.ask("echo on")).text == "on"
    assert players.methods.count("session/cancel") == 1


async def test_a_turn_is_told_event_by_event(players: Players) -> None:
    async with agents.session("player", **players.options) as session:
        events: list[Event] = [event async for event in session.stream("work")]
        assert session.acp.commands[0]["name"] == "review"
        assert session.acp.title == "Looking"
    (
        began,
        thinking,
        plan,
        look,
        called,
        asked,
        changed,
        *fine,
        mode,
        commands,
        options,
        info,
        usage,
        raw,
        end,
    ) = events
    assert isinstance(began, RawEvent)  # what it said before anyone asked
    assert (thinking, look) == (ThinkingAdded("hm"), TextAdded("Let me look."))
    assert plan == PlanChanged(entries=[{"content": "look", "priority": "high", "status": "pending"}])
    assert isinstance(called, ToolCalled)
    assert (called.call.title, called.call.kind, called.call.status) == ("ls -l", "execute", "pending")
    assert called.call.input == {"command": "ls -l"}
    assert isinstance(asked, PermissionAsked)
    assert asked.call == called.call
    assert asked.chosen is not None
    assert asked.chosen.kind == "allow_once"
    assert isinstance(changed, ToolChanged)
    assert (changed.call.title, changed.call.status) == ("ls -l", "completed")
    assert (changed.call.text, changed.call.terminals) == ("README.md", ("term",))
    assert changed.call.diffs == (Diff("/a", "new", "old"),)
    assert fine == [TextAdded("It is "), TextAdded("fine.")]
    assert (mode, info) == (ModeChanged(current_mode_id="do"), SessionInfoChanged(title="Looking"))
    assert commands == CommandsChanged(available_commands=[{"name": "review", "description": ""}])
    assert isinstance(options, OptionsChanged)
    assert options.config_options[0]["currentValue"] == "large"
    assert usage == UsageChanged(used=10, size=100, cost=Cost(amount=0.25))
    assert isinstance(raw, RawEvent)
    assert (raw.update.kind, raw.update.raw["depth"]) == ("hologram", 3)
    assert isinstance(end, TurnFinished)
    result = end.result
    assert result.messages == ("Let me look.", "It is fine.")
    assert result.text == "Let me look.\n\nIt is fine."
    assert result.thinking == "hm"
    assert result.tool_uses == (changed.call,)
    assert (result.context_used, result.context_size, result.cost_usd) == (10, 100, 0.25)
    assert result.to_wire()["toolCalls"] == [
        {"id": "t1", "title": "ls -l", "kind": "execute", "status": "completed"}
    ]
