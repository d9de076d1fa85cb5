"""The terminal channel: one pseudo-terminal."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

from serai.ahp.types.common import URI, Count, Number
from serai.ahp.wire import State, UnknownKind, UnknownType, Value


class TerminalClaimKind(StrEnum):
    """Who holds a terminal: a client, or a session's tool call."""

    CLIENT = "client"
    SESSION = "session"


class TerminalClientClaim(Value, tag_field="kind", tag=TerminalClaimKind.CLIENT.value):
    """A client holds it."""

    client_id: str


class TerminalSessionClaim(Value, tag_field="kind", tag=TerminalClaimKind.SESSION.value):
    """A session holds it, perhaps for one tool call."""

    session: URI
    turn_id: str | None = None
    tool_call_id: str | None = None


TerminalClaim: TypeAlias = TerminalClientClaim | TerminalSessionClaim | UnknownKind


class TerminalInfo(Value):
    """A terminal as the root channel lists it."""

    resource: URI
    title: str
    claim: TerminalClaim
    exit_code: Count | None = None


class TerminalUnclassifiedPart(Value, tag_field="type", tag="unclassified"):
    """Output that belongs to no command that was detected."""

    value: str


class TerminalCommandPart(Value, tag_field="type", tag="command"):
    """A command and its output."""

    command_id: str
    command_line: str
    output: str
    timestamp: Number
    is_complete: bool
    exit_code: Count | None = None
    duration_ms: Number | None = None


TerminalContentPart: TypeAlias = TerminalUnclassifiedPart | TerminalCommandPart | UnknownType


class TerminalState(State):
    """The whole state of one terminal."""

    title: str
    content: list[TerminalContentPart]
    claim: TerminalClaim
    cwd: URI | None = None
    cols: Count | None = None
    rows: Count | None = None
    exit_code: Count | None = None
    supports_command_detection: bool | None = None
