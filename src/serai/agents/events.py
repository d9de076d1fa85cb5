"""What happens in a turn, as whoever follows it sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from serai.acp import (
    AgentMessageChunk,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    ConfigOption,
    ConfigOptionUpdate,
    Cost,
    CurrentModeUpdate,
    PlanUpdate,
    SessionInfoUpdate,
    ToolCall,
    ToolCallUpdate,
    Update,
    UsageUpdate,
)
from serai.acp.options import read_options
from serai.agents.asked import PermissionAsked
from serai.agents.results import AskResult
from serai.agents.tool_uses import ToolUse, ToolUses

__all__ = [
    "CommandsChanged",
    "Event",
    "ModeChanged",
    "OptionsChanged",
    "PlanChanged",
    "RawEvent",
    "SessionInfoChanged",
    "TextAdded",
    "ThinkingAdded",
    "ToolCalled",
    "ToolChanged",
    "TurnFinished",
    "UsageChanged",
    "event_of",
]


@dataclass(frozen=True, slots=True)
class TextAdded:
    """More of the answer."""

    text: str
    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class ThinkingAdded:
    """More of what the agent thinks."""

    text: str
    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """The agent begins to use a tool."""

    call: ToolUse


@dataclass(frozen=True, slots=True)
class ToolChanged:
    """More is known of a tool call: `call` is all of it, with its diffs and terminals."""

    call: ToolUse


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """The agent's plan, as a whole: entries with `content`, `priority` and `status`."""

    entries: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class ModeChanged:
    """The session is in another mode."""

    mode_id: str


@dataclass(frozen=True, slots=True)
class CommandsChanged:
    """The agent's commands, all of them: `name`, `description`, `input`."""

    commands: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class OptionsChanged:
    """What can be chosen for the session, all of it, with the values now."""

    options: tuple[ConfigOption, ...]


@dataclass(frozen=True, slots=True)
class SessionInfoChanged:
    """What the session is about."""

    title: str | None = None
    updated_at: str | None = None


@dataclass(frozen=True, slots=True)
class UsageChanged:
    """How full the context window is, and what the session has cost since it began."""

    used: float | None = None
    size: float | None = None
    cost: Cost | None = None
    """Cumulative: never to be added up."""


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The turn is over. It is the last event."""

    result: AskResult


@dataclass(frozen=True, slots=True)
class RawEvent:
    """Anything else: an update of a kind that is not known, content that is no text, a repeated prompt."""

    update: Update

    @property
    def kind(self) -> str:
        """The kind of update, by its name on the wire."""
        return self.update.kind

    @property
    def data(self) -> Mapping[str, Any]:
        """The update as it came."""
        return self.update.raw


Event: TypeAlias = (
    TextAdded
    | ThinkingAdded
    | ToolCalled
    | ToolChanged
    | PermissionAsked
    | PlanChanged
    | ModeChanged
    | CommandsChanged
    | OptionsChanged
    | SessionInfoChanged
    | UsageChanged
    | TurnFinished
    | RawEvent
)


def event_of(update: Update, uses: ToolUses) -> Event:
    """The event that an update is. Tool calls are put together in `uses`."""
    match update:
        case AgentMessageChunk() if update.text is not None:
            return TextAdded(update.text, update.message_id)
        case AgentThoughtChunk() if update.text is not None:
            return ThinkingAdded(update.text, update.message_id)
        case ToolCall() | ToolCallUpdate():
            use, is_new = uses.take(update)
            return ToolCalled(use) if is_new else ToolChanged(use)
        case PlanUpdate():
            return PlanChanged(tuple(update.entries))
        case CurrentModeUpdate():
            return ModeChanged(update.current_mode_id)
        case AvailableCommandsUpdate():
            return CommandsChanged(tuple(update.available_commands))
        case ConfigOptionUpdate():
            return OptionsChanged(read_options(update.config_options))
        case SessionInfoUpdate():
            return SessionInfoChanged(update.title, update.updated_at)
        case UsageUpdate():
            return UsageChanged(update.used, update.size, update.cost)
        case _:
            return RawEvent(update)
