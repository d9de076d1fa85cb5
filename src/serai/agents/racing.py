"""Several agents at once; the first answer counts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

from serai.agents.attempts import Attempt, Candidate, clients_of, exhausted
from serai.agents.clients import AgentClient
from serai.agents.options import Options
from serai.agents.parts import Prompt
from serai.agents.results import AskResult
from serai.errors import SeraiError

__all__ = ["RaceResult", "race"]


@dataclass(frozen=True, slots=True)
class RaceResult:
    """What the fastest agent answered."""

    result: AskResult
    winner: str
    """That agent."""
    losers: tuple[Attempt, ...]
    """The others, in the order in which they were given."""


async def race(
    prompt: Prompt,
    candidates: Sequence[Candidate],
    *,
    cancel_losers: bool = True,
    **options: Unpack[Options],
) -> RaceResult:
    """Ask all at once. The first that answers wins; the others are cancelled and gone when this returns.

    They work in the same folder unless they are told otherwise: let them only read, or give each a `cwd`.
    Cancelling it cancels all of them.

    Args:
        prompt: What is asked.
        candidates: Whom.
        cancel_losers: Whether the others are stopped; if not, they are waited for.
        **options: What holds for all.

    Raises:
        AttemptsExhausted: None of them answered.
    """
    clients = clients_of(candidates, options)
    tasks = [asyncio.create_task(_attempt(client, prompt)) for client in clients]
    try:
        pending = set(tasks)
        winner: asyncio.Task[Attempt] | None = None
        while pending and winner is None:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            # Several may be done at once: then the one that was named first has won.
            winner = next((task for task in tasks if task in done and task.result().result), None)
        if winner is not None and pending and not cancel_losers:
            await asyncio.wait(pending)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    attempts = [
        Attempt(client.name) if task.cancelled() else task.result()
        for client, task in zip(clients, tasks, strict=True)
    ]
    if winner is None:
        raise exhausted(attempts)
    place = tasks.index(winner)
    won = attempts.pop(place)
    assert won.result is not None  # noqa: S101 - that is what made it the winner
    return RaceResult(won.result, won.agent, tuple(attempts))


async def _attempt(client: AgentClient, prompt: Prompt) -> Attempt:
    try:
        return Attempt(client.name, await client.ask(prompt))
    except SeraiError as error:
        return Attempt(client.name, error=error)
