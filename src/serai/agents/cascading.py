"""A cheap agent first, and a better one when its answer does not do."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, Unpack

from serai.agents.attempts import Attempt, Candidate, clients_of, exhausted
from serai.agents.options import Options
from serai.agents.parts import Prompt
from serai.agents.results import AskResult
from serai.agents.transience import is_anothers_turn
from serai.errors import SeraiError

__all__ = ["Accept", "CascadeResult", "Stage", "cascade"]

Accept: TypeAlias = Callable[[AskResult], bool | Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a cascade."""

    agent: Candidate
    accept: Accept | None = None
    """Whether an answer does; without it every answer does."""


@dataclass(frozen=True, slots=True)
class CascadeResult:
    """The first answer that did."""

    result: AskResult
    winner: str
    """Whose it is."""
    stage: int
    """At which stage, counted from 0."""
    rejected: tuple[Attempt, ...]
    """What came of the stages before."""


async def cascade(
    prompt: Prompt, stages: Sequence[Stage | Candidate], **options: Unpack[Options]
) -> CascadeResult:
    """Ask the agent of the first stage; if its answer does not do, or it cannot answer, that of the next.

    Cancelling it cancels the turn that runs.

    Args:
        prompt: What is asked.
        stages: Whom, and what does.
        **options: What holds for all.

    Raises:
        AttemptsExhausted: No answer did.
        SeraiError: An error after which another agent would not help either.
    """
    steps = [stage if isinstance(stage, Stage) else Stage(stage) for stage in stages]
    clients = clients_of([step.agent for step in steps], options)
    rejected: list[Attempt] = []
    for number, (step, client) in enumerate(zip(steps, clients, strict=True)):
        try:
            result = await client.ask(prompt)
        except SeraiError as error:
            if not is_anothers_turn(error):
                raise
            rejected.append(Attempt(client.name, error=error))
            continue
        if await _does(step, result):
            return CascadeResult(result, client.name, number, tuple(rejected))
        rejected.append(Attempt(client.name, result))
    raise exhausted(rejected)


async def _does(stage: Stage, result: AskResult) -> bool:
    if stage.accept is None:
        return True
    accepted = stage.accept(result)
    return bool(await accepted) if inspect.isawaitable(accepted) else bool(accepted)
