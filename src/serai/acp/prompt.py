"""A prompt: what an agent can take of it, and its way from the sending to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from serai.acp.capabilities import AgentCapabilities
from serai.acp.shapes import object_of, text_of
from serai.acp.tokens import SessionTokens, usage_in
from serai.acp.updates import Block
from serai.errors import AgentError

__all__ = ["Finished", "PromptFailure", "PromptTurn", "Silence", "fit_prompt", "text_block"]


def text_block(text: str) -> Block:
    """Text, as a content block."""
    return {"type": "text", "text": text}


def fit_prompt(
    blocks: Sequence[Mapping[str, Any]], capabilities: AgentCapabilities
) -> tuple[list[Block], tuple[str, ...]]:
    """The blocks that an agent can take, and the types of those that it cannot, each once.

    Text and links are for every agent. What is not known here is left to the agent.
    """
    prompt = capabilities.prompt
    offered = {"image": prompt.image, "audio": prompt.audio, "resource": prompt.embedded_context}
    kept: list[Block] = []
    dropped: dict[str, None] = {}
    for block in blocks:
        kind = block.get("type")
        if isinstance(kind, str) and not offered.get(kind, True):
            dropped[kind] = None
        else:
            kept.append(dict(block))
    return kept, tuple(dropped)


@dataclass(frozen=True, slots=True)
class Finished:
    """The agent has finished with a prompt."""

    stop_reason: str
    """`end_turn`, `max_tokens`, `max_turn_requests`, `refusal`, `cancelled`, or something newer."""
    usage: dict[str, Any] | None = None
    """The tokens that the turn has used, from agents that tell: `inputTokens`, `outputTokens`, ... A number
    that cannot be is left out."""
    raw: dict[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def of(cls, result: Any, tokens: SessionTokens | None = None) -> Finished:
        """What the answer to `session/prompt` says. An agent that gives no reason has ended its turn.

        Args:
            result: The answer.
            tokens: Those of the session so far, for an agent that tells them and not those of the turn.
        """
        raw = dict(object_of(result))
        usage = usage_in(raw)
        if tokens is not None:
            usage = tokens.of_turn(usage)
        return cls(
            stop_reason=text_of(raw.get("stopReason")) or "end_turn",
            usage=usage or None,
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class PromptFailure:
    """A prompt has failed."""

    error: AgentError


class PromptTurn:
    """One prompt. `AcpSession.prompt` makes it.

    Args:
        dropped: The types of those parts that the agent cannot take, and that were left out.
        cancel: Stops it.
    """

    def __init__(self, dropped: tuple[str, ...], cancel: Callable[[], None]) -> None:
        self.dropped = dropped
        self.cancelled = False
        """Whether the agent was told to stop."""
        self._cancel = cancel
        self._outcome: asyncio.Future[Finished | PromptFailure] = asyncio.get_running_loop().create_future()

    @property
    def outcome(self) -> Finished | PromptFailure | None:
        """How it ended; `None` while it runs."""
        return self._outcome.result() if self._outcome.done() else None

    async def finished(self) -> Finished:
        """Wait for the end. Cancelling this stops the waiting, and not the agent.

        The updates that came before the end have been delivered, or wait in the session's stream.

        Raises:
            AgentError: The turn has failed: the agent is gone, silent, or answered with an error.
        """
        outcome = await asyncio.shield(self._outcome)
        if isinstance(outcome, PromptFailure):
            raise outcome.error
        return outcome

    def cancel(self) -> None:
        """Tell the agent to stop, once. The turn goes on until the agent says that it has stopped."""
        self._cancel()

    def end(self, outcome: Finished | PromptFailure) -> bool:
        """It has ended. Returns `False` when it had before."""
        if self._outcome.done():
            return False
        self._outcome.set_result(outcome)
        return True


class Silence:
    """Calls someone when nothing was heard for a while. To have heard something costs next to nothing.

    Args:
        limit: For how long, in seconds.
        excused: Whether the silence is not the agent's: a person is asked, or nobody listens.
        broken: Is told how long the silence was. Then it is over.
    """

    def __init__(self, limit: float, excused: Callable[[], bool], broken: Callable[[float], None]) -> None:
        self._limit = limit
        self._excused = excused
        self._broken = broken
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()
        self._timer: asyncio.TimerHandle | None = self._loop.call_later(limit, self._look)

    def heard(self) -> None:
        """There was something."""
        self._last = self._loop.time()

    def stop(self) -> None:
        """Nobody is waited for any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        if self._excused():
            self.heard()
        silence = self._loop.time() - self._last
        if silence < self._limit:
            self._timer = self._loop.call_later(self._limit - silence, self._look)
        else:
            self._timer = None
            self._broken(silence)
