"""What asking several agents has in common: who they are, and what came of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from serai.agents.adapters import AgentRef
from serai.agents.clients import AgentClient
from serai.agents.options import Options, checked_options, merged
from serai.agents.results import AskResult
from serai.errors import AttemptsExhausted, SeraiError

__all__ = ["Attempt", "Candidate", "clients_of", "exhausted"]

Candidate: TypeAlias = AgentRef | AgentClient
"""An agent, or one with defaults of its own: `agents.client("codex", model="…")`."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of asking one of several agents."""

    agent: str
    result: AskResult | None = None
    """What it answered, if it did."""
    error: SeraiError | None = None
    """What it failed with. Without result and error it was cancelled."""


def clients_of(candidates: Sequence[Candidate], options: Options) -> list[AgentClient]:
    """The candidates with what holds for all. What one says for itself counts.

    Raises:
        ValueError: There are none.
    """
    if not candidates:
        raise ValueError("there is no agent to ask")
    shared = checked_options(options)
    return [
        AgentClient(one.agent, merged(shared, one.defaults))
        if isinstance(one, AgentClient)
        else AgentClient(one, shared)
        for one in candidates
    ]


def exhausted(attempts: Sequence[Attempt]) -> AttemptsExhausted:
    """The error that says that nobody gave an answer that counts."""
    errors = tuple((one.agent, one.error) for one in attempts if one.error is not None)
    refused = [one.agent for one in attempts if one.result is not None]
    words = [f"{agent}: {error.message}" for agent, error in errors]
    words += [f"{agent}: its answer was not accepted" for agent in refused]
    return AttemptsExhausted(f"no agent gave an answer that counts ({'; '.join(words)})", errors=errors)
