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
    """Ask all at once. The first that answers wins; the others are cancelled. All are gone when this returns.

    How long an agent takes to end does not matter.

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
    runners = [_Runner(client, prompt) for client in clients]
    try:
        pending = {runner.came for runner in runners}
        winner: _Runner | None = None
        while pending and winner is None:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            # Several may be done at once: then the one that was named first has won.
            winner = next((one for one in runners if one.came in done and one.came.result().result), None)
        if winner is not None and pending and not cancel_losers:
            await asyncio.wait(pending)
    finally:
        for runner in runners:
            runner.stop()
        await to_its_end(asyncio.gather(*(runner.task for runner in runners), return_exceptions=True))
    attempts = [runner.attempt for runner in runners]
    if winner is None:
        raise exhausted(attempts)
    won = attempts.pop(runners.index(winner))
    assert won.result is not None  # noqa: S101 - that is what made it the winner
    return RaceResult(won.result, won.agent, tuple(attempts))


class _Runner:
    """One of them: it answers, or fails, and then ends."""

    def __init__(self, client: AgentClient, prompt: Prompt) -> None:
        self._client = client
        self.came: asyncio.Future[Attempt] = asyncio.get_running_loop().create_future()
        """What came of it, while the agent may still be ending."""
        self.task = asyncio.create_task(self._run(prompt))

    @property
    def attempt(self) -> Attempt:
        """What came of it, by now."""
        is_over = self.came.done() and not self.came.cancelled() and self.came.exception() is None
        return self.came.result() if is_over else Attempt(self._client.name)

    def stop(self) -> None:
        """Cancel it, unless it is ending already."""
        if not self.came.done():
            self.task.cancel()

    async def _run(self, prompt: Prompt) -> None:
        try:
            async with self._client.session() as session:
                result = await session.ask(prompt)
                self._tell(Attempt(self._client.name, result))
        except SeraiError as error:
            self._tell(Attempt(self._client.name, error=error))
        except Exception as problem:  # noqa: BLE001 - a callback of the caller: the caller is told
            if not self.came.done():
                self.came.set_exception(problem)
        finally:
            self.came.cancel()

    def _tell(self, attempt: Attempt) -> None:
        if not self.came.done():
            self.came.set_result(attempt)
