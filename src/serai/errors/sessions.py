"""What goes wrong between a client, its host and a session."""

from __future__ import annotations

from typing import Any

from serai.errors.base import SeraiError

__all__ = [
    "AccessRefused",
    "CapabilityUnsupported",
    "ConnectionLost",
    "IllegalTransition",
    "Rejected",
    "SessionFailed",
    "SessionGone",
]


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
