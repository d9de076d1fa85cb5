"""The events of a turn, and its result."""

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
    """The result of a turn."""

    messages: tuple[str, ...] = ()
    """The agent's messages. A new one begins after a tool call, and where the agent says so."""
    thinking: str = ""
    stop_reason: str
    """`end_turn`, `max_tokens`, `max_turn_requests`, `refusal`, `cancelled`, or something newer."""
    agent: str
    session_id: str = ""
    duration: float = 0.0
    """Seconds from the prompt to the end of the turn."""
    tool_uses: tuple[AgentToolCall, ...] = ()
    dropped: tuple[str, ...] = ()
    """The types of the parts of the prompt that were left out because the agent cannot take them."""
    usage: Mapping[str, Any] | None = None
    """The tokens of the turn, from agents that report them: `inputTokens`, `outputTokens`, ..."""
    context_used: float | None = None
    context_size: float | None = None
    cost: updates.Cost | None = None
    """Cost of the session since it began, as the agent reports it."""
    cost_usd: float | None = None
    """Cost of this turn in US dollars, if it is known."""
    raw: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    """The agent's answer to `session/prompt`."""

    @property
    def text(self) -> str:
        """The whole answer; messages are paragraphs."""
        return "\n\n".join(self.messages)

    def to_wire(self) -> dict[str, Any]:
        """Return the result as JSON."""
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
    """A JSON answer of the requested shape."""

    data: T
    raw: str
    """The JSON, as the agent wrote it."""
    result: AskResult
    """The turn that gave it."""
    repaired: bool = False
    """True if the first answer was wrong and was sent back."""


@dataclass(frozen=True, slots=True)
class TextAdded:
    """More of the answer."""

    text: str
    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class ThinkingAdded:
    """More of the agent's reasoning."""

    text: str
    message_id: str | None = None


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """The agent begins to use a tool."""

    call: AgentToolCall


@dataclass(frozen=True, slots=True)
class ToolChanged:
    """A tool call has changed: `call` is its whole state, with its diffs and terminals."""

    call: AgentToolCall


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The turn is over. This is the last event."""

    result: AskResult


@dataclass(frozen=True, slots=True)
class RawEvent:
    """Any other update: one of an unknown kind, content that is no text, or a repeated prompt."""

    update: updates.Update
    """Its `kind` is the name on the wire; `raw` is the update as it came."""


PlanChanged = updates.PlanUpdate
ModeChanged = updates.CurrentModeUpdate
CommandsChanged = updates.AvailableCommandsUpdate
OptionsChanged = updates.ConfigOptionUpdate
SessionInfoChanged = updates.SessionInfoUpdate
UsageChanged = updates.UsageUpdate
"""Updates that are events as they are. By then the session has the new values, too."""

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
