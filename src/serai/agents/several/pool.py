"""Agents that are started once and asked many times."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar, Unpack, overload

from serai.agents.ask.ask import AgentClient
from serai.agents.ask.events import AskResult, JsonResult
from serai.agents.ask.options import Options
from serai.agents.ask.prompt import Prompt
from serai.agents.ask.session import WireSession
from serai.agents.ask.stream import Closing, Openable
from serai.agents.several.failover import Candidate, clients_of
from serai.errors import AgentClosed
from serai.machine.processes.uninterrupted import to_its_end

__all__ = ["AgentPool", "pool"]

T = TypeVar("T")


def pool(
    candidates: Sequence[Candidate], *, capacity: int | None = None, **options: Unpack[Options]
) -> Openable[AgentPool]:
    """Starts several agents, each with one session: `async with agents.pool(["codex"], capacity=4) as pool`.

    When one of them does not start, the others are ended again.

    Args:
        candidates: Which agents; they are taken in turns until there are enough.
        capacity: How many there are; by default one of each.
        **options: What holds for all.

    Raises:
        AgentError: One of them did not start.
        ValueError: There are none.
    """
    clients = clients_of(candidates, options)
    count = len(clients) if capacity is None else capacity
    if count < 1:
        raise ValueError("a pool needs a capacity of at least 1")
    return Openable(lambda: AgentPool.open([clients[number % len(clients)] for number in range(count)]))


class _Worker:
    """A place in the pool, with the session that is there now."""

    def __init__(self, client: AgentClient, session: WireSession) -> None:
        self.client = client
        self.session = session


class AgentPool(Closing):
    """Agents that wait for work. `agents.pool` opens it.

    A worker is used by one at a time; whoever comes when all are busy waits, in order. Its session goes on
    from one question to the next. One whose agent has died gets a new agent when it is needed again, which
    goes on in the same session where it can (`on_renewed`).
    """

    def __init__(self, workers: Sequence[_Worker]) -> None:
        self._workers = workers
        self._free: asyncio.Queue[_Worker | None] = asyncio.Queue()  # `None` once it is closed
        for worker in workers:
            self._free.put_nowait(worker)
        self._users = 0
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._closed = False

    @classmethod
    async def open(cls, clients: Sequence[AgentClient]) -> AgentPool:
        """As `agents.pool`: one worker for each of these."""
        opening = [asyncio.create_task(_open(client)) for client in clients]
        try:
            await asyncio.gather(*opening)
        except BaseException:
            await to_its_end(_undone(opening))
            raise
        return cls([task.result() for task in opening])

    @property
    def capacity(self) -> int:
        """How many workers there are."""
        return len(self._workers)

    @property
    def idle(self) -> int:
        """How many of them have nothing to do."""
        return self._free.qsize()

    async def ask(self, prompt: Prompt) -> AskResult:
        """Asks whoever is free. As `WireSession.ask`."""
        async with self.worker() as session:
            return await session.ask(prompt)

    @overload
    async def ask_json(self, prompt: Prompt, schema: type[T]) -> JsonResult[T]: ...
    @overload
    async def ask_json(self, prompt: Prompt, schema: Any) -> JsonResult[Any]: ...
    async def ask_json(self, prompt: Prompt, schema: Any) -> JsonResult[Any]:
        """Asks whoever is free for JSON. As `WireSession.ask_json`."""
        async with self.worker() as session:
            return await session.ask_json(prompt, schema)

    @asynccontextmanager
    async def worker(self) -> AsyncGenerator[WireSession, None]:
        """The session of whoever is free, until the block ends. Cancelling the waiting gives up the place.

        Raises:
            AgentClosed: The pool is closed.
            AgentError: The worker's agent had died, and does not start again.
        """
        self._users += 1
        self._quiet.clear()
        try:
            worker = await self._free.get()
            try:
                if worker is None or self._closed:
                    raise AgentClosed("the pool is closed")
                await self._see_to(worker)
                yield worker.session
            finally:
                self._free.put_nowait(worker)
        finally:
            self._users -= 1
            if not self._users:
                self._quiet.set()

    async def drain(self) -> None:
        """Waits until nobody is busy, and nobody waits."""
        await self._quiet.wait()

    async def close(self) -> None:
        """Ends all. Turns that run fail; whoever waits is told. Again does no harm."""
        self._closed = True
        self._free.put_nowait(None)
        await to_its_end(asyncio.gather(*(worker.session.close() for worker in self._workers)))

    async def _see_to(self, worker: _Worker) -> None:
        """Gives a worker a new agent if its own is gone, and a new session if someone has closed it."""
        if worker.session.is_closed:
            worker.session = await worker.client.session()
        else:
            await worker.session.revive()
        if self._closed:
            await worker.session.close()
            raise AgentClosed("the pool is closed")


async def _open(client: AgentClient) -> _Worker:
    return _Worker(client, await client.session())


async def _undone(opening: Sequence[asyncio.Task[_Worker]]) -> None:
    for task in opening:
        task.cancel()
    opened = await asyncio.gather(*opening, return_exceptions=True)
    await asyncio.gather(*(one.session.close() for one in opened if isinstance(one, _Worker)))
