"""What happens in a turn, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from serai.acp import updates
from serai.acp.tool_calls import AgentToolCall
from serai.agents.ask.permissions import PermissionAsked

__all__ = [
    "AskResult",
    "CommandsChanged",
    "Event",
    "JsonResult",
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
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class AskResult:
    """What an agent answered."""

    messages: tuple[str, ...] = ()
    """What it said. A new message begins after a tool call, and where the agent says so."""
    thinking: str = ""
    stop_reason: str
    """`end_turn`, `max_tokens`, `max_turn_requests`, `refusal`, `cancelled`, or something newer."""
    agent: str
    session_id: str = ""
    duration: float = 0.0
    """Seconds from the prompt to the end of the turn."""
    tool_uses: tuple[AgentToolCall, ...] = ()
    dropped: tuple[str, ...] = ()
    """The types of those parts of the prompt that the agent cannot take, and that were left out."""
    usage: Mapping[str, Any] | None = None
    """The tokens of the turn, from agents that tell: `inputTokens`, `outputTokens`, ..."""
    context_used: float | None = None
    context_size: float | None = None
    cost: updates.Cost | None = None
    """What the session has cost since it began, as the agent tells it."""
    cost_usd: float | None = None
    """What this turn has cost, in US dollars, where that is known."""
    raw: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    """What the agent answered to `session/prompt`."""

    @property
    def text(self) -> str:
        """All that it said; messages are paragraphs."""
        return "\n\n".join(self.messages)

    def to_wire(self) -> dict[str, Any]:
        """The result as JSON."""
        wire = {
            "text": self.text,
            "thinking": self.thinking,
            "stopReason": self.stop_reason,
            "usage": self.usage,
            "contextUsed": self.context_used,
            "contextSize": self.context_size,
            "cost": {"amount": self.cost.amount, "currency": self.cost.currency} if self.cost else None,
            "costUsd": self.cost_usd,
            "sessionId": self.session_id,
            "agent": self.agent,
            "durationMs": round(self.duration * 1000),
            "droppedParts": list(self.dropped),
            "toolCalls": [
                {"id": use.id, "title": use.title, "kind": use.kind, "status": use.status}
                for use in self.tool_uses
            ],
        }
        return {name: value for name, value in wire.items() if value is not None}


@dataclass(frozen=True, slots=True)
class JsonResult(Generic[T]):
    """An answer of the shape that was asked for."""

    data: T
    raw: str
    """The JSON, as the agent wrote it."""
    result: AskResult
    """The turn that brought it."""
    repaired: bool = False
    """Whether the agent had to be told once what was wrong."""


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

    call: AgentToolCall


@dataclass(frozen=True, slots=True)
class ToolChanged:
    """More is known of a tool call: `call` is all of it, with its diffs and terminals."""

    call: AgentToolCall


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The turn is over. It is the last event."""

    result: AskResult


@dataclass(frozen=True, slots=True)
class RawEvent:
    """Anything else: an update of a kind that is not known, content that is no text, a repeated prompt."""

    update: updates.Update
    """Its `kind` is the name on the wire; `raw` is the update as it came."""


PlanChanged = updates.PlanUpdate
ModeChanged = updates.CurrentModeUpdate
CommandsChanged = updates.AvailableCommandsUpdate
OptionsChanged = updates.ConfigOptionUpdate
SessionInfoChanged = updates.SessionInfoUpdate
UsageChanged = updates.UsageUpdate
"""Updates that are events as they are. What they change is also in the session, by then."""

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
