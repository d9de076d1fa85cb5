"""Which errors may be gone a little later."""

from __future__ import annotations

import re

from serai.errors import (
    AgentClosed,
    AgentInitFailed,
    AgentNotInstalled,
    AgentNotStarted,
    AgentOverloaded,
    AgentRequestFailed,
    AttemptsExhausted,
    AuthRequired,
    RateLimited,
    SessionLoadFailed,
    UsageLimitReached,
)

__all__ = ["is_anothers_turn", "is_transient"]

_NETWORK = re.compile(
    r"\b(?:ECONNRESET|ECONNREFUSED|ECONNABORTED|ETIMEDOUT|EPIPE|EAI_AGAIN|ENETUNREACH)\b"
    r"|socket hang up|fetch failed|network (?:error|is unreachable)"
    r"|connection (?:reset|refused|aborted|error)|bad gateway|gateway time-?out|\b50[24]\b",
    re.IGNORECASE,
)
"""What agents say when they did not reach their model."""


def is_transient(error: BaseException) -> bool:
    """Whether the same may work a little later: the agent is gone, or what it works with is busy or away."""
    if isinstance(error, AgentClosed | AgentOverloaded | RateLimited):
        return True
    if isinstance(error, AgentRequestFailed) and not isinstance(error, SessionLoadFailed):
        return _NETWORK.search(f"{error.message} {error.data or ''}") is not None
    return False


def is_anothers_turn(error: BaseException) -> bool:
    """Whether another agent may do what this one cannot: it does not start, or has no access, or is busy."""
    if isinstance(error, AttemptsExhausted):
        return all(is_anothers_turn(each) for _, each in error.errors)
    reasons = AgentNotInstalled | AgentNotStarted | AgentInitFailed | AuthRequired | UsageLimitReached
    return isinstance(error, reasons) or is_transient(error)
