"""What can go wrong between a client and its host."""

from __future__ import annotations

from serai.errors import SeraiError

__all__ = ["AccessRefused", "ConnectionLost", "Rejected", "SessionFailed", "SessionGone"]


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
