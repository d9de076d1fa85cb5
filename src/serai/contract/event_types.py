"""The names of all that can be observed of a session."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["AgentSessionEventType"]

_FROM_THE_RELAY = frozenset({"message", "delivery", "action"})


class AgentSessionEventType(StrEnum):
    """The type of a session event. What stands before the dot is its family."""

    STATUS_CHANGED = "status.changed"
    STATUS_IDLE = "status.idle"
    STATUS_ACTIVE = "status.active"
    STATUS_BLOCKED = "status.blocked"
    STATUS_WAITING = "status.waiting"
    STATUS_OFFLINE = "status.offline"
    TOOL_CALLED = "tool.called"
    TOOL_COMPLETED = "tool.completed"
    TOOL_FAILED = "tool.failed"
    TOOL_OUTPUT = "tool.output"
    MESSAGE_RECEIVED = "message.received"
    MESSAGE_SENT = "message.sent"
    DELIVERY_ACCEPTED = "delivery.accepted"
    DELIVERY_DELIVERED = "delivery.delivered"
    DELIVERY_DEFERRED = "delivery.deferred"
    DELIVERY_FAILED = "delivery.failed"
    ACTION_INVOKED = "action.invoked"
    ACTION_COMPLETED = "action.completed"
    ACTION_FAILED = "action.failed"
    ACTION_DENIED = "action.denied"
    TRANSCRIPT_CHUNK = "transcript.chunk"
    FILE_CHANGED = "file.changed"
    COMMAND_STARTED = "command.started"
    COMMAND_COMPLETED = "command.completed"
    COMMAND_FAILED = "command.failed"
    TERMINAL_OUTPUT = "terminal.output"
    TERMINAL_SCREEN = "terminal.screen"
    USAGE_UPDATED = "usage.updated"
    SESSION_STARTED = "session.started"
    SESSION_RELEASED = "session.released"
    SESSION_RESUMED = "session.resumed"
    SESSION_FORKED = "session.forked"
    LOG = "log"
    ERROR = "error"

    @property
    def family(self) -> str:
        """What stands before the dot, or the whole name where there is none."""
        return self.value.partition(".")[0]

    @property
    def is_live(self) -> bool:
        """Whether only the session can tell of it.

        The relay itself tells of messages, deliveries and actions, whatever the session declares.
        """
        return self.family not in _FROM_THE_RELAY
