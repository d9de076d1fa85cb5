"""The link to one agent: it starts the agent, opens a session in the best way, and does both again later.

Both drivers of ACP agents use it: the host (`serai.harness.acp`) and Python programs (`serai.agents`). Each
has its own kind of `Agent`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from serai import errors
from serai.acp.agent import Agent
from serai.acp.capabilities import AgentCapabilities
from serai.acp.session import AcpSession, OpenWay
from serai.machine.processes.child import to_its_end

_log = logging.getLogger(__name__)

_WAYS = frozenset({"loadSession", "sessionCapabilities.resume", "sessionCapabilities.fork"})
"""Capabilities that are missing when an agent offers a way to open a session and does not know its method."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The session to open. By default, a new one."""

    session_id: str | None = None
    """The session to open again, or to fork."""
    fork: bool = False
    anew: str | None = None
    """The reason not to open the earlier session, as part of a sentence; `None` when there is none."""
    loads: int = 1
    """Number of attempts to load a session before it counts as refused."""


A = TypeVar("A", bound=Agent)


@dataclass(frozen=True, slots=True)
class Opened(Generic[A]):
    """A running agent with a session open."""

    agent: A
    session: AcpSession
    way: OpenWay
    reason: str | None = None
    """The reason why it is another session than the wanted one, as part of a sentence."""


class Link(Generic[A]):
    """The agent of one session, one at a time. Agents come and go; the link stays.

    Args:
        start: Starts the agent.
        attempt: Opens a session in one way, as `Agent.open_session` does.
        name: The agent's name in messages.
        opened: Takes each session that was opened, before anyone else gets it.
    """

    def __init__(
        self,
        start: Callable[[], Awaitable[A]],
        attempt: Callable[[A, OpenWay, str | None], Awaitable[AcpSession]],
        *,
        name: str,
        opened: Callable[[Opened[A]], Awaitable[None]] | None = None,
    ) -> None:
        self.last: Opened[A] | None = None
        """The last session that was opened. Its agent may be gone by now."""
        self._start = start
        self._attempt = attempt
        self._name = name
        self._opened = opened
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[Opened[A]] | None = None
        self._is_closed = False

    @property
    def running(self) -> Opened[A] | None:
        """The agent with its session, if the agent runs."""
        return self.last if self.last is not None and self.last.agent.is_running else None

    async def get(self, wanted: Callable[[Opened[A] | None], Awaitable[Wanted | None]]) -> Opened[A]:
        """Return the running agent with its session. Concurrent callers get the same one.

        Cancelling it while the agent is started leaves nothing of that.

        Args:
            wanted: Takes the running agent, if any, and returns the session to open instead; `None` to
                keep what runs.

        Raises:
            AgentClosed: The link was closed.
            AgentError: The agent does not start, or opens no session.
        """
        async with self._lock:
            wish = await wanted(self.running)
            if wish is None and (running := self.running) is not None:
                return running
            if self._is_closed:
                raise self._gone()
            await self.drop()
            task = self._task = asyncio.create_task(self._open(wish or Wanted()))
            try:
                await asyncio.wait([task])
            finally:
                self._task = None
                if not task.done():
                    task.cancel()
                    await to_its_end(asyncio.wait([task]))
            if task.cancelled():
                raise self._gone()
            return task.result()

    async def drop(self, opened: Opened[A] | None = None) -> None:
        """End the agent; with an argument, only if that is still the current one."""
        if opened is None or opened is self.last:
            last, self.last = self.last, None
            if last is not None:
                await last.agent.close()

    async def close(self) -> None:
        """End the agent, also one that is being started, and start no more."""
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        await self.drop()

    async def _open(self, wanted: Wanted) -> Opened[A]:
        self.last = opened = await self._open_best(wanted)
        try:
            if self._opened is not None:
                await self._opened(opened)
        except BaseException:
            await to_its_end(self.drop(opened))
            raise
        return opened

    async def _open_best(self, wanted: Wanted) -> Opened[A]:
        """Start an agent, and open a session in the best way that it offers: resume, load, else a new one.

        An agent that refuses one way is asked for the next; one that ends or falls silent over a way is
        started again for the next. When the agent says that someone must sign in, wait or pay, that error is
        raised: a new session would not help, and would lose what the agent remembers. When this fails or is
        cancelled, no agent is left.
        """
        agent = await self._start()
        reason = wanted.anew
        try:
            for way in _ways(agent.capabilities, wanted):
                try:
                    return Opened(agent, await self._attempt(agent, way, wanted.session_id), way)
                except errors.SessionLoadFailed as error:
                    failed = error
                except errors.CapabilityNotSupportedError as error:
                    if error.capability not in _WAYS:
                        raise
                    failed = error
                except (errors.AgentClosed, errors.AgentInactive, errors.LineTooLong) as error:
                    failed = error
                    await agent.close()
                    agent = await self._start()
                _log.warning("a session was not %s: %s", way, failed)
                reason = failed.message
            session = await self._attempt(agent, OpenWay.NEW, None)
        except BaseException:
            await to_its_end(agent.close())
            raise
        if wanted.session_id is None and wanted.anew is None:
            return Opened(agent, session, OpenWay.NEW)
        cannot = f"the agent cannot {'fork' if wanted.fork else 'open earlier'} sessions"
        return Opened(agent, session, OpenWay.RECREATED, reason or cannot)

    def _gone(self) -> errors.AgentClosed:
        return errors.AgentClosed(f"the agent {self._name!r} was released", agent=self._name)


def _ways(offered: AgentCapabilities, wanted: Wanted) -> Iterator[OpenWay]:
    """Yield the ways in which the wanted session can be opened, the best first."""
    if wanted.session_id is None or wanted.anew is not None:
        return
    if wanted.fork:
        if offered.fork_session:
            yield OpenWay.FORKED
        return
    if offered.resume_session:
        yield OpenWay.RESUMED
    if offered.load_session:
        yield from [OpenWay.LOADED] * wanted.loads
