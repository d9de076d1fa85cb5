"""What happens in a turn, in its order and with its types."""

from __future__ import annotations

from agents.players import Players
from serai import agents
from serai.agents import (
    CommandsChanged,
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


async def test_a_turn_is_told_event_by_event(players: Players) -> None:
    async with agents.session("player", **players.options) as session:
        events: list[Event] = [event async for event in session.stream("work")]
        assert session.commands[0]["name"] == "review"
        assert session.title == "Looking"
    assert [type(event) for event in events] == [
        RawEvent,  # what it said before anyone asked
        ThinkingAdded,
        PlanChanged,
        TextAdded,
        ToolCalled,
        PermissionAsked,
        ToolChanged,
        TextAdded,
        TextAdded,
        ModeChanged,
        CommandsChanged,
        OptionsChanged,
        SessionInfoChanged,
        UsageChanged,
        RawEvent,
        TurnFinished,
    ]
    _, thinking, plan, _, called, asked, changed, *_, mode, commands, options, info, usage, raw, end = events
    assert isinstance(thinking, ThinkingAdded)
    assert thinking.text == "hm"
    assert isinstance(plan, PlanChanged)
    assert plan.entries[0]["content"] == "look"
    assert isinstance(called, ToolCalled)
    assert (called.call.title, called.call.kind, called.call.status) == ("ls -l", "execute", "pending")
    assert called.call.input == {"command": "ls -l"}
    assert isinstance(asked, PermissionAsked)
    assert asked.call == called.call
    assert asked.chosen is not None
    assert asked.chosen.kind == "allow_once"
    assert isinstance(changed, ToolChanged)
    assert changed.call.title == "ls -l"
    assert changed.call.status == "completed"
    assert changed.call.text == "README.md"
    assert changed.call.diffs == (Diff("/a", "new", "old"),)
    assert changed.call.terminals == ("term",)
    assert isinstance(mode, ModeChanged)
    assert mode.mode_id == "do"
    assert isinstance(commands, CommandsChanged)
    assert commands.commands[0]["name"] == "review"
    assert isinstance(options, OptionsChanged)
    assert options.options[0].value == "large"
    assert isinstance(info, SessionInfoChanged)
    assert info.title == "Looking"
    assert isinstance(usage, UsageChanged)
    assert (usage.used, usage.size) == (10, 100)
    assert isinstance(raw, RawEvent)
    assert (raw.kind, raw.data["depth"]) == ("hologram", 3)
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


async def test_nothing_that_an_agent_tells_is_taken_for_the_sessions_own(players: Players) -> None:
    events = [event async for event in agents.stream("player", "forge", **players.options)]
    assert [type(event) for event in events[1:]] == [RawEvent, RawEvent, RawEvent, TextAdded, TurnFinished]
