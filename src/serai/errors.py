"""Every error that a person or a program can meet, in one tree.

    SeraiError
    ├── AccessRefused           access_refused            the host does not let this client in
    ├── CapabilityUnsupported   capability_unsupported    a session was asked for what it did not declare
    ├── ConfigInvalid           config_invalid            a setting has a value that it cannot have
    ├── ConnectionLost          connection_lost           the host cannot be reached, or is gone
    ├── Fenced                  fenced                    another host has taken over a session
    ├── FileInTheWay            file_in_the_way           a file cannot be put back, or not be taken away
    │   └── FileTooLarge        file_too_large            it is larger than what is read of one
    ├── FileUnreadable          file_unreadable           a file that was named cannot be read
    ├── GitFailed               git_failed                a git command did not do what it was asked
    │   └── GitTimedOut         git_timed_out             it took too long and was ended
    ├── GitUnavailable          git_unavailable           there is no git that could be used
    ├── IllegalTransition       illegal_transition        a state machine does not have that step
    ├── Mismatch                mismatch                  JSON, but not of the shape that was asked for
    ├── ProcessNotStarted       process_not_started       a process could not be started
    ├── ProtocolError           protocol_error            a JSON-RPC error, with its number
    │   ├── ParseError          parse_error               -32700  the frame is not JSON
    │   ├── InvalidRequest      invalid_request           -32600  JSON, but not a message
    │   ├── MethodNotFound      method_not_found          -32601  no such command
    │   └── InvalidParams       invalid_params            -32602  a field is missing or wrong
    ├── Rejected                rejected                  the host refused an action
    ├── SessionFailed           session_failed            a session could not be created
    ├── SessionGone             session_gone              a session is no longer there
    ├── StorageFailed           storage_failed            it is not known what was written: start again
    ├── StorageUnavailable      storage_unavailable       nothing was written; it may work later
    ├── StorageUnreadable       storage_unreadable        the database cannot be opened
    │   ├── DatabaseCorrupt     database_corrupt          its content is damaged
    │   ├── DatabaseLocked      database_locked           another host holds it
    │   ├── SchemaNewer         schema_newer              a newer Serai wrote it
    │   └── WrongKey            wrong_key                 the key does not open it
    └── TerminalsUnavailable    terminals_unavailable     this system has no terminals that can be used

`code` is stable: programs may depend on it. The message says what happened; `remedy` says what to do.
"""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = [
    "AccessRefused",
    "CapabilityUnsupported",
    "ConfigInvalid",
    "ConnectionLost",
    "DatabaseCorrupt",
    "DatabaseLocked",
    "Fenced",
    "FileInTheWay",
    "FileTooLarge",
    "FileUnreadable",
    "GitFailed",
    "GitTimedOut",
    "GitUnavailable",
    "IllegalTransition",
    "InvalidParams",
    "InvalidRequest",
    "MethodNotFound",
    "Mismatch",
    "ParseError",
    "ProcessNotStarted",
    "ProtocolError",
    "Rejected",
    "SchemaNewer",
    "SeraiError",
    "SessionFailed",
    "SessionGone",
    "StorageFailed",
    "StorageUnavailable",
    "StorageUnreadable",
    "TerminalsUnavailable",
    "WrongKey",
]


class SeraiError(Exception):
    """The root of the tree. Catch it to catch all that Serai raises on purpose.

    Args:
        message: What happened, as a sentence without a full stop at its end.
        remedy: What the person can do about it, in the same form.
    """

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}. {self.remedy}" if self.remedy else self.message

    def to_wire(self) -> dict[str, Any]:
        """The error as JSON: `code` and `message`, and `remedy` where there is one."""
        wire = {"code": self.code, "message": self.message}
        if self.remedy:
            wire["remedy"] = self.remedy
        return wire


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


class ConfigInvalid(SeraiError):
    """A setting has a value that it cannot have. The message names the setting and where it comes from."""

    code = "config_invalid"


class Fenced(SeraiError):
    """Another host has taken over a session: what this one wanted to write was not written."""

    code = "fenced"


class FileInTheWay(SeraiError):
    """A file cannot be put back, or not be taken away; nothing was done to it."""

    code = "file_in_the_way"


class FileTooLarge(FileInTheWay):
    """A file is larger than what is read of one."""

    code = "file_too_large"


class FileUnreadable(SeraiError):
    """A file that was named cannot be read."""

    code = "file_unreadable"


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


class IllegalTransition(SeraiError):
    """A state machine was asked for a step that it does not have."""

    code = "illegal_transition"

    def __init__(self, machine: str, before: str, after: str) -> None:
        super().__init__(f"{machine} cannot go from {before!r} to {after!r}")
        self.before = before
        self.after = after


class Mismatch(SeraiError):
    """A value does not have the shape that its type asks for; `field` names the place: `turns[0].id`."""

    code = "mismatch"

    def __init__(self, problem: str, *, field: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.problem = problem
        self.field = field


class ProcessNotStarted(SeraiError):
    """A process could not be started; nothing of it runs."""

    code = "process_not_started"


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


class TerminalsUnavailable(SeraiError):
    """This system has no terminals that Serai can use."""

    code = "terminals_unavailable"


class AccessRefused(SeraiError):
    """The host does not let this client in: the token, the client id or the version is not right."""

    code = "access_refused"


class ConnectionLost(SeraiError):
    """The host cannot be reached, or the connection ended. What was under way may have happened or not."""

    code = "connection_lost"


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
