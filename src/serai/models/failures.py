"""Serai's errors as those that users of pydantic-ai catch, and that its fallback models fall over on."""

from __future__ import annotations

from pydantic_ai.exceptions import (
    AgentRunError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
    ModelTimeoutError,
    UsageLimitExceeded,
    UserError,
)

from serai.errors import (
    AgentClosed,
    AgentInactive,
    AgentInitFailed,
    AgentInitTimedOut,
    AgentNotInstalled,
    AgentNotStarted,
    AgentOverloaded,
    AgentRequestFailed,
    AgentUnknown,
    AuthRequired,
    BudgetExceeded,
    CapabilityNotSupportedError,
    ConfigInvalid,
    ContextTooLong,
    PromptInvalid,
    RateLimited,
    SeraiError,
    UsageLimitReached,
)

__all__ = ["failure_of"]

# The first that fits counts, so what is special stands before what is general.
_FAILURES: tuple[tuple[type[SeraiError], type[ModelAPIError]], ...] = (
    (AgentUnknown, ModelNotFoundError),
    (AgentNotInstalled, ModelNotFoundError),
    (AuthRequired, ModelAuthenticationError),
    (RateLimited, ModelRateLimitError),
    (UsageLimitReached, ModelQuotaExceededError),
    (AgentOverloaded, ModelOverloadedError),
    (ContextTooLong, ModelContextWindowExceededError),
    (AgentInitTimedOut, ModelTimeoutError),
    (AgentInactive, ModelTimeoutError),
    (AgentInitFailed, ModelConnectionError),
    (AgentNotStarted, ModelConnectionError),
    (AgentClosed, ModelConnectionError),
    (CapabilityNotSupportedError, ModelRequestRejectedError),
    (PromptInvalid, ModelRequestRejectedError),
    (AgentRequestFailed, ModelServerError),
)


def failure_of(error: SeraiError, model_name: str, *, in_stream: bool) -> AgentRunError | UserError:
    """What pydantic-ai calls an error of an agent. Raise it `from` the error.

    A budget that is spent is a limit of the person's own: no other model is tried then.

    Args:
        error: What happened.
        model_name: Which model it was.
        in_stream: Whether something of the answer had come before.
    """
    if isinstance(error, BudgetExceeded):
        return UsageLimitExceeded(str(error))
    if isinstance(error, ConfigInvalid):
        return UserError(str(error))
    kind = next((theirs for ours, theirs in _FAILURES if isinstance(error, ours)), ModelAPIError)
    return kind(
        model_name,
        str(error),
        body=error.to_wire(),
        provider_error_code=error.code,
        in_stream=in_stream,
    )
