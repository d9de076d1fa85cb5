"""One agent after the other, until one can answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Unpack

from serai.agents.attempts import Attempt, Candidate, clients_of, exhausted
from serai.agents.options import Options
from serai.agents.parts import Prompt
from serai.agents.results import AskResult
from serai.agents.transience import is_anothers_turn
from serai.errors import SeraiError

__all__ = ["FailoverResult", "failover"]


@dataclass(frozen=True, slots=True)
class FailoverResult:
    """What the first agent answered that could."""

    result: AskResult
    winner: str
    """That agent."""
    attempts: tuple[Attempt, ...]
    """All that were asked, the winner last."""


async def failover(
    prompt: Prompt,
    candidates: Sequence[Candidate],
    *,
    on_attempt: Callable[[str], None] | None = None,
    should_go_on: Callable[[SeraiError], bool] = is_anothers_turn,
    **options: Unpack[Options],
) -> FailoverResult:
    """Ask the first agent; if it cannot, the next.

    By default that is so when an agent is not installed, does not start, wants a person to sign in, has
    nothing left to spend, is too busy, or ends. An agent that ends in the middle may have done a part of the
    work. Cancelling it cancels the turn that runs.

    Args:
        prompt: What is asked.
        candidates: Whom, the first first.
        on_attempt: Is told whom it is tried with.
        should_go_on: Whether the next shall be asked after an error.
        **options: What holds for all.

    Raises:
        AttemptsExhausted: None of them could.
        SeraiError: An error after which the next is not asked.
    """
    attempts: list[Attempt] = []
    for client in clients_of(candidates, options):
        if on_attempt is not None:
            on_attempt(client.name)
        try:
            result = await client.ask(prompt)
        except SeraiError as error:
            if not should_go_on(error):
                raise
            attempts.append(Attempt(client.name, error=error))
        else:
            attempts.append(Attempt(client.name, result))
            return FailoverResult(result, client.name, tuple(attempts))
    raise exhausted(attempts)
