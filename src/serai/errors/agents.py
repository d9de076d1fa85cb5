"""What goes wrong with an agent that is driven over ACP, and with asking several."""

from __future__ import annotations

from typing import Any

from serai.errors.base import SeraiError

__all__ = [
    "AgentClosed",
    "AgentError",
    "AgentInactive",
    "AgentInitFailed",
    "AgentInitTimedOut",
    "AgentNotInstalled",
    "AgentNotStarted",
    "AgentOverloaded",
    "AgentRequestFailed",
    "AgentUnknown",
    "AttemptsExhausted",
    "AuthRequired",
    "BudgetExceeded",
    "CancelIgnored",
    "CapabilityNotSupportedError",
    "ContextTooLong",
    "JsonInvalid",
    "LineTooLong",
    "PermissionTimedOut",
    "PromptInvalid",
    "PromptUnderWay",
    "RateLimited",
    "SessionCreateFailed",
    "SessionLoadFailed",
    "UsageLimitReached",
    "VersionMismatch",
]


class AgentError(SeraiError):
    """An agent that is driven over ACP has failed.

    Args:
        message: What happened.
        agent: Which agent it was, by its name.
        number: The number of the JSON-RPC error that it answered, if it did.
        data: What that error had as `data`.
        remedy: What the person can do about it.
    """

    code = "agent_error"

    def __init__(
        self,
        message: str,
        *,
        agent: str | None = None,
        number: int | None = None,
        data: Any = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.agent = agent
        self.number = number
        self.data = data

    def to_wire(self) -> dict[str, Any]:
        """The error as JSON, with the agent's name and its own error, where there is one."""
        more = {"agent": self.agent, "number": self.number, "data": self.data}
        return super().to_wire() | {name: value for name, value in more.items() if value is not None}


class AgentClosed(AgentError):
    """An agent's process has ended, or it has closed its output. What was under way may have happened or not.

    `exit_code` and `signal` say how it ended, if it has; `stderr_tail` is what it wrote last, redacted.
    """

    code = "connection_closed"

    def __init__(
        self,
        message: str,
        *,
        agent: str | None = None,
        exit_code: int | None = None,
        signal: int | None = None,
        stderr_tail: str = "",
        remedy: str | None = None,
    ) -> None:
        super().__init__(message, agent=agent, remedy=remedy)
        self.exit_code = exit_code
        self.signal = signal
        self.stderr_tail = stderr_tail

    def to_wire(self) -> dict[str, Any]:
        """The error as JSON, with how the process ended and what it wrote last."""
        more = {"exitCode": self.exit_code, "signal": self.signal, "stderrTail": self.stderr_tail or None}
        return super().to_wire() | {name: value for name, value in more.items() if value is not None}


class AgentInactive(AgentError):
    """Nothing was heard of an agent for too long: `elapsed` seconds."""

    code = "inactivity_timeout"

    def __init__(self, message: str, *, agent: str | None = None, elapsed: float) -> None:
        super().__init__(message, agent=agent)
        self.elapsed = elapsed


class AgentInitFailed(AgentError):
    """An agent could not be initialised. Its process was ended."""

    code = "init_failed"


class AgentInitTimedOut(AgentInitFailed):
    """An agent did not answer `initialize` in `timeout` seconds. Its process was ended."""

    code = "init_timeout"

    def __init__(
        self, message: str, *, agent: str | None = None, timeout: float | None = None, data: Any = None
    ) -> None:
        super().__init__(message, agent=agent, data=data)
        self.timeout = timeout


class VersionMismatch(AgentInitFailed):
    """An agent speaks `agent_version` of ACP, and not `client_version`. Its process was ended."""

    code = "protocol_mismatch"

    def __init__(self, message: str, *, agent: str | None, client_version: int, agent_version: Any) -> None:
        super().__init__(message, agent=agent)
        self.client_version = client_version
        self.agent_version = agent_version


class AgentNotInstalled(AgentError):
    """The program of an agent is not there. `install` is the command to install it, where that is known."""

    code = "agent_not_installed"

    def __init__(
        self,
        message: str,
        *,
        agent: str | None = None,
        install: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message, agent=agent, remedy=remedy)
        self.install = install


class AgentNotStarted(AgentError):
    """The program of an agent is there, but could not be started."""

    code = "spawn_failed"


class AgentOverloaded(AgentError):
    """What an agent works with is too busy; it may work later."""

    code = "overloaded"


class AgentRequestFailed(AgentError):
    """An agent answered a request with an error."""

    code = "stream_error"


class SessionCreateFailed(AgentRequestFailed):
    """An agent could not make a session."""

    code = "session_create_failed"


class SessionLoadFailed(AgentRequestFailed):
    """An agent could not load, resume or fork an earlier session."""

    code = "session_load_failed"


class AuthRequired(AgentError):
    """A person has to sign in to an agent first.

    `methods` are the ways that the agent offers, as it told them; `login_command` is what to run in a
    terminal, where there is such a command.
    """

    code = "auth_required"

    def __init__(
        self,
        message: str,
        *,
        agent: str | None = None,
        number: int | None = None,
        data: Any = None,
        methods: tuple[dict[str, Any], ...] = (),
        login_command: tuple[str, ...] = (),
        remedy: str | None = None,
    ) -> None:
        super().__init__(message, agent=agent, number=number, data=data, remedy=remedy)
        self.methods = methods
        self.login_command = login_command

    def to_wire(self) -> dict[str, Any]:
        """The error as JSON, with the ways to sign in."""
        more = {"methods": list(self.methods), "loginCommand": list(self.login_command)}
        return super().to_wire() | {name: value for name, value in more.items() if value}


class CancelIgnored(AgentError):
    """An agent did not stop when it was told to. Its process was ended."""

    code = "cancel_ignored"


class CapabilityNotSupportedError(AgentError):
    """An agent does not offer what was asked for. Nothing was sent.

    Args:
        capability: What was looked at in its handshake, such as `loadSession` or `sessionCapabilities.list`.
        agent: Which agent it is, by its name.
        remedy: What the person can do about it.
    """

    code = "capability_not_supported"

    def __init__(self, capability: str, *, agent: str | None = None, remedy: str | None = None) -> None:
        owner = f"the agent {agent!r}" if agent else "the agent"
        super().__init__(f"{owner} does not support {capability}", agent=agent, remedy=remedy)
        self.capability = capability

    def to_wire(self) -> dict[str, Any]:
        """The error as JSON, with the name of the capability."""
        return super().to_wire() | {"capability": self.capability}


class ContextTooLong(AgentError):
    """The conversation is too long for an agent's model."""

    code = "context_length"


class JsonInvalid(AgentError):
    """An agent's answer is not the JSON that was asked for, also not after it was told so.

    Args:
        message: What happened.
        agent: Which agent it was, by its name.
        text: What it answered.
        issues: What is wrong with it, as short sentences.
    """

    code = "json_validation"

    def __init__(self, message: str, *, agent: str | None, text: str, issues: tuple[str, ...]) -> None:
        super().__init__(message, agent=agent)
        self.text = text
        self.issues = issues

    def to_wire(self) -> dict[str, Any]:
        """The error as JSON, with what is wrong; the answer itself may be long and is left out."""
        return super().to_wire() | {"issues": list(self.issues)}


class LineTooLong(AgentError):
    """An agent wrote a line that is too long to be read. Its process was ended."""

    code = "line_too_long"


class PermissionTimedOut(AgentError):
    """Nobody answered in time what an agent asked permission for. Its turn was cancelled."""

    code = "permission_timeout"


class PromptInvalid(AgentError):
    """Nothing of a prompt is left that the agent can take. Nothing was sent."""

    code = "invalid_prompt_content"


class PromptUnderWay(AgentError):
    """An agent's session has a prompt under way already. Nothing was sent."""

    code = "prompt_under_way"


class RateLimited(AgentError):
    """An agent sent too many requests to its model; it may work later."""

    code = "rate_limit"


class UsageLimitReached(AgentError):
    """The account that an agent uses has nothing left to spend."""

    code = "usage_limit"


class AgentUnknown(SeraiError):
    """There is no agent of that name. The remedy lists those that there are."""

    code = "agent_unknown"


class AttemptsExhausted(SeraiError):
    """Several agents were asked, or one several times, and there was no answer that counts.

    Args:
        message: What happened.
        errors: Why, by the names of those that failed, in their order. Others gave answers that were refused.
    """

    code = "retry_exhausted"

    def __init__(self, message: str, *, errors: tuple[tuple[str, SeraiError], ...]) -> None:
        super().__init__(message)
        self.errors = errors

    def to_wire(self) -> dict[str, Any]:
        """The error as JSON, with the errors of all who failed."""
        failed = [{"agent": agent, "error": error.to_wire()} for agent, error in self.errors]
        return super().to_wire() | {"errors": failed}


class BudgetExceeded(SeraiError):
    """What may be spent has been spent, in US dollars. Nothing was sent, or the turn was cancelled.

    `result` is what the turn had brought until then; `None` when nothing was sent.
    """

    code = "budget_exceeded"

    def __init__(self, *, spent_usd: float, budget_usd: float) -> None:
        super().__init__(f"{spent_usd:.4f} USD were spent, and {budget_usd:.4f} USD may be")
        self.spent_usd = spent_usd
        self.budget_usd = budget_usd
        self.result: Any = None

    def to_wire(self) -> dict[str, Any]:
        """The error as JSON, with both sums."""
        return super().to_wire() | {"spentUsd": self.spent_usd, "budgetUsd": self.budget_usd}
