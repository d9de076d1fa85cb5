"""What a turn of a model session works with, from its beginning to its end."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from serai.harness.model.customizations import Customized
from serai.harness.model.tool import Tool
from serai.session.agent_file import AgentFile
from serai.session.llm import LlmReply, LlmRequest, LlmUsage, ReasoningDelta, TextDelta
from serai.session.messages import SessionContext
from serai.session.turn_core import TurnPlan


class Models(Protocol):
    """The models that can be asked, and what they cost."""

    def ask(self, request: LlmRequest) -> AsyncGenerator[TextDelta | ReasoningDelta | LlmReply]:
        """Ask a model. The answer comes in pieces, and whole as the last one. Closing it breaks it off.

        Raises:
            ModelFailure: There is no answer, or only some of one.
        """
        ...

    def reservation(self, request: LlmRequest) -> int | None:
        """Microcents that a request may cost at most; `None` when nobody knows its price."""
        ...

    def cost(self, model: str, usage: LlmUsage, reserved: int | None) -> int | None:
        """Microcents that an answer did cost, of those reserved for it; `None` when nobody knows."""
        ...


@dataclass(frozen=True, slots=True)
class TurnSetup:
    """What a turn works with."""

    models: Models
    plan: TurnPlan
    agent: AgentFile
    """The agent, as the session has narrowed it."""
    situation: SessionContext
    folder: Path
    system: str
    """What stands before all messages."""
    tools: Mapping[str, Tool[Any]] = field(default_factory=dict[str, Tool[Any]])
    max_messages: int = 0
    customized: Customized = field(default_factory=Customized)
    """What the session's customisations bring. Its tools are among `tools`."""
