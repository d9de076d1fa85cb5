"""All errors that a person or a program can get. `SeraiError` is the base class.

`code` is stable: programs may depend on it. The message says what has happened; `remedy` says what to do.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from enum import StrEnum
from typing import Any, ClassVar


@dataclass(eq=False, repr=False)
class SeraiError(Exception):
    """The base class of all errors that Serai raises on purpose.

    Args:
        message: A sentence without a full stop at its end.
        remedy: Advice for the person, in the same form.
    """

    code: ClassVar[str] = "error"

    message: str
    _: KW_ONLY
    remedy: str | None = None

    def __init_subclass__(cls, *, code: str | None = None) -> None:
        """Set the code of a class: `class Mismatch(SeraiError, code="mismatch")`."""
        cls.code = code or cls.code

    def __str__(self) -> str:
        return f"{self.message}. {self.remedy}" if self.remedy else self.message

    def to_wire(self) -> dict[str, Any]:
        """Return the error as JSON: `code`, `message`, and the other fields that have a value."""
        wire: dict[str, Any] = {"code": self.code}
        for name in (each.name for each in fields(self)):
            value = getattr(self, name)
            if value not in (None, "", ()) and value is not False:
                first, *words = name.split("_")
                key = "".join((first, *map(str.title, words)))
                wire[key] = [*value] if value.__class__ is tuple else value
        return wire


class Mismatch(SeraiError, code="mismatch"):
    """A value does not fit its type; `field` names the place: `turns[0].id`."""

    def __init__(self, problem: str, *, field: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.problem = problem
        self.field = field


class ProtocolError(SeraiError, code="protocol_error"):
    """A JSON-RPC error: raised where it is found, and sent as the answer to the request.

    Args:
        message: The message of the error.
        id: The id of the request that it answers; `None` when no id could be read.
        data: The `data` of the error.
        number: The error's code on the wire; a subclass has its own.
    """

    number: int = -32603

    def __init__(
        self,
        message: str,
        *,
        id: float | str | None = None,  # noqa: A002 - it is the wire's own name
        data: Any = None,
        number: int | None = None,
    ) -> None:
        super().__init__(message)
        self.id = id
        self.data = data
        if number is not None:
            self.number = number


class ParseError(ProtocolError, code="parse_error"):
    """The frame is not JSON, is not UTF-8, or is nested too deeply."""

    number = -32700


class InvalidRequest(ProtocolError, code="invalid_request"):
    """The frame is JSON, but not a JSON-RPC request, response or notification."""

    number = -32600


class MethodNotFound(ProtocolError, code="method_not_found"):
    """There is no command with that name."""

    number = -32601


class InvalidParams(ProtocolError, code="invalid_params"):
    """The parameters do not fit the command; `field` names the place, such as `params.channel`."""

    number = -32602

    def __init__(self, message: str, *, field: str, id: float | str | None = None) -> None:  # noqa: A002 - the same
        super().__init__(message, id=id, data={"field": field})
        self.field = field


class AccessRefused(SeraiError, code="access_refused"):
    """The host refuses this client: its token, client id or version is wrong."""


class CapabilityUnsupported(SeraiError, code="capability_unsupported"):
    """A request needs a capability that the session has not declared. Nothing was sent.

    Args:
        capability: The checked capability, such as `delivery.modes`.
        requested: The requested value.
        available: The declared values of that capability.
        agent: The agent of the session, when it is known.
        remedy: Advice for the person; by default, the declared values.
    """

    def __init__(
        self,
        capability: str,
        requested: str,
        available: tuple[str, ...] = (),
        *,
        agent: str | None = None,
        remedy: str | None = None,
    ) -> None:
        owner = f"the session of {agent}" if agent else "the session"
        super().__init__(
            f"{owner} does not support {requested!r} ({capability})",
            remedy=remedy or f"It declares: {', '.join(available) or 'nothing'}",
        )
        self.capability = capability
        self.requested = requested
        self.available = available
        self.agent = agent

    def to_wire(self) -> dict[str, Any]:
        """Return the error as JSON in the form of the relay's specification, without a message."""
        names = ("code", "capability", "requested", "available", "agent")
        wire = {name: value for name in names if (value := getattr(self, name)) is not None}
        return wire | {"available": list(self.available)}


class ConnectionLost(SeraiError, code="connection_lost"):
    """The host cannot be reached, or the connection has ended. Pending requests may have taken effect."""


class Rejected(SeraiError, code="rejected"):
    """The host has rejected an action. `reason` has the form `code: explanation`."""

    def __init__(self, reason: str, *, remedy: str | None = None) -> None:
        super().__init__(f"the host refused this: {reason}", remedy=remedy)
        self.reason = reason


class SessionFailed(SeraiError, code="session_failed"):
    """A session could not be created, since its agent did not start. `error_type` is the host's code."""

    def __init__(self, message: str, *, error_type: str) -> None:
        super().__init__(f"the session could not be created: {message}")
        self.error_type = error_type


class SessionGone(SeraiError, code="session_gone"):
    """A session no longer exists, or this client has ended its subscription."""


@dataclass(eq=False, repr=False, kw_only=True)
class AgentError(SeraiError, code="agent_error"):
    """An ACP agent has failed.

    Args:
        message: The message of the error.
        agent: The name of the agent.
        number: The number of the agent's JSON-RPC error, if there is one.
        data: The `data` of that error.
        remedy: Advice for the person.
    """

    agent: str | None = None
    number: int | None = None
    data: Any = None


@dataclass(eq=False, repr=False, kw_only=True)
class AgentClosed(AgentError, code="connection_closed"):
    """An agent's process has ended, or it has closed its output. Pending requests may have taken effect.

    `exit_code` or `signal` is set if the process has ended; `stderr_tail` is the redacted end of its log.
    """

    exit_code: int | None = None
    signal: int | None = None
    stderr_tail: str = ""


@dataclass(eq=False, repr=False, kw_only=True)
class AgentInactive(AgentError, code="inactivity_timeout"):
    """An agent has sent nothing for `elapsed` seconds."""

    elapsed: float


class AgentInitFailed(AgentError, code="init_failed"):
    """An agent could not be initialised. Its process was ended."""


@dataclass(eq=False, repr=False, kw_only=True)
class AgentInitTimedOut(AgentInitFailed, code="init_timeout"):
    """An agent did not answer `initialize` in `timeout` seconds. Its process was ended."""

    timeout: float | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class VersionMismatch(AgentInitFailed, code="protocol_mismatch"):
    """An agent speaks `agent_version` of ACP, and not `client_version`. Its process was ended."""

    client_version: int
    agent_version: Any


@dataclass(eq=False, repr=False, kw_only=True)
class AgentNotInstalled(AgentError, code="agent_not_installed"):
    """The program of an agent is not installed. `install` is the command to install it, if it is known."""

    install: str | None = None


class AgentNotStarted(AgentError, code="spawn_failed"):
    """The program of an agent could not be started."""


class AgentOverloaded(AgentError, code="overloaded"):
    """A service that an agent uses is overloaded; a later attempt may succeed."""


class AgentRequestFailed(AgentError, code="stream_error"):
    """An agent has answered a request with an error."""


class SessionCreateFailed(AgentRequestFailed, code="session_create_failed"):
    """An agent could not create a session."""


class SessionLoadFailed(AgentRequestFailed, code="session_load_failed"):
    """An agent could not load, resume or fork an earlier session."""


@dataclass(eq=False, repr=False, kw_only=True)
class AuthRequired(AgentError, code="auth_required"):
    """A person has to sign in to an agent first.

    `methods` are the ways that the agent offers, as received; `login_command` is the command to run in a
    terminal, if there is one.
    """

    methods: tuple[dict[str, Any], ...] = ()
    login_command: tuple[str, ...] = ()


class CancelIgnored(AgentError, code="cancel_ignored"):
    """An agent did not stop after a cancel. Its process was ended."""


@dataclass(eq=False, repr=False, kw_only=True)
class CapabilityNotSupportedError(AgentError, code="capability_not_supported"):
    """An agent does not support a request. Nothing was sent.

    Args:
        capability: The missing capability, such as `loadSession` or `sessionCapabilities.list`.
        agent: The name of the agent.
        remedy: Advice for the person.
    """

    capability: str

    def __init__(self, capability: str, *, agent: str | None = None, remedy: str | None = None) -> None:
        owner = f"the agent {agent!r}" if agent else "the agent"
        super().__init__(f"{owner} does not support {capability}", agent=agent, remedy=remedy)
        self.capability = capability


class ContextTooLong(AgentError, code="context_length"):
    """The conversation is too long for an agent's model."""


@dataclass(eq=False, repr=False, kw_only=True)
class JsonInvalid(AgentError, code="json_validation"):
    """An agent's answer is not the requested JSON, even after a second attempt.

    Args:
        message: The message of the error.
        agent: The name of the agent.
        text: The answer.
        issues: The problems of the answer, as short sentences.
    """

    text: str
    issues: tuple[str, ...]


class LineTooLong(AgentError, code="line_too_long"):
    """An agent has written a line that is too long. Its process was ended."""


class PermissionTimedOut(AgentError, code="permission_timeout"):
    """Nobody has answered an agent's permission request in time. Its turn was cancelled."""


class PromptInvalid(AgentError, code="invalid_prompt_content"):
    """A prompt has no content that the agent accepts. Nothing was sent."""


class PromptUnderWay(AgentError, code="prompt_under_way"):
    """An agent's session is busy with another prompt. Nothing was sent."""


class RateLimited(AgentError, code="rate_limit"):
    """An agent has sent too many requests to its model; a later attempt may succeed."""


class UsageLimitReached(AgentError, code="usage_limit"):
    """The account that an agent uses has reached its limit."""


class AgentUnknown(SeraiError, code="agent_unknown"):
    """There is no agent with that name. The remedy lists the existing ones."""


@dataclass(eq=False, repr=False, kw_only=True)
class AttemptsExhausted(SeraiError, code="retry_exhausted"):
    """Several agents were asked, or one several times, without a valid answer.

    Args:
        message: The message of the error.
        errors: The errors of the failed agents, in their order, with their names. Other answers were refused.
    """

    errors: tuple[tuple[str, SeraiError], ...]

    def to_wire(self) -> dict[str, Any]:
        """Return the error as JSON, with the errors of all failed agents."""
        failed = [{"agent": agent, "error": error.to_wire()} for agent, error in self.errors]
        return super().to_wire() | {"errors": failed}


@dataclass(eq=False, repr=False, kw_only=True)
class BudgetExceeded(SeraiError, code="budget_exceeded"):
    """The budget, in US dollars, is used up. Nothing was sent, or the turn was cancelled.

    `result` is the result of the turn so far; `None` when nothing was sent.
    """

    spent_usd: float
    budget_usd: float

    def __init__(self, *, spent_usd: float, budget_usd: float) -> None:
        super().__init__(f"{spent_usd:.4f} USD were spent, and {budget_usd:.4f} USD may be")
        self.spent_usd = spent_usd
        self.budget_usd = budget_usd
        self.result: Any = None


class ConfigInvalid(SeraiError, code="config_invalid"):
    """A setting has an invalid value. The message names the setting and its source."""


class DiscardBusy(SeraiError, code="discard_busy"):
    """Another discard, or its undo, is running."""


class DiscardUnknown(SeraiError, code="discard_unknown"):
    """There is no discard with that name to undo."""


class DocumentInvalid(SeraiError, code="document_invalid"):
    """An agent file or a workflow file is unreadable or invalid; `line` counts from 1."""

    def __init__(self, problem: str, *, file: str, line: int) -> None:
        # Control characters are escaped for the terminal: the file may be a stranger's.
        problem = "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in problem[:400])
        super().__init__(f"{file}:{line}: {problem}")
        self.problem = problem
        self.file = file
        self.line = line


class FileUnreadable(SeraiError, code="file_unreadable"):
    """A file cannot be read."""


class FolderMoved(SeraiError, code="folder_moved"):
    """The folder of a session was replaced, or belongs to another repository now."""


class FolderTooLarge(SeraiError, code="folder_too_large"):
    """A folder has too many files to record its changes."""


@dataclass(eq=False, repr=False, kw_only=True)
class GitFailed(SeraiError, code="git_failed"):
    """A git command has failed. `words` is the output of git, if any."""

    words: str = ""


class GitTimedOut(GitFailed, code="git_timed_out"):
    """A git command has timed out and was ended."""


class GitUnavailable(SeraiError, code="git_unavailable"):
    """No usable git is installed."""


class FailureKind(StrEnum):
    """The reason why a model gave no answer."""

    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    TIMEOUT = "timeout"
    TRANSPORT = "transport"
    """The connection broke or was not made, or a stream was incomplete."""
    AUTHENTICATION = "authentication"
    REFUSED = "refused"
    """The server refuses the request: it is invalid, or the model is unknown."""

    @property
    def may_pass(self) -> bool:
        """True when another model, or a later attempt, may succeed."""
        return self not in {FailureKind.AUTHENTICATION, FailureKind.REFUSED}


@dataclass(eq=False, repr=False, kw_only=True)
class ModelFailure(SeraiError, code="model_failure"):
    """A model gave no answer, or an incomplete one.

    Args:
        message: The message, for people.
        failure: The reason.
        has_begun: Whether a part of an answer had arrived.
        retry_after: Seconds after which the server accepts another request, if it says so.
        remedy: Advice for the person.
    """

    failure: FailureKind
    has_begun: bool = False
    retry_after: float | None = None


class ProcessNotStarted(SeraiError, code="process_not_started"):
    """A process could not be started."""


class Fenced(SeraiError, code="fenced"):
    """Another host has taken over a session. This host's write was refused."""


class StorageUnavailable(SeraiError, code="storage_unavailable"):
    """Nothing was written; a later attempt may succeed. For instance, the disk is full."""


class StorageFailed(SeraiError, code="storage_failed"):
    """It is not known what was written. The host stops, and recovers from the journal at its next start."""


class StorageUnreadable(SeraiError, code="storage_unreadable"):
    """The database cannot be opened. Nothing was changed. The message names the file."""


class DatabaseCorrupt(StorageUnreadable, code="database_corrupt"):
    """The database's content is damaged."""


class DatabaseLocked(StorageUnreadable, code="database_locked"):
    """Another host holds the database. The message names it."""


class SchemaNewer(StorageUnreadable, code="schema_newer"):
    """The database was written by a newer Serai."""


class WrongKey(StorageUnreadable, code="wrong_key"):
    """The key does not open the database, or the file is not a database of Serai."""


# -- the relay ---------------------------------------------------------------------------------------------


class RelayError(SeraiError, code="relay_error"):
    """The relay has refused a call."""


class ActionNotFound(RelayError, code="not_found"):
    """There is no action with that name."""


class DeadlineExceeded(RelayError, code="deadline_exceeded"):
    """The deadline of a message has passed before it was sent."""


class DeliveryFinal(RelayError, code="delivery_final"):
    """A delivery has its final receipt already, and cannot change any more."""


class EmptyMessage(RelayError, code="empty_message"):
    """A message has neither text nor an attachment."""


class Forbidden(RelayError, code="forbidden"):
    """The caller may not do this."""


class LinkSpent(RelayError, code="link_spent"):
    """A one-time link has expired or was used."""


class IdempotencyConflict(RelayError, code="idempotency_conflict"):
    """The sender has used this idempotency key for another message."""


class LeaseLost(RelayError, code="lease_lost"):
    """The lease of a delivery has expired, since no receipt came in time. It was offered again."""


class MessageTooLarge(RelayError, code="message_too_large"):
    """A message is larger than the relay accepts."""


class NameTaken(RelayError, code="name_taken"):
    """The name is in use, without regard to upper and lower case."""


class Offline(RelayError, code="offline"):
    """An external session is not connected, so that it cannot be asked."""


class RoomArchived(RelayError, code="room_archived"):
    """A room is archived: its messages can be read, but none can be added."""


class UnknownDelivery(RelayError, code="unknown_delivery"):
    """There is no such delivery, or the caller may not see it."""


class UnknownMessage(RelayError, code="unknown_message"):
    """There is no such message, or the caller may not see it."""


class UnknownMode(RelayError, code="unknown_mode"):
    """There is no such delivery mode."""


class UnknownRoom(RelayError, code="unknown_room"):
    """There is no such room."""


class UnknownTarget(RelayError, code="unknown_target"):
    """No participant has this name."""


class TurnStopped(SeraiError, code="turn_stopped"):
    """A turn of a model session ends with an error. Its code is set for each error, such as `turn_limit`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code  # pyright: ignore[reportAttributeAccessIssue] - each has its own


class ToolError(SeraiError, code="tool_failed"):
    """A tool of a model session has failed. The model gets the message, and the turn continues."""


class AddressRefused(ToolError, code="address_refused"):
    """An address belongs to this machine or a private network, and the agent's file does not allow it."""


class CommandRefused(ToolError, code="command_refused"):
    """A command is not on the allowlist, or its program is not in a directory of programs."""
