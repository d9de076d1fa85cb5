"""Errors and limits of agents as pydantic-ai's exceptions and warnings."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from pydantic_ai import exceptions as theirs
from pydantic_ai.exceptions import AgentRunError, ModelAPIError, UserError
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from serai import errors as ours
from serai.errors import SeraiError
from serai.models.history import AgentPrompt

# The first match counts, so subclasses come first.
_FAILURES: tuple[tuple[type[SeraiError], type[ModelAPIError]], ...] = (
    (ours.AgentUnknown, theirs.ModelNotFoundError),
    (ours.AgentNotInstalled, theirs.ModelNotFoundError),
    (ours.AuthRequired, theirs.ModelAuthenticationError),
    (ours.RateLimited, theirs.ModelRateLimitError),
    (ours.UsageLimitReached, theirs.ModelQuotaExceededError),
    (ours.AgentOverloaded, theirs.ModelOverloadedError),
    (ours.ContextTooLong, theirs.ModelContextWindowExceededError),
    (ours.AgentInitTimedOut, theirs.ModelTimeoutError),
    (ours.AgentInactive, theirs.ModelTimeoutError),
    (ours.AgentInitFailed, theirs.ModelConnectionError),
    (ours.AgentNotStarted, theirs.ModelConnectionError),
    (ours.AgentClosed, theirs.ModelConnectionError),
    (ours.CapabilityNotSupportedError, theirs.ModelRequestRejectedError),
    (ours.PromptInvalid, theirs.ModelRequestRejectedError),
    (ours.AgentRequestFailed, theirs.ModelServerError),
)


def failure_of(error: SeraiError, model_name: str, *, in_stream: bool) -> AgentRunError | UserError:
    """Return pydantic-ai's exception for an error of an agent. Raise it `from` the error.

    A spent budget is the user's own limit: no other model is tried then.
    """
    if isinstance(error, ours.BudgetExceeded):
        return theirs.UsageLimitExceeded(str(error))
    if isinstance(error, ours.ConfigInvalid):
        return UserError(str(error))
    kind = next((kind for cause, kind in _FAILURES if isinstance(error, cause)), ModelAPIError)
    return kind(
        model_name, str(error), body=error.to_wire(), provider_error_code=error.code, in_stream=in_stream
    )


_KEPT_BY_PYDANTIC_AI = frozenset({"request_timeout", "first_event_timeout"})
"""Settings that pydantic-ai itself applies, for every model."""


class AgentModelWarning(UserWarning):
    """Part of a conversation or a prompt did not reach the agent as it was."""


def warn_of_settings(agent: str, settings: Mapping[str, object]) -> None:
    """Warn of the settings that an agent does not take: all but a few.

    Settings with the prefix of another provider are meant for that one, and are ignored silently.
    """
    names = [
        name
        for name, value in settings.items()
        if value is not None and name in ModelSettings.__annotations__ and name not in _KEPT_BY_PYDANTIC_AI
    ]
    if names:
        warnings.warn(
            f'Agent "{agent}" does not take these settings — ignored: {", ".join(names)}.',
            theirs.UnsupportedSettingWarning,
            stacklevel=2,
        )


def warn_of_history(agent: str, prompt: AgentPrompt) -> None:
    """Warn of answers and tool calls in a history that the session does not know."""
    if prompt.has_answers:
        warn(
            f'Agent "{agent}" does not know the earlier answers of the history — they are told in the prompt.'
            f" A model that is made of a session remembers them: AgentModel.of(session)."
        )
    if prompt.has_tool_turns:
        warn(f'Agent "{agent}" does not take the tool calls and results of this history — dropped.')


def refuse_tools(agent: str, parameters: ModelRequestParameters) -> None:
    """Refuse function tools: an answer without them would look as if all were well.

    Raises:
        UserError: There are some.
    """
    if parameters.function_tools:
        names = ", ".join(tool.name for tool in parameters.function_tools)
        raise UserError(
            f"The agent {agent!r} has tools of its own and cannot call these function tools: {names}. "
            f"Offer them by an MCP server: AgentModel({agent!r}, mcp_servers=[…])."
        )


def warn(message: str) -> None:
    """Warn of something that did not reach the agent, or the person, as it was."""
    warnings.warn(message, AgentModelWarning, stacklevel=3)
