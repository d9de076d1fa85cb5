"""Retries after transient errors, and restarts of an agent."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from serai import errors
from serai.acp.session import OpenWay

__all__ = ["Renewed", "Retries", "Why", "is_transient"]

T = TypeVar("T")

_NETWORK = re.compile(
    r"\b(?:ECONNRESET|ECONNREFUSED|ECONNABORTED|ETIMEDOUT|EPIPE|EAI_AGAIN|ENETUNREACH)\b"
    r"|socket hang up|fetch failed|network (?:error|is unreachable)"
    r"|connection (?:reset|refused|aborted|error)|bad gateway|gateway time-?out|\b50[24]\b",
    re.IGNORECASE,
)
"""Messages of agents that did not reach their model."""


def is_transient(error: BaseException) -> bool:
    """Tell whether a retry may help: the agent is gone, or its model is busy or cannot be reached."""
    if isinstance(error, errors.AgentRequestFailed) and not isinstance(error, errors.SessionLoadFailed):
        return _NETWORK.search(f"{error.message} {error.data or ''}") is not None
    return isinstance(error, errors.AgentClosed | errors.AgentOverloaded | errors.RateLimited)


@dataclass(frozen=True, slots=True)
class Retries:
    """The policy for retries after transient errors (`is_transient`)."""

    limit: int = 3
    """Number of retries."""
    waits: tuple[float, ...] = (0.5, 1.0, 2.0)
    """Seconds to wait before each; the last one counts for all that follow."""
    on_retry: Callable[[int, errors.AgentError], None] | None = None
    """Called before each wait with the number of the retry (1 is the first) and the error."""
    after_tools: bool = False
    """True to retry also when the agent has used tools: it may do the same things twice."""

    def covers(self, error: errors.AgentError) -> bool:
        """Tell whether an error is retried."""
        # The latter happens at a start or restart. The protocol version will be the same the next time.
        is_another_version = isinstance(error, errors.VersionMismatch)
        return is_transient(error) or (isinstance(error, errors.AgentInitFailed) and not is_another_version)

    def wait(self, attempt: int) -> float:
        """Return the seconds to wait before a retry."""
        return self.waits[min(attempt, len(self.waits)) - 1] if self.waits else 0.0


class Why(StrEnum):
    """The reason for starting an agent anew."""

    GONE = "gone"
    TURN_LIMIT = "turn-limit"


@dataclass(frozen=True, slots=True)
class Renewed:
    """The agent of a session was started anew."""

    why: Why
    way: OpenWay
    """Resumed or loaded, so that the agent knows the conversation; or made anew."""
    session_id: str
    """The session's id from now on: another one, unless it was resumed or loaded."""


def read_retries(option: Retries | int | None) -> Retries | None:
    """Return the policy for an option; `None` for no retries."""
    retries = Retries(option) if isinstance(option, int) else option
    return retries if retries is not None and retries.limit > 0 else None


async def persistently(
    once: Callable[[], Awaitable[T]],
    retries: Retries | None,
    *,
    may_go_on: Callable[[], bool] = lambda: True,
    closed: asyncio.Event | None = None,
    agent: str,
) -> T:
    """Do it until it works, or until the retries are exhausted. Cancelling it, and `closed`, end the waiting.

    Raises:
        AttemptsExhausted: All retries have failed.
        AgentError: An error that is not retried.
    """
    failures: list[errors.AgentError] = []
    while True:
        try:
            return await once()
        except errors.AgentError as error:
            if retries is None or not retries.covers(error) or not may_go_on():
                raise
            failures.append(error)
            attempt = len(failures)
            if attempt > retries.limit:
                raise errors.AttemptsExhausted(
                    f"the agent {agent!r} was asked {attempt} times, and failed at last: {error.message}",
                    errors=tuple((agent, each) for each in failures),
                ) from error
            if retries.on_retry is not None:
                retries.on_retry(attempt, error)
        with suppress(TimeoutError):
            async with asyncio.timeout(retries.wait(attempt)):
                await (closed or asyncio.Event()).wait()
