"""The events of a session, pure: each row of its journal is one, so that their numbers have no gaps.

The first event says that the session was created, and has no row. Every later one is an action of the
session's channel under another name, with the action's own fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import msgspec


class SessionEventType(StrEnum):
    """Type of an event."""

    STARTED = "session:started"
    """The session was created. Always the first event."""
    RESYNC = "session:resync"
    """Earlier events are no longer there: the next event has the number `from`."""
    TURN_STARTED = "session:turn_started"
    TEXT_DELTA = "session:text_delta"
    REASONING_DELTA = "session:reasoning_delta"
    TOOL_CALL = "session:tool_call"
    """A call begins. Its input comes later."""
    TOOL_INPUT_DELTA = "session:tool_input_delta"
    TOOL_INPUT = "session:tool_input"
    """The input is complete, and the tool runs."""
    APPROVAL_REQUESTED = "session:approval_requested"
    """The input is complete, and the tool runs once someone approves."""
    APPROVAL_RESOLVED = "session:approval_resolved"
    """Someone approved or denied: the call, or the use of its result."""
    TOOL_RESULT = "session:tool_result"
    QUESTION_ASKED = "session:question_asked"
    QUESTION_ANSWERED = "session:question_answered"
    USAGE = "session:usage"
    NOTICE = "session:notice"
    """A message that both the agent and the person are to see."""
    TURN_COMPLETED = "session:turn_completed"
    """The turn is over. `stopReason` says how it ended."""
    CHANGED = "session:changed"
    """Any other action: `change` is its type."""


_Type = SessionEventType

_NAMES = {
    "session/turnStarted": _Type.TURN_STARTED,
    "session/delta": _Type.TEXT_DELTA,
    "session/reasoning": _Type.REASONING_DELTA,
    "session/toolCallStart": _Type.TOOL_CALL,
    "session/toolCallDelta": _Type.TOOL_INPUT_DELTA,
    "session/toolCallConfirmed": _Type.APPROVAL_RESOLVED,
    "session/toolCallResultConfirmed": _Type.APPROVAL_RESOLVED,
    "session/toolCallComplete": _Type.TOOL_RESULT,
    "session/inputRequested": _Type.QUESTION_ASKED,
    "session/inputCompleted": _Type.QUESTION_ANSWERED,
    "session/usage": _Type.USAGE,
}
"""The actions that are events as they are."""
_STOP_REASONS = {
    "session/turnComplete": "end_turn",
    "session/turnCancelled": "cancelled",
    "session/error": "error",
}
_PARTS = {
    "markdown": _Type.TEXT_DELTA,
    "reasoning": _Type.REASONING_DELTA,
    "systemNotification": _Type.NOTICE,
}
"""The parts of an answer that may begin with text. All deltas joined are the whole text."""


class SessionEvent(msgspec.Struct, frozen=True, rename="camel"):
    """One event, in the envelope that all events have."""

    type: str
    """The `SessionEventType`; a newer host may send others."""
    session_id: str
    """The last part of the session's URI."""
    sequence_number: int
    """The number of the event, from 1 on, without gaps, also after a restart."""
    timestamp: datetime
    """The time of the commit."""
    data: dict[str, Any]
    """All other fields, under their names on the wire."""

    def to_json(self) -> bytes:
        """Return the JSON of the event."""
        return msgspec.json.encode(
            {
                "type": self.type,
                "sessionId": self.session_id,
                "sequenceNumber": self.sequence_number,
                "timestamp": self.timestamp,
                **self.data,
            }
        )


def read_event(data: bytes | str) -> SessionEvent:
    """Return the event in some JSON.

    Raises:
        msgspec.DecodeError: It is none.
    """
    fields = msgspec.json.decode(data, type=dict[str, Any])
    envelope = {name: fields.pop(name, None) for name in _ENVELOPE}
    return msgspec.convert({**envelope, "data": fields}, SessionEvent)


_ENVELOPE = frozenset({"type", "sessionId", "sequenceNumber", "timestamp"})


def event_of(session_id: str, number: int, at: float, action: Mapping[str, Any]) -> SessionEvent:
    """Return the event that a row stands for.

    Args:
        session_id: The session.
        number: The number of the event.
        at: The time of the commit, in milliseconds since 1970.
        action: The action, as plain JSON.
    """
    kind, data = _type_and_data(action["type"], action)
    return SessionEvent(kind, session_id, number, _datetime(at), data)


def started(
    session_id: str, at: float, agent: Mapping[str, Any], settings: Mapping[str, Any]
) -> SessionEvent:
    """Return the first event of a session.

    Args:
        session_id: The session.
        at: The time at which the session was created, in milliseconds since 1970.
        agent: The session's agent.
        settings: The session's settings. The event contains their variables.
    """
    data = {"agent": dict(agent), "variables": settings.get("variables") or {}}
    return SessionEvent(_Type.STARTED, session_id, 1, _datetime(at), data)


def resync(session_id: str, at: float, first: int) -> SessionEvent:
    """Return the event that replaces events that are no longer there, with the number of the last one."""
    return SessionEvent(_Type.RESYNC, session_id, first - 1, _datetime(at), {"from": first})


def _type_and_data(tag: str, action: Mapping[str, Any]) -> tuple[SessionEventType, dict[str, Any]]:
    if (name := _NAMES.get(tag)) is not None:
        return name, _fields(action)
    if tag == "session/toolCallReady":
        return (_Type.TOOL_INPUT if "confirmed" in action else _Type.APPROVAL_REQUESTED), _fields(action)
    if tag == "session/responsePart":
        part = action["part"]
        if (name := _PARTS.get(part["kind"])) is not None and part["content"]:
            whose = {"partId": part["id"]} if "id" in part else {}
            return name, {"turnId": action["turnId"], **whose, "content": part["content"]}
    error: dict[str, Any] = {}
    if "error" in action:
        error["error"] = {"code": action["error"]["errorType"], "message": action["error"]["message"]}
    if (reason := _STOP_REASONS.get(tag)) is not None:
        return _Type.TURN_COMPLETED, {"turnId": action["turnId"], "stopReason": reason, **error}
    return _Type.CHANGED, {"change": tag, **error}


def _fields(action: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value for name, value in action.items() if name not in _ENVELOPE and not name.startswith("_")
    }


def _datetime(at: float) -> datetime:
    return datetime.fromtimestamp(at / 1000, UTC)
