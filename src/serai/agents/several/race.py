"""Several agents at once; the first answer counts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

from serai.agents.ask.ask import AgentClient
from serai.agents.ask.events import AskResult
from serai.agents.ask.options import Options
from serai.agents.ask.prompt import Prompt
from serai.agents.several.failover import Attempt, Candidate, clients_of, exhausted
from serai.errors import SeraiError
from serai.machine.processes.uninterrupted import to_its_end

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
    """Asks all at once. The first that answers wins, the others are cancelled, and then all are gone.

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
    tasks = [asyncio.create_task(_run(client, prompt)) for client in clients]
    winner: asyncio.Task[Attempt] | None = None
    try:
        pending = set(tasks)
        while pending and winner is None:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            # Several may be done at once: then the one that was named first has won.
            winner = next((one for one in tasks if one in done and one.result().result), None)
        if winner is not None and pending and not cancel_losers:
            await asyncio.wait(pending)
    finally:
        for task in tasks:
            task.cancel()
        await to_its_end(asyncio.gather(*tasks, return_exceptions=True))
    attempts = [
        Attempt(client.name) if task.cancelled() else task.result()
        for client, task in zip(clients, tasks, strict=True)
    ]
    won = attempts.pop(tasks.index(winner)) if winner is not None else None
    if won is None or won.result is None:
        raise exhausted(attempts)
    return RaceResult(won.result, won.agent, tuple(attempts))


async def _run(client: AgentClient, prompt: Prompt) -> Attempt:
    try:
        return Attempt(client.name, await client.ask(prompt))
    except SeraiError as error:
        return Attempt(client.name, error=error)
