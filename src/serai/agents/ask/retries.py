"""Asking again after an error that may be gone a little later, and starting an agent anew."""

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
"""What agents say when they did not reach their model."""


def is_transient(error: BaseException) -> bool:
    """Whether the same may work a little later: the agent is gone, or what it works with is busy or away."""
    if isinstance(error, errors.AgentRequestFailed) and not isinstance(error, errors.SessionLoadFailed):
        return _NETWORK.search(f"{error.message} {error.data or ''}") is not None
    return isinstance(error, errors.AgentClosed | errors.AgentOverloaded | errors.RateLimited)


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a question is asked again, after errors that may be gone a little later (`is_transient`)."""

    limit: int = 3
    """How often, after the first time."""
    waits: tuple[float, ...] = (0.5, 1.0, 2.0)
    """How long to wait before each, in seconds; the last counts for all that follow."""
    on_retry: Callable[[int, errors.AgentError], None] | None = None
    """Is told, before each wait, which time it will be (1 is the first) and why."""
    after_tools: bool = False
    """Whether it is asked again also when the agent had used tools: it may do the same things twice."""

    def covers(self, error: errors.AgentError, *, has_used_tools: bool) -> bool:
        """Whether it may be asked again after an error."""
        if has_used_tools and not self.after_tools:
            return False
        # The latter when it starts, or starts anew; what it speaks, it will speak the next time as well.
        is_another_version = isinstance(error, errors.VersionMismatch)
        return is_transient(error) or (isinstance(error, errors.AgentInitFailed) and not is_another_version)

    def wait(self, attempt: int) -> float:
        """How long to wait before asking again."""
        return self.waits[min(attempt, len(self.waits)) - 1] if self.waits else 0.0


class Why(StrEnum):
    """Why an agent was started anew."""

    GONE = "gone"
    TURN_LIMIT = "turn-limit"


@dataclass(frozen=True, slots=True)
class Renewed:
    """The agent of a session was started anew."""

    why: Why
    way: OpenWay
    """Whether it was resumed or loaded, and the agent knows what was said before; or made anew."""
    session_id: str
    """The session's id from now on: another one, unless it was resumed or loaded."""


def read_retries(told: Retries | int | None) -> Retries | None:
    """The retries that are meant; `None` for none."""
    retries = Retries(told) if isinstance(told, int) else told
    return retries if retries is not None and retries.limit > 0 else None


async def persistently(
    once: Callable[[], Awaitable[T]],
    retries: Retries | None,
    *,
    may_go_on: Callable[[], bool] = lambda: True,
    has_used_tools: Callable[[], bool] = lambda: False,
    closed: asyncio.Event | None = None,
    agent: str,
) -> T:
    """Do it until it works, or no longer. Cancelling it, and `closed`, also end the waiting.

    Raises:
        AttemptsExhausted: It did not work so often.
        AgentError: An error after which it is not asked again.
    """
    failures: list[errors.AgentError] = []
    while True:
        try:
            return await once()
        except errors.AgentError as error:
            is_covered = retries is not None and retries.covers(error, has_used_tools=has_used_tools())
            if retries is None or not is_covered or not may_go_on():
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
