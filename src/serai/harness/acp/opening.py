"""How the agent's own session is opened: begun, resumed, loaded, forked, or made anew.

What a person is told of it are four sentences, one for each outcome; a fifth one is the error.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from serai.acp import AcpSession, Agent, Opening
from serai.agents.catalogue.definitions import Quirk
from serai.contract import AgentSessionEvent, SessionForked, SessionResumed, SessionStarted
from serai.errors import (
    AgentClosed,
    AgentError,
    AgentInactive,
    AgentRequestFailed,
    CapabilityNotSupportedError,
    LineTooLong,
)

__all__ = ["Opened", "Outcome", "Wanted", "event_of", "failure_notice", "notice_of", "open_session"]

_log = logging.getLogger(__name__)


class Outcome(StrEnum):
    """What became of the wish for a session."""

    NEW = "new"
    RESUMED = "resumed"
    LOADED = "loaded"
    FORKED = "forked"
    RECREATED = "re-created"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which session is wanted."""

    cwd: Path
    session_id: str | None = None
    """The one to open again, or to fork."""
    fork: bool = False
    anew: str | None = None
    """Why it must not be opened again: what it knows is no longer so. `None` when it may be."""
    quirks: frozenset[Quirk] = frozenset()


@dataclass(frozen=True, slots=True)
class Opened:
    """A session that is open."""

    agent: Agent
    session: AcpSession
    outcome: Outcome
    reason: str | None = None
    """Why it is another one than was wanted."""

    def untold(self) -> Opened:
        """The same of a session that was made anew before, and that knows nothing yet."""
        if self.outcome in (Outcome.NEW, Outcome.RECREATED):
            return self
        reason = "the one that was made for it before was not told of the conversation"
        return replace(self, outcome=Outcome.RECREATED, reason=reason)


_Attempt = Callable[[Agent], Awaitable[AcpSession]]


async def open_session(
    start: Callable[[], Awaitable[Agent]],
    wanted: Wanted,
    how: Opening,
    through: Callable[[Agent, _Attempt], Awaitable[AcpSession]],
) -> Opened:
    """Start an agent, and open a session in the best way that it has.

    An agent that refuses one way is asked for the next, and in the end for a new session; one that does not
    survive a way, or falls silent over it, is started again for the next. Only where it says that someone
    must sign in, wait or pay, that is the error. A new session would help nobody then, and cost what the
    agent remembers: the earlier one can be opened later. When this fails or is cancelled, no agent is left.

    Args:
        start: Starts the agent.
        wanted: Which session.
        how: What else is said about it.
        through: Makes an attempt, and signs in for it where that can be done.

    Raises:
        AuthRequired: A person has to sign in.
        RateLimited: The agent can open it later; so with `AgentOverloaded` and `UsageLimitReached`.
        AgentError: Not even a new one could be made.
    """
    agent = await start()
    reason = wanted.anew
    try:
        for outcome, attempt in _ways(agent, wanted, how):
            try:
                return Opened(agent, await through(agent, attempt), outcome)
            except (AgentRequestFailed, CapabilityNotSupportedError) as error:
                failed = error
            except (AgentClosed, AgentInactive, LineTooLong) as error:
                failed = error
                await agent.close()
                agent = await start()
            _log.warning("a session was not %s: %s", outcome, failed)
            reason = failed.message
        session = await through(agent, lambda agent: agent.new_session(wanted.cwd, **how))
    except BaseException:
        await agent.close()
        raise
    if wanted.session_id is None and wanted.anew is None:
        return Opened(agent, session, Outcome.NEW)
    cannot = f"the agent cannot {'fork' if wanted.fork else 'open earlier'} sessions"
    return Opened(agent, session, Outcome.RECREATED, reason or cannot)


def _ways(agent: Agent, wanted: Wanted, how: Opening) -> list[tuple[Outcome, _Attempt]]:
    """How the session that is wanted can be opened, the best first."""
    told, session_id = agent.capabilities, wanted.session_id
    if session_id is None or wanted.anew is not None:
        return []

    def fork(agent: Agent) -> Awaitable[AcpSession]:
        return agent.fork_session(session_id, wanted.cwd, **how)

    def resume(agent: Agent) -> Awaitable[AcpSession]:
        return agent.resume_session(session_id, wanted.cwd, **how)

    def load(agent: Agent) -> Awaitable[AcpSession]:
        return agent.load_session(session_id, wanted.cwd, **how)

    if wanted.fork:
        return [(Outcome.FORKED, fork)] if told.fork_session else []
    ways: list[tuple[Outcome, _Attempt]] = [(Outcome.RESUMED, resume)] if told.resume_session else []
    if told.load_session:
        ways += [(Outcome.LOADED, load)] * (2 if Quirk.LOADS_UNRELIABLY in wanted.quirks else 1)
    return ways


def event_of(opened: Opened, wanted: Wanted) -> AgentSessionEvent:
    """What those are told who listen to the session."""
    session_id = opened.session.id
    match opened.outcome:
        case Outcome.RESUMED | Outcome.LOADED:
            return SessionResumed(session_id=session_id)
        case Outcome.FORKED:
            return SessionForked(session_id=session_id, parent_session_id=wanted.session_id or "")
        case _:
            return SessionStarted(session_id=session_id)


def notice_of(opened: Opened, label: str, *, retold: bool) -> str | None:
    """What the person is told; `None` when all is as they expect."""
    match opened.outcome:
        case Outcome.NEW:
            return None
        case Outcome.RESUMED:
            return f"{label} was started again and has resumed its session: it remembers the conversation."
        case Outcome.LOADED:
            return f"{label} was started again and has loaded its session: it remembers the conversation."
        case Outcome.FORKED:
            return f"{label} has forked its session: it remembers the conversation up to here."
        case Outcome.RECREATED:
            memory = (
                "It is given the text of the conversation above, as far as there is room, and nothing else."
                if retold
                else "It remembers nothing of the conversation above."
            )
            return f"{label} works in a new session of its own, since {opened.reason}. {memory}"


def failure_notice(error: AgentError, label: str) -> str:
    """What the person is told when there is no session at all."""
    return f"{label} could not be started again, and its session not be opened: {error.message}."
