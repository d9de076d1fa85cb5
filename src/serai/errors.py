"""Every error that a person or a program can meet, in one tree: `SeraiError` is its root.

`code` is stable: programs may depend on it. The message says what happened; `remedy` says what to do.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from enum import StrEnum
from typing import Any, ClassVar


@dataclass(eq=False, repr=False)
class SeraiError(Exception):
    """The root of the tree. Catch it to catch all that Serai raises on purpose.

    Args:
        message: What happened, as a sentence without a full stop at its end.
        remedy: What the person can do about it, in the same form.
    """

    code: ClassVar[str] = "error"

    message: str
    _: KW_ONLY
    remedy: str | None = None

    def __init_subclass__(cls, *, code: str | None = None) -> None:
        """Each class has a code of its own: `class Mismatch(SeraiError, code="mismatch")`."""
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
    """A value does not have the shape that its type asks for; `field` names the place: `turns[0].id`."""

    def __init__(self, problem: str, *, field: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.problem = problem
        self.field = field


class ProtocolError(SeraiError, code="protocol_error"):
    """A JSON-RPC error, raised where it is found and answered where the request came from.

    Args:
        message: What happened.
        id: The id of the request that it answers; `None` when no id could be read.
        data: What goes into the error's `data`.
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
    """The frame is not JSON, is not UTF-8, or is nested deeper than the codec reads."""

    number = -32700


class InvalidRequest(ProtocolError, code="invalid_request"):
    """The frame is JSON, but not a JSON-RPC request, response or notification."""

    number = -32600


class MethodNotFound(ProtocolError, code="method_not_found"):
    """There is no command of that name."""

    number = -32601


class InvalidParams(ProtocolError, code="invalid_params"):
    """The parameters do not fit the command; `field` names the place, such as `params.channel`."""

    number = -32602

    def __init__(self, message: str, *, field: str, id: float | str | None = None) -> None:  # noqa: A002 - the same
        super().__init__(message, id=id, data={"field": field})
        self.field = field


class AccessRefused(SeraiError, code="access_refused"):
    """The host does not let this client in: the token, the client id or the version is not right."""


class CapabilityUnsupported(SeraiError, code="capability_unsupported"):
    """A session was asked for something that it did not declare. Nothing was sent.

    Args:
        capability: Which capability was looked at, such as `delivery.modes`.
        requested: What was asked for.
        available: What the session does declare there.
        agent: Whose session it is, when that is known.
        remedy: What to do about it; by default, what the session declares.
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
        """The shape that the relay's documentation gives: no sentence, all data."""
        wire: dict[str, Any] = {
            "code": self.code,
            "capability": self.capability,
            "requested": self.requested,
            "available": list(self.available),
        }
        if self.agent is not None:
            wire["agent"] = self.agent
        return wire


class ConnectionLost(SeraiError, code="connection_lost"):
    """The host cannot be reached, or the connection ended. What was under way may have happened or not."""


class Rejected(SeraiError, code="rejected"):
    """The host refused an action. `reason` is what it said: `code: what is the matter`."""

    def __init__(self, reason: str, *, remedy: str | None = None) -> None:
        super().__init__(f"the host refused this: {reason}", remedy=remedy)
        self.reason = reason


class SessionFailed(SeraiError, code="session_failed"):
    """A session could not be created: its agent did not start. `error_type` is the host's word for it."""

    def __init__(self, message: str, *, error_type: str) -> None:
        super().__init__(f"the session could not be created: {message}")
        self.error_type = error_type


class SessionGone(SeraiError, code="session_gone"):
    """A session is no longer there: someone disposed of it, or this client stopped following it."""


@dataclass(eq=False, repr=False, kw_only=True)
class AgentError(SeraiError, code="agent_error"):
    """An agent that is driven over ACP has failed.

    Args:
        message: What happened.
        agent: Which agent it was, by its name.
        number: The number of the JSON-RPC error that it answered, if it did.
        data: What that error had as `data`.
        remedy: What the person can do about it.
    """

    agent: str | None = None
    number: int | None = None
    data: Any = None


@dataclass(eq=False, repr=False, kw_only=True)
class AgentClosed(AgentError, code="connection_closed"):
    """An agent's process has ended, or it has closed its output. What was under way may have happened or not.

    `exit_code` and `signal` say how it ended, if it has; `stderr_tail` is what it wrote last, redacted.
    """

    exit_code: int | None = None
    signal: int | None = None
    stderr_tail: str = ""


@dataclass(eq=False, repr=False, kw_only=True)
class AgentInactive(AgentError, code="inactivity_timeout"):
    """Nothing was heard of an agent for too long: `elapsed` seconds."""

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
    """The program of an agent is not there. `install` is the command to install it, where that is known."""

    install: str | None = None


class AgentNotStarted(AgentError, code="spawn_failed"):
    """The program of an agent is there, but could not be started."""


class AgentOverloaded(AgentError, code="overloaded"):
    """What an agent works with is too busy; it may work later."""


class AgentRequestFailed(AgentError, code="stream_error"):
    """An agent answered a request with an error."""


class SessionCreateFailed(AgentRequestFailed, code="session_create_failed"):
    """An agent could not make a session."""


class SessionLoadFailed(AgentRequestFailed, code="session_load_failed"):
    """An agent could not load, resume or fork an earlier session."""


@dataclass(eq=False, repr=False, kw_only=True)
class AuthRequired(AgentError, code="auth_required"):
    """A person has to sign in to an agent first.

    `methods` are the ways that the agent offers, as it told them; `login_command` is what to run in a
    terminal, where there is such a command.
    """

    methods: tuple[dict[str, Any], ...] = ()
    login_command: tuple[str, ...] = ()


class CancelIgnored(AgentError, code="cancel_ignored"):
    """An agent did not stop when it was told to. Its process was ended."""


@dataclass(eq=False, repr=False, kw_only=True)
class CapabilityNotSupportedError(AgentError, code="capability_not_supported"):
    """An agent does not offer what was asked for. Nothing was sent.

    Args:
        capability: What was looked at in its handshake, such as `loadSession` or `sessionCapabilities.list`.
        agent: Which agent it is, by its name.
        remedy: What the person can do about it.
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
    """An agent's answer is not the JSON that was asked for, also not after it was told so.

    Args:
        message: What happened.
        agent: Which agent it was, by its name.
        text: What it answered.
        issues: What is wrong with it, as short sentences.
    """

    text: str
    issues: tuple[str, ...]


class LineTooLong(AgentError, code="line_too_long"):
    """An agent wrote a line that is too long to be read. Its process was ended."""


class PermissionTimedOut(AgentError, code="permission_timeout"):
    """Nobody answered in time what an agent asked permission for. Its turn was cancelled."""


class PromptInvalid(AgentError, code="invalid_prompt_content"):
    """Nothing of a prompt is left that the agent can take. Nothing was sent."""


class PromptUnderWay(AgentError, code="prompt_under_way"):
    """An agent's session has a prompt under way already. Nothing was sent."""


class RateLimited(AgentError, code="rate_limit"):
    """An agent sent too many requests to its model; it may work later."""


class UsageLimitReached(AgentError, code="usage_limit"):
    """The account that an agent uses has nothing left to spend."""


class AgentUnknown(SeraiError, code="agent_unknown"):
    """There is no agent of that name. The remedy lists those that there are."""


@dataclass(eq=False, repr=False, kw_only=True)
class AttemptsExhausted(SeraiError, code="retry_exhausted"):
    """Several agents were asked, or one several times, and there was no answer that counts.

    Args:
        message: What happened.
        errors: Why, by the names of those that failed, in their order. Others gave answers that were refused.
    """

    errors: tuple[tuple[str, SeraiError], ...]

    def to_wire(self) -> dict[str, Any]:
        """The error as JSON, with the errors of all who failed."""
        failed = [{"agent": agent, "error": error.to_wire()} for agent, error in self.errors]
        return super().to_wire() | {"errors": failed}


@dataclass(eq=False, repr=False, kw_only=True)
class BudgetExceeded(SeraiError, code="budget_exceeded"):
    """What may be spent has been spent, in US dollars. Nothing was sent, or the turn was cancelled.

    `result` is what the turn had brought until then; `None` when nothing was sent.
    """

    spent_usd: float
    budget_usd: float

    def __init__(self, *, spent_usd: float, budget_usd: float) -> None:
        super().__init__(f"{spent_usd:.4f} USD were spent, and {budget_usd:.4f} USD may be")
        self.spent_usd = spent_usd
        self.budget_usd = budget_usd
        self.result: Any = None


class ConfigInvalid(SeraiError, code="config_invalid"):
    """A setting has a value that it cannot have. The message names the setting and where it comes from."""


class DiscardBusy(SeraiError, code="discard_busy"):
    """A discard is under way, or is being undone."""


class DiscardUnknown(SeraiError, code="discard_unknown"):
    """There is no discard of that name that could be undone."""


class DocumentInvalid(SeraiError, code="document_invalid"):
    """An agent file or a workflow file cannot be read, or says what it cannot; `line` counts from 1."""

    def __init__(self, problem: str, *, file: str, line: int) -> None:
        # Signs that a terminal would obey stand as their names: the file may be a stranger's.
        problem = "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in problem[:400])
        super().__init__(f"{file}:{line}: {problem}")
        self.problem = problem
        self.file = file
        self.line = line


class FileUnreadable(SeraiError, code="file_unreadable"):
    """A file that was named cannot be read."""


class FolderMoved(SeraiError, code="folder_moved"):
    """The folder of a session is another one than it was, or is in another repository."""


class FolderTooLarge(SeraiError, code="folder_too_large"):
    """A folder has more files than its changes are recorded for."""


@dataclass(eq=False, repr=False, kw_only=True)
class GitFailed(SeraiError, code="git_failed"):
    """A git command did not do what it was asked. `words` is what git said, if anything."""

    words: str = ""


class GitTimedOut(GitFailed, code="git_timed_out"):
    """A git command took too long and was ended."""


class GitUnavailable(SeraiError, code="git_unavailable"):
    """There is no git that could be used."""


class FailureKind(StrEnum):
    """Why a model gave no answer."""

    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    TIMEOUT = "timeout"
    TRANSPORT = "transport"
    """The connection broke, or never came about; also a stream that ended before its end."""
    AUTHENTICATION = "authentication"
    REFUSED = "refused"
    """The server does not take the request: it is wrong for it, or the model is unknown there."""

    @property
    def may_pass(self) -> bool:
        """Whether another model, or another moment, may do."""
        return self not in {FailureKind.AUTHENTICATION, FailureKind.REFUSED}


@dataclass(eq=False, repr=False, kw_only=True)
class ModelFailure(SeraiError, code="model_failure"):
    """A model gave no answer, or not a whole one.

    Args:
        message: What happened, for people.
        failure: The reason.
        has_begun: Whether some of an answer had come.
        retry_after: Seconds after which the server wants to be asked again, where it says so.
        remedy: What to do about it.
    """

    failure: FailureKind
    has_begun: bool = False
    retry_after: float | None = None


class ProcessNotStarted(SeraiError, code="process_not_started"):
    """A process could not be started; nothing of it runs."""


class Fenced(SeraiError, code="fenced"):
    """Another host has taken over a session: what this one wanted to write was not written."""


class StorageUnavailable(SeraiError, code="storage_unavailable"):
    """Nothing was written, and it may work later: the disk is full, for instance."""


class StorageFailed(SeraiError, code="storage_failed"):
    """It is not known what was written. The host ends, and recovers from the journal when it starts."""


class StorageUnreadable(SeraiError, code="storage_unreadable"):
    """The database cannot be opened. The message names the file; nothing was changed."""


class DatabaseCorrupt(StorageUnreadable, code="database_corrupt"):
    """The database's content is damaged."""


class DatabaseLocked(StorageUnreadable, code="database_locked"):
    """Another host holds the database; the message says which."""


class SchemaNewer(StorageUnreadable, code="schema_newer"):
    """A newer Serai wrote the database."""


class WrongKey(StorageUnreadable, code="wrong_key"):
    """The key does not open the database, or the file is no database of ours."""


# -- the relay ---------------------------------------------------------------------------------------------


class RelayError(SeraiError, code="relay_error"):
    """The relay refused a call."""


class ActionNotFound(RelayError, code="not_found"):
    """Nobody has registered an action of that name."""


class DeadlineExceeded(RelayError, code="deadline_exceeded"):
    """The deadline of a message has passed before it was sent."""


class DeliveryFinal(RelayError, code="delivery_final"):
    """A delivery has its last receipt already, and nothing changes it any more."""


class EmptyMessage(RelayError, code="empty_message"):
    """A message has neither text nor an attachment."""


class Forbidden(RelayError, code="forbidden"):
    """Whoever calls may not do this."""


class LinkSpent(RelayError, code="link_spent"):
    """A one-time link opens nothing any more."""


class IdempotencyConflict(RelayError, code="idempotency_conflict"):
    """The sender has used this idempotency key for another message."""


class LeaseLost(RelayError, code="lease_lost"):
    """A delivery was offered to someone else, because no receipt came in time."""


class MessageTooLarge(RelayError, code="message_too_large"):
    """A message has more bytes than the relay takes."""


class NameTaken(RelayError, code="name_taken"):
    """Someone else has this name, without regard to upper and lower case."""


class Offline(RelayError, code="offline"):
    """A session elsewhere is not connected: nobody can be asked."""


class RoomArchived(RelayError, code="room_archived"):
    """A room is archived: what was said in it can be read, and nothing can be added."""


class UnknownDelivery(RelayError, code="unknown_delivery"):
    """There is no such delivery, or it is not for the eyes of whoever asks."""


class UnknownMessage(RelayError, code="unknown_message"):
    """There is no such message, or it is not for the eyes of whoever asks."""


class UnknownMode(RelayError, code="unknown_mode"):
    """There is no such delivery mode."""


class UnknownRoom(RelayError, code="unknown_room"):
    """There is no such room."""


class UnknownTarget(RelayError, code="unknown_target"):
    """Nobody has this name."""


class TurnStopped(SeraiError, code="turn_stopped"):
    """A turn of a model session ends with an error, whose code is this one's: `turn_limit`, say."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code  # pyright: ignore[reportAttributeAccessIssue] - each has its own


class ToolError(SeraiError, code="tool_failed"):
    """A tool of a model session cannot do what it was asked. The model is told, and the turn goes on."""


class AddressRefused(ToolError, code="address_refused"):
    """An address is this machine's, or of a private network, and the agent's file does not name it."""


class CommandRefused(ToolError, code="command_refused"):
    """A command is not on the allowlist, or the program that it names is not where programs are."""
