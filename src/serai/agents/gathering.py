"""A turn's result, while it comes to be."""

from __future__ import annotations

import time

from serai.acp import Finished, UsageUpdate
from serai.agents.events import Event, TextAdded, ThinkingAdded, ToolCalled
from serai.agents.results import AskResult
from serai.agents.tool_uses import ToolUses

__all__ = ["Gathering"]


class Gathering:
    """Collects what an agent says in one turn.

    Args:
        agent: The agent's name.
        session_id: The session's id.
    """

    def __init__(self, agent: str, session_id: str) -> None:
        self.uses = ToolUses()
        self._agent = agent
        self._session_id = session_id
        self._began = time.monotonic()
        self._messages: list[list[str]] = []
        self._message_id: str | None = None
        self._is_apart = True
        self._thinking: list[str] = []

    def add(self, event: Event) -> None:
        """Something has happened."""
        match event:
            case TextAdded(text, message_id):
                if self._is_apart or (message_id and self._message_id and message_id != self._message_id):
                    self._messages.append([])
                    self._is_apart = False
                self._message_id = message_id
                self._messages[-1].append(text)
            case ThinkingAdded(text):
                self._thinking.append(text)
            case ToolCalled():
                self._is_apart = True
            case _:
                pass

    def result(
        self,
        finished: Finished,
        *,
        dropped: tuple[str, ...] = (),
        usage: UsageUpdate | None = None,
        cost_usd: float | None = None,
    ) -> AskResult:
        """What came of it.

        Args:
            finished: How the turn ended.
            dropped: The types of parts that were left out of the prompt.
            usage: What the agent told last of its context window and the session's cost.
            cost_usd: What the turn has cost.
        """
        messages = ("".join(pieces) for pieces in self._messages)
        return AskResult(
            messages=tuple(message for message in messages if message),
            thinking="".join(self._thinking),
            stop_reason=finished.stop_reason,
            agent=self._agent,
            session_id=self._session_id,
            duration=time.monotonic() - self._began,
            tool_uses=tuple(self.uses),
            dropped=dropped,
            usage=finished.usage,
            context_used=usage.used if usage else None,
            context_size=usage.size if usage else None,
            cost=usage.cost if usage else None,
            cost_usd=cost_usd,
            raw=finished.raw,
        )
