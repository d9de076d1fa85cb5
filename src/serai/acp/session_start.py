"""One link to one agent: it starts the agent, opens a session in the best way, and does both again.

Both drivers of ACP agents stand on it: the host (`serai.harness.acp`) and programs (`serai.agents`). Each of
them has a kind of `Agent` of its own.
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
"""What an agent lacks that offers a way to open a session, and does not know the method."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which session is wanted. Without anything said, a new one."""

    session_id: str | None = None
    """The one to open again, or to fork."""
    fork: bool = False
    anew: str | None = None
    """Why the earlier one must not be opened again, as part of a sentence; `None` when it may be."""
    loads: int = 1
    """How often an agent is asked to load a session before that counts as refused."""


A = TypeVar("A", bound=Agent)


@dataclass(frozen=True, slots=True)
class Opened(Generic[A]):
    """A running agent with a session open."""

    agent: A
    session: AcpSession
    way: OpenWay
    reason: str | None = None
    """Why the session is another one than was wanted, as part of a sentence."""


class Link(Generic[A]):
    """The agent of one session, one at a time. It comes and goes; the link stays.

    Args:
        start: Starts the agent.
        attempt: Opens a session in one way, as `Agent.open_session` does.
        name: What people call the agent.
        opened: Is called with each session that was opened, before anyone gets it.
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
        """The last one that was opened. Its agent may be gone by now."""
        self._start = start
        self._attempt = attempt
        self._name = name
        self._opened = opened
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[Opened[A]] | None = None
        self._is_closed = False

    @property
    def running(self) -> Opened[A] | None:
        """The agent with its session, if it runs."""
        return self.last if self.last is not None and self.last.agent.is_running else None

    async def get(self, wanted: Callable[[Opened[A] | None], Awaitable[Wanted | None]]) -> Opened[A]:
        """The running agent with its session. Several who ask at the same moment get the same one.

        Cancelling it while the agent is started leaves nothing of that.

        Args:
            wanted: Is given what runs, if anything does, and says which session is to be opened instead;
                `None` to keep what runs.

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
        """End the agent; with an argument, only if it is still that one."""
        if opened is None or opened is self.last:
            last, self.last = self.last, None
            if last is not None:
                await last.agent.close()

    async def close(self) -> None:
        """End the agent, also one that is being started, and start no other."""
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

        An agent that refuses one way is asked for the next; one that does not survive a way, or falls silent
        over it, is started again for the next. Where the agent says that someone must sign in, wait or pay,
        that is the error: a new session would help nobody, and cost what the agent remembers. When this fails
        or is cancelled, no agent is left.
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
    """How the session that is wanted can be opened, the best way first."""
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
