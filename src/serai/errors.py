"""Every error that a person or a program can meet, in one tree.

    SeraiError
    ├── AccessRefused           access_refused            the host does not let this client in
    ├── AgentError              agent_error               an agent that is driven over ACP has failed
    │   ├── AgentClosed         connection_closed         its process, or its output, has ended
    │   ├── AgentInactive       inactivity_timeout        nothing was heard of it for too long
    │   ├── AgentInitFailed     init_failed               it could not be initialised
    │   │   ├── AgentInitTimedOut  init_timeout           it did not answer in time
    │   │   └── VersionMismatch  protocol_mismatch        it speaks another version of ACP
    │   ├── AgentNotInstalled   agent_not_installed       its program is not there
    │   ├── AgentNotStarted     spawn_failed              its program could not be started
    │   ├── AgentOverloaded     overloaded                what it works with is too busy
    │   ├── AgentRequestFailed  stream_error              it answered a request with an error
    │   │   ├── SessionCreateFailed  session_create_failed  it could not make a session
    │   │   └── SessionLoadFailed  session_load_failed    it could not open an earlier session
    │   ├── AuthRequired        auth_required             a person has to sign in first
    │   ├── CancelIgnored       cancel_ignored            it did not stop when it was told to
    │   ├── CapabilityNotSupportedError  capability_not_supported  it does not offer what was asked for
    │   ├── ContextTooLong      context_length            the conversation is too long for its model
    │   ├── JsonInvalid         json_validation           its answer is not the JSON that was asked for
    │   ├── LineTooLong         line_too_long             it wrote a line that is too long to be read
    │   ├── PermissionTimedOut  permission_timeout        nobody answered what it asked permission for
    │   ├── PromptInvalid       invalid_prompt_content    nothing of a prompt is left that it can take
    │   ├── PromptUnderWay      prompt_under_way          its session has a prompt under way already
    │   ├── RateLimited         rate_limit                it sent too many requests to its model
    │   └── UsageLimitReached   usage_limit               its account has nothing left to spend
    ├── AgentUnknown            agent_unknown             there is no agent of that name
    ├── AttemptsExhausted       retry_exhausted           several attempts brought no answer
    ├── BudgetExceeded          budget_exceeded           what may be spent has been spent
    ├── CapabilityUnsupported   capability_unsupported    a session was asked for what it did not declare
    ├── ConfigInvalid           config_invalid            a setting has a value that it cannot have
    ├── ConnectionLost          connection_lost           the host cannot be reached, or is gone
    ├── DiscardBusy             discard_busy              a discard is under way, or is being undone
    ├── DiscardUnknown          discard_unknown           there is no discard of that name
    ├── DocumentInvalid         document_invalid          an agent or workflow file says what it cannot
    ├── Fenced                  fenced                    another host has taken over a session
    ├── FileUnreadable          file_unreadable           a file that was named cannot be read
    ├── FolderMoved             folder_moved              the folder of a session is another one
    ├── FolderTooLarge          folder_too_large          it has more files than are recorded
    ├── GitFailed               git_failed                a git command did not do what it was asked
    │   └── GitTimedOut         git_timed_out             it took too long and was ended
    ├── GitUnavailable          git_unavailable           there is no git that could be used
    ├── IllegalTransition       illegal_transition        a state machine does not have that step
    ├── Mismatch                mismatch                  JSON, but not of the shape that was asked for
    ├── ModelFailure            model_failure             a model gave no answer
    ├── ProcessNotStarted       process_not_started       a process could not be started
    ├── ProtocolError           protocol_error            a JSON-RPC error, with its number
    │   ├── ParseError          parse_error               -32700  the frame is not JSON
    │   ├── InvalidRequest      invalid_request           -32600  JSON, but not a message
    │   ├── MethodNotFound      method_not_found          -32601  no such command
    │   └── InvalidParams       invalid_params            -32602  a field is missing or wrong
    ├── Rejected                rejected                  the host refused an action
    ├── RelayError              relay_error               the relay refused a call
    │   ├── ActionNotFound      not_found                 there is no such action
    │   ├── DeadlineExceeded    deadline_exceeded         its deadline has passed already
    │   ├── DeliveryFinal       delivery_final            a delivery has its last receipt already
    │   ├── EmptyMessage        empty_message             a message has neither text nor an attachment
    │   ├── Forbidden           forbidden                 whoever calls may not do this
    │   ├── IdempotencyConflict idempotency_conflict      the key stands for another message
    │   ├── LeaseLost           lease_lost                a delivery was offered to someone else
    │   ├── LinkSpent           link_spent                a one-time link opens nothing any more
    │   ├── MessageTooLarge     message_too_large         a message has too many bytes
    │   ├── NameTaken           name_taken                someone else has this name
    │   ├── Offline             offline                   a session elsewhere is not connected
    │   ├── RoomArchived        room_archived             nothing can be added to an archived room
    │   ├── UnknownDelivery     unknown_delivery          there is no such delivery
    │   ├── UnknownMessage      unknown_message           there is no such message
    │   ├── UnknownMode         unknown_mode              there is no such delivery mode
    │   ├── UnknownRoom         unknown_room              there is no such room
    │   └── UnknownTarget       unknown_target            nobody has this name
    ├── SessionFailed           session_failed            a session could not be created
    ├── SessionGone             session_gone              a session is no longer there
    ├── StorageFailed           storage_failed            it is not known what was written: start again
    ├── StorageUnavailable      storage_unavailable       nothing was written; it may work later
    ├── StorageUnreadable       storage_unreadable        the database cannot be opened
    │   ├── DatabaseCorrupt     database_corrupt          its content is damaged
    │   ├── DatabaseLocked      database_locked           another host holds it
    │   ├── SchemaNewer         schema_newer              a newer Serai wrote it
    │   └── WrongKey            wrong_key                 the key does not open it
    ├── ToolFailed              tool_failed               a tool of a model session cannot do it
    │   ├── AddressRefused      address_refused           an address is not on the public network
    │   └── CommandRefused      command_refused           a command is not on the allowlist
    └── TurnStopped             turn_stopped              a turn of a model ended, with a code of its own

`code` is stable: programs may depend on it. The message says what happened; `remedy` says what to do.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar


class SeraiError(Exception):
    """The root of the tree. Catch it to catch all that Serai raises on purpose.

    Args:
        message: What happened, as a sentence without a full stop at its end.
        remedy: What the person can do about it, in the same form.
    """

    code: ClassVar[str] = "error"
    told: ClassVar[tuple[str, ...]] = ()
    """Which of its attributes go into its JSON, too, where they have a value."""

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}. {self.remedy}" if self.remedy else self.message

    def to_wire(self) -> dict[str, Any]:
        """The error as JSON: `code` and `message`, and `remedy` and what else there is to tell."""
        wire: dict[str, Any] = {"code": self.code, "message": self.message}
        for name in ("remedy", *self.told):
            value = getattr(self, name)
            if value is not None and value not in ("", ()):
                first, *words = name.split("_")
                key = "".join((first, *map(str.title, words)))
                wire[key] = [*value] if value.__class__ is tuple else value
        return wire


class Mismatch(SeraiError):
    """A value does not have the shape that its type asks for; `field` names the place: `turns[0].id`."""

    code = "mismatch"

    def __init__(self, problem: str, *, field: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.problem = problem
        self.field = field


class ProtocolError(SeraiError):
    """A JSON-RPC error, raised where it is found and answered where the request came from.

    Args:
        message: What happened.
        id: The id of the request that it answers; `None` when no id could be read.
        data: What goes into the error's `data`.
        number: The error's code on the wire; a subclass has its own.
    """

    code = "protocol_error"
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


class ParseError(ProtocolError):
    """The frame is not JSON, is not UTF-8, or is nested deeper than the codec reads."""

    code = "parse_error"
    number = -32700


class InvalidRequest(ProtocolError):
    """The frame is JSON, but not a JSON-RPC request, response or notification."""

    code = "invalid_request"
    number = -32600


class MethodNotFound(ProtocolError):
    """There is no command of that name."""

    code = "method_not_found"
    number = -32601


class InvalidParams(ProtocolError):
    """The parameters do not fit the command; `field` names the place, such as `params.channel`."""

    code = "invalid_params"
    number = -32602

    def __init__(self, message: str, *, field: str, id: float | str | None = None) -> None:  # noqa: A002 - the same
        super().__init__(message, id=id, data={"field": field})
        self.field = field


class AccessRefused(SeraiError):
    """The host does not let this client in: the token, the client id or the version is not right."""

    code = "access_refused"


class CapabilityUnsupported(SeraiError):
    """A session was asked for something that it did not declare. Nothing was sent.

    Args:
        capability: Which capability was looked at, such as `delivery.modes`.
        requested: What was asked for.
        available: What the session does declare there.
        agent: Whose session it is, when that is known.
        remedy: What to do about it; by default, what the session declares.
    """

    code = "capability_unsupported"

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


class ConnectionLost(SeraiError):
    """The host cannot be reached, or the connection ended. What was under way may have happened or not."""

    code = "connection_lost"


class IllegalTransition(SeraiError):
    """A state machine was asked for a step that it does not have."""

    code = "illegal_transition"

    def __init__(self, machine: str, before: str, after: str) -> None:
        super().__init__(f"{machine} cannot go from {before!r} to {after!r}")
        self.before = before
        self.after = after


class Rejected(SeraiError):
    """The host refused an action. `reason` is what it said: `code: what is the matter`."""

    code = "rejected"

    def __init__(self, reason: str, *, remedy: str | None = None) -> None:
        super().__init__(f"the host refused this: {reason}", remedy=remedy)
        self.reason = reason


class SessionFailed(SeraiError):
    """A session could not be created: its agent did not start. `error_type` is the host's word for it."""

    code = "session_failed"

    def __init__(self, message: str, *, error_type: str) -> None:
        super().__init__(f"the session could not be created: {message}")
        self.error_type = error_type


class SessionGone(SeraiError):
    """A session is no longer there: someone disposed of it, or this client stopped following it."""

    code = "session_gone"


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
    told = ("agent", "number", "data")

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


class AgentClosed(AgentError):
    """An agent's process has ended, or it has closed its output. What was under way may have happened or not.

    `exit_code` and `signal` say how it ended, if it has; `stderr_tail` is what it wrote last, redacted.
    """

    code = "connection_closed"
    told = (*AgentError.told, "exit_code", "signal", "stderr_tail")

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
        self, message: str, *, agent: str | None = None, install: str | None = None, remedy: str | None = None
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
    told = (*AgentError.told, "methods", "login_command")

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
    told = (*AgentError.told, "capability")

    def __init__(self, capability: str, *, agent: str | None = None, remedy: str | None = None) -> None:
        owner = f"the agent {agent!r}" if agent else "the agent"
        super().__init__(f"{owner} does not support {capability}", agent=agent, remedy=remedy)
        self.capability = capability


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
    told = (*AgentError.told, "issues")

    def __init__(self, message: str, *, agent: str | None, text: str, issues: tuple[str, ...]) -> None:
        super().__init__(message, agent=agent)
        self.text = text
        self.issues = issues


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
    told = ("spent_usd", "budget_usd")

    def __init__(self, *, spent_usd: float, budget_usd: float) -> None:
        super().__init__(f"{spent_usd:.4f} USD were spent, and {budget_usd:.4f} USD may be")
        self.spent_usd = spent_usd
        self.budget_usd = budget_usd
        self.result: Any = None


class ConfigInvalid(SeraiError):
    """A setting has a value that it cannot have. The message names the setting and where it comes from."""

    code = "config_invalid"


class DiscardBusy(SeraiError):
    """A discard is under way, or is being undone."""

    code = "discard_busy"


class DiscardUnknown(SeraiError):
    """There is no discard of that name that could be undone."""

    code = "discard_unknown"


class DocumentInvalid(SeraiError):
    """An agent file or a workflow file cannot be read, or says what it cannot; `line` counts from 1."""

    code = "document_invalid"

    def __init__(self, problem: str, *, file: str, line: int) -> None:
        # Signs that a terminal would obey stand as their names: the file may be a stranger's.
        problem = "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in problem[:400])
        super().__init__(f"{file}:{line}: {problem}")
        self.problem = problem
        self.file = file
        self.line = line


class FileUnreadable(SeraiError):
    """A file that was named cannot be read."""

    code = "file_unreadable"


class FolderMoved(SeraiError):
    """The folder of a session is another one than it was, or is in another repository."""

    code = "folder_moved"


class FolderTooLarge(SeraiError):
    """A folder has more files than its changes are recorded for."""

    code = "folder_too_large"


class GitFailed(SeraiError):
    """A git command did not do what it was asked. `words` is what git said, if anything."""

    code = "git_failed"

    def __init__(self, message: str, *, words: str = "", remedy: str | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.words = words


class GitTimedOut(GitFailed):
    """A git command took too long and was ended."""

    code = "git_timed_out"


class GitUnavailable(SeraiError):
    """There is no git that could be used."""

    code = "git_unavailable"


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


class ModelFailure(SeraiError):
    """A model gave no answer, or not a whole one.

    Args:
        failure: Why.
        message: What happened, for people.
        has_begun: Whether some of an answer had come.
        retry_after: The seconds after which the server wants to be asked again, where it says so.
        remedy: What to do about it.
    """

    code = "model_failure"
    told = ("failure", "retry_after")

    def __init__(
        self,
        failure: FailureKind,
        message: str,
        *,
        has_begun: bool = False,
        retry_after: float | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.failure = failure
        self.has_begun = has_begun
        self.retry_after = retry_after


class ProcessNotStarted(SeraiError):
    """A process could not be started; nothing of it runs."""

    code = "process_not_started"


class Fenced(SeraiError):
    """Another host has taken over a session: what this one wanted to write was not written."""

    code = "fenced"


class StorageUnavailable(SeraiError):
    """Nothing was written, and it may work later: the disk is full, for instance."""

    code = "storage_unavailable"


class StorageFailed(SeraiError):
    """It is not known what was written. The host ends, and recovers from the journal when it starts."""

    code = "storage_failed"


class StorageUnreadable(SeraiError):
    """The database cannot be opened. The message names the file; nothing was changed."""

    code = "storage_unreadable"


class DatabaseCorrupt(StorageUnreadable):
    """The database's content is damaged."""

    code = "database_corrupt"


class DatabaseLocked(StorageUnreadable):
    """Another host holds the database; the message says which."""

    code = "database_locked"


class SchemaNewer(StorageUnreadable):
    """A newer Serai wrote the database."""

    code = "schema_newer"


class WrongKey(StorageUnreadable):
    """The key does not open the database, or the file is no database of ours."""

    code = "wrong_key"


# -- the relay ---------------------------------------------------------------------------------------------


class RelayError(SeraiError):
    """The relay refused a call."""

    code = "relay_error"


class ActionNotFound(RelayError):
    """Nobody has registered an action of that name."""

    code = "not_found"


class DeadlineExceeded(RelayError):
    """The deadline of a message has passed before it was sent."""

    code = "deadline_exceeded"


class DeliveryFinal(RelayError):
    """A delivery has its last receipt already, and nothing changes it any more."""

    code = "delivery_final"


class EmptyMessage(RelayError):
    """A message has neither text nor an attachment."""

    code = "empty_message"


class Forbidden(RelayError):
    """Whoever calls may not do this."""

    code = "forbidden"


class LinkSpent(RelayError):
    """A one-time link opens nothing any more."""

    code = "link_spent"


class IdempotencyConflict(RelayError):
    """The sender has used this idempotency key for another message."""

    code = "idempotency_conflict"


class LeaseLost(RelayError):
    """A delivery was offered to someone else, because no receipt came in time."""

    code = "lease_lost"


class MessageTooLarge(RelayError):
    """A message has more bytes than the relay takes."""

    code = "message_too_large"


class NameTaken(RelayError):
    """Someone else has this name, without regard to upper and lower case."""

    code = "name_taken"


class Offline(RelayError):
    """A session elsewhere is not connected: nobody can be asked."""

    code = "offline"


class RoomArchived(RelayError):
    """A room is archived: what was said in it can be read, and nothing can be added."""

    code = "room_archived"


class UnknownDelivery(RelayError):
    """There is no such delivery, or it is not for the eyes of whoever asks."""

    code = "unknown_delivery"


class UnknownMessage(RelayError):
    """There is no such message, or it is not for the eyes of whoever asks."""

    code = "unknown_message"


class UnknownMode(RelayError):
    """There is no such delivery mode."""

    code = "unknown_mode"


class UnknownRoom(RelayError):
    """There is no such room."""

    code = "unknown_room"


class UnknownTarget(RelayError):
    """Nobody has this name."""

    code = "unknown_target"


class TurnStopped(SeraiError):
    """A turn of a model session ends with an error, whose code is this one's: `turn_limit`, say."""

    code = "turn_stopped"

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code  # pyright: ignore[reportAttributeAccessIssue] - each has its own


class ToolFailed(SeraiError):
    """A tool of a model session cannot do what it was asked. The model is told, and the turn goes on."""

    code = "tool_failed"


class AddressRefused(ToolFailed):
    """An address is this machine's, or of a private network, and the agent's file does not name it."""

    code = "address_refused"


class CommandRefused(ToolFailed):
    """A command is not on the allowlist, or the program that it names is not where programs are."""

    code = "command_refused"
