"""Several agents for one question: one after the other, by what they answer, or all at once."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, Unpack

from serai.agents.ask.ask import AgentClient
from serai.agents.ask.events import AskResult
from serai.agents.ask.options import Options, checked_options, merged
from serai.agents.ask.prompt import Prompt
from serai.agents.ask.retries import is_transient
from serai.agents.ask.start import AgentRef
from serai.errors import (
    AgentInactive,
    AgentInitFailed,
    AgentNotInstalled,
    AgentNotStarted,
    AttemptsExhausted,
    AuthRequired,
    SeraiError,
    UsageLimitReached,
)
from serai.machine.processes.uninterrupted import to_its_end

__all__ = [
    "Accept",
    "Attempt",
    "Candidate",
    "CascadeResult",
    "FailoverResult",
    "RaceResult",
    "Stage",
    "cascade",
    "clients_of",
    "exhausted",
    "failover",
    "race",
]

Candidate: TypeAlias = AgentRef | AgentClient
"""An agent, or one with defaults of its own: `agents.client("codex", model="…")`."""
Accept: TypeAlias = Callable[[AskResult], bool | Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of asking one of several agents."""

    agent: str
    result: AskResult | None = None
    """What it answered, if it did."""
    error: SeraiError | None = None
    """What it failed with. Without result and error it was cancelled."""


@dataclass(frozen=True, slots=True)
class FailoverResult:
    """What the first agent answered that could."""

    result: AskResult
    winner: str
    """That agent."""
    attempts: tuple[Attempt, ...]
    """All that were asked, the winner last."""


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


def is_anothers_turn(error: BaseException) -> bool:
    """Whether another agent may help: this one does not start, has no access, is busy or silent."""
    if isinstance(error, AttemptsExhausted):
        return all(is_anothers_turn(each) for _, each in error.errors)
    reasons = AgentNotInstalled | AgentNotStarted | AgentInitFailed | AuthRequired | UsageLimitReached
    return isinstance(error, reasons | AgentInactive) or is_transient(error)


async def failover(
    prompt: Prompt,
    candidates: Sequence[Candidate],
    *,
    on_attempt: Callable[[str], None] | None = None,
    should_go_on: Callable[[SeraiError], bool] = is_anothers_turn,
    **options: Unpack[Options],
) -> FailoverResult:
    """Asks the first agent; if it cannot answer, the next.

    By default that is so when an agent is not installed, does not start, wants a person to sign in, has
    nothing left to spend, is too busy, falls silent, or ends. An agent that ends in the middle may have done
    a part of the work. Cancelling it cancels the turn that runs.

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
    steps = [(client, None) for client in clients_of(candidates, options)]
    result, attempts = await _first(prompt, steps, should_go_on, on_attempt)
    return FailoverResult(result, attempts[-1].agent, tuple(attempts))


async def cascade(
    prompt: Prompt, stages: Sequence[Stage | Candidate], **options: Unpack[Options]
) -> CascadeResult:
    """Asks the agent of the first stage; if its answer does not do, or it cannot answer, that of the next.

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
    accepts = [step.accept for step in steps]
    result, attempts = await _first(prompt, list(zip(clients, accepts, strict=True)), is_anothers_turn)
    return CascadeResult(result, attempts[-1].agent, len(attempts) - 1, tuple(attempts[:-1]))


async def _first(
    prompt: Prompt,
    steps: Sequence[tuple[AgentClient, Accept | None]],
    should_go_on: Callable[[SeraiError], bool],
    on_attempt: Callable[[str], None] | None = None,
) -> tuple[AskResult, list[Attempt]]:
    """Asks one after the other. Returns the first answer that does, and all attempts until then."""
    attempts: list[Attempt] = []
    for client, accept in steps:
        if on_attempt is not None:
            on_attempt(client.name)
        try:
            result = await client.ask(prompt)
        except SeraiError as error:
            if not should_go_on(error):
                raise
            attempts.append(Attempt(client.name, error=error))
            continue
        attempts.append(Attempt(client.name, result))
        verdict = True if accept is None else accept(result)
        if await verdict if inspect.isawaitable(verdict) else verdict:
            return result, attempts
    raise exhausted(attempts)


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
    words = [f"{agent}: {error.message}" for agent, error in errors]
    words += [f"{one.agent}: its answer was not accepted" for one in attempts if one.result is not None]
    return AttemptsExhausted(f"no agent gave an answer that counts ({'; '.join(words)})", errors=errors)
