"""Several agents for one question: one after the other, all at once, or from a pool."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias, TypeVar, Unpack

from serai import errors
from serai.agents.ask.ask import AgentClient
from serai.agents.ask.events import AskResult, JsonResult
from serai.agents.ask.json_answer import SchemaText
from serai.agents.ask.options import Options, checked_options, merged
from serai.agents.ask.prompt import Prompt
from serai.agents.ask.retries import is_transient
from serai.agents.ask.session import WireSession
from serai.agents.ask.start import AgentRef, Closing, Openable
from serai.machine.processes.child import to_its_end

__all__ = [
    "AgentPool",
    "Attempt",
    "Candidate",
    "SeveralResult",
    "Stage",
    "cascade",
    "failover",
    "pool",
    "race",
]

T = TypeVar("T")

Candidate: TypeAlias = AgentRef | AgentClient
"""An agent, or one with defaults of its own: `agents.client("codex", model="…")`."""
Accept: TypeAlias = Callable[[AskResult], bool | Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Attempt:
    """The outcome of asking one of several agents."""

    agent: str
    result: AskResult | None = None
    """Its answer, if it gave one."""
    error: errors.SeraiError | None = None
    """Its error, if it failed. Without result and error it was cancelled."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a cascade."""

    agent: Candidate
    accept: Accept | None = None
    """Tells whether an answer is accepted; by default every answer is."""


@dataclass(frozen=True, slots=True)
class SeveralResult:
    """The outcome of asking several agents."""

    result: AskResult
    """The answer that counts."""
    winner: str
    """The agent that gave it."""
    stage: int
    """The number of that attempt, from 0."""
    attempts: tuple[Attempt, ...]
    """All attempts, in the order in which the agents were asked or given."""


def is_anothers_turn(error: BaseException) -> bool:
    """Tell whether another agent may help: this one does not start, has no access, is busy or silent."""
    if isinstance(error, errors.AttemptsExhausted):
        return all(is_anothers_turn(each) for _, each in error.errors)
    does_not_start = errors.AgentNotInstalled | errors.AgentNotStarted | errors.AgentInitFailed
    reasons = does_not_start | errors.AuthRequired | errors.UsageLimitReached | errors.AgentInactive
    return isinstance(error, reasons) or is_transient(error)


async def failover(
    prompt: Prompt,
    candidates: Sequence[Candidate],
    *,
    on_attempt: Callable[[str], None] | None = None,
    should_go_on: Callable[[errors.SeraiError], bool] = is_anothers_turn,
    **options: Unpack[Options],
) -> SeveralResult:
    """Ask the first agent; if it cannot answer, the next.

    By default the next is asked when an agent is not installed, does not start, wants a person to sign in,
    has nothing left to spend, is too busy, falls silent, or ends; `should_go_on` replaces this rule. An agent
    that ends in the middle may have done part of the work. `on_attempt` is called with each agent's name.
    Cancelling it cancels the running turn.

    Raises:
        AttemptsExhausted: None of them could answer.
        SeraiError: An error after which the next is not asked.
    """
    steps = [(client, None) for client in _clients(candidates, options)]
    return await _first(prompt, steps, should_go_on, on_attempt)


async def cascade(
    prompt: Prompt, stages: Sequence[Stage | Candidate], **options: Unpack[Options]
) -> SeveralResult:
    """Ask the agent of the first stage; if it cannot answer, or its answer is not accepted, that of the next.

    Cancelling it cancels the running turn.

    Raises:
        AttemptsExhausted: No answer was accepted.
        SeraiError: An error after which another agent would not help either.
    """
    steps = [stage if isinstance(stage, Stage) else Stage(stage) for stage in stages]
    clients = _clients([step.agent for step in steps], options)
    accepts = [step.accept for step in steps]
    return await _first(prompt, list(zip(clients, accepts, strict=True)), is_anothers_turn)


async def _first(
    prompt: Prompt,
    steps: Sequence[tuple[AgentClient, Accept | None]],
    should_go_on: Callable[[errors.SeraiError], bool],
    on_attempt: Callable[[str], None] | None = None,
) -> SeveralResult:
    """Ask one agent after the other, until an answer is accepted."""
    attempts: list[Attempt] = []
    for client, accept in steps:
        if on_attempt is not None:
            on_attempt(client.name)
        attempt = await _attempt(client, prompt)
        attempts.append(attempt)
        if attempt.error is not None and not should_go_on(attempt.error):
            raise attempt.error
        if attempt.result is not None:
            verdict = True if accept is None else accept(attempt.result)
            if await verdict if inspect.isawaitable(verdict) else verdict:
                return SeveralResult(attempt.result, client.name, len(attempts) - 1, tuple(attempts))
    raise _exhausted(attempts)


async def race(
    prompt: Prompt,
    candidates: Sequence[Candidate],
    *,
    cancel_losers: bool = True,
    **options: Unpack[Options],
) -> SeveralResult:
    """Ask all agents at once. The first answer wins, the others are cancelled; at the end all are gone.

    By default they work in the same folder: let them only read, or give each a `cwd`. Cancelling it cancels
    all of them. Without `cancel_losers` it waits for the others.

    Raises:
        AttemptsExhausted: None of them answered.
    """
    clients = _clients(candidates, options)
    tasks = [asyncio.create_task(_attempt(client, prompt)) for client in clients]
    winner: asyncio.Task[Attempt] | None = None
    try:
        pending = set(tasks)
        while pending and winner is None:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            # When several are done at once, the one that was given first wins.
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
    stage = tasks.index(winner) if winner is not None else 0
    won = attempts[stage]
    if won.result is None:
        raise _exhausted(attempts)
    return SeveralResult(won.result, won.agent, stage, tuple(attempts))


async def _attempt(client: AgentClient, prompt: Prompt) -> Attempt:
    try:
        return Attempt(client.name, await client.ask(prompt))
    except errors.SeraiError as error:
        return Attempt(client.name, error=error)


def _clients(candidates: Sequence[Candidate], options: Options) -> list[AgentClient]:
    """Return the candidates with the shared options. A candidate's own options override them.

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


def _exhausted(attempts: Sequence[Attempt]) -> errors.AttemptsExhausted:
    failures = tuple((one.agent, one.error) for one in attempts if one.error is not None)
    words = [f"{agent}: {error.message}" for agent, error in failures]
    words += [f"{one.agent}: its answer was not accepted" for one in attempts if one.result is not None]
    return errors.AttemptsExhausted(
        f"no agent gave an answer that counts ({'; '.join(words)})", errors=failures
    )


# -- a pool ------------------------------------------------------------------------------------------------


def pool(
    candidates: Sequence[Candidate], *, capacity: int | None = None, **options: Unpack[Options]
) -> Openable[AgentPool]:
    """Start several agents, each with one session: `async with agents.pool(["codex"], capacity=4) as pool`.

    The candidates are started in turns, up to `capacity`; by default one of each. When one of them does not
    start, the others are ended again.

    Raises:
        AgentError: One of them did not start.
        ValueError: There are none.
    """
    clients = _clients(candidates, options)
    count = len(clients) if capacity is None else capacity
    if count < 1:
        raise ValueError("a pool needs a capacity of at least 1")
    return Openable(lambda: AgentPool.open([clients[number % len(clients)] for number in range(count)]))


class AgentPool(Closing):
    """A pool of agents. `agents.pool` opens it.

    Each worker has one user at a time; when all are busy, others wait, in order. Its session continues from
    one question to the next. A worker whose agent has died gets a new agent when it is needed again, which
    continues the same session if it can (`on_renewed`). `close` ends all workers: running turns fail, and so
    do those who wait.
    """

    def __init__(self, sessions: Sequence[WireSession]) -> None:
        self._sessions = sessions
        self._free: asyncio.Queue[WireSession | None] = asyncio.Queue()  # `None` once it is closed
        for session in sessions:
            self._free.put_nowait(session)

    @classmethod
    async def open(cls, clients: Sequence[AgentClient]) -> AgentPool:
        """Open a pool with one worker for each client."""
        opening = [asyncio.ensure_future(client.session()) for client in clients]
        try:
            return cls(await asyncio.gather(*opening))
        except BaseException:
            await to_its_end(_undo_opening(opening))
            raise

    async def ask(self, prompt: Prompt) -> AskResult:
        """Ask a free worker, as `WireSession.ask`."""
        async with self.worker() as session:
            return await session.ask(prompt)

    async def ask_json(self, prompt: Prompt, schema: type[T] | SchemaText) -> JsonResult[T]:
        """Ask a free worker for JSON, as `WireSession.ask_json`."""
        async with self.worker() as session:
            return await session.ask_json(prompt, schema)

    @asynccontextmanager
    async def worker(self) -> AsyncGenerator[WireSession, None]:
        """Lend the session of a free worker until the block ends. Do not close it: the pool does.

        Cancelling the waiting leaves the queue.

        Raises:
            AgentClosed: The pool is closed.
            AgentError: The worker's agent had died, and does not start again.
        """
        session = await self._free.get()
        try:
            if session is None or session.is_closed:
                raise errors.AgentClosed("the pool is closed")
            await session.revive()
            yield session
        finally:
            self._free.put_nowait(session)

    async def _close(self) -> None:
        self._free.put_nowait(None)
        await asyncio.gather(*(session.close() for session in self._sessions))


async def _undo_opening(opening: Sequence[asyncio.Future[WireSession]]) -> None:
    for task in opening:
        task.cancel()
    opened = await asyncio.gather(*opening, return_exceptions=True)
    await asyncio.gather(*(one.close() for one in opened if isinstance(one, WireSession)))
