"""Lines to messages and back: JSON-RPC 2.0 as agents write it.

Most lines are updates of a session, so those are read in one pass, straight into their types. Agents also
write what is no message at all (log lines, banners, progress bars): that is noise, and never an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeGuard

import msgspec
from msgspec import Struct, field

from serai.acp.mending import head_of, mended
from serai.acp.updates import LINE, KnownUpdate, Update, read_update
from serai.depth import checked
from serai.errors import ParseError

__all__ = [
    "AUTH_REQUIRED",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "REQUEST_CANCELLED",
    "RESOURCE_NOT_FOUND",
    "Answer",
    "Malformed",
    "Message",
    "Notification",
    "Request",
    "RequestId",
    "SessionUpdate",
    "error",
    "notification",
    "read",
    "request",
    "result",
]

INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
REQUEST_CANCELLED = -32800
AUTH_REQUIRED = -32000
RESOURCE_NOT_FOUND = -32002

RequestId: TypeAlias = int | float | str | None
"""The id of an agent's request, echoed as it came."""


class SessionUpdate(Struct, frozen=True):  # a struct, since it is made more often than all others
    """Something has happened in a session."""

    session_id: str
    update: Update


@dataclass(frozen=True, slots=True)
class Notification:
    """Something that nobody answers, and that is no update of a session."""

    method: str
    params: Any


@dataclass(frozen=True, slots=True)
class Request:
    """Something that the agent wants an answer to."""

    id: RequestId
    method: str
    params: Any


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request of ours."""

    id: Any
    result: Any
    error: Any
    """`None` when there was none."""
    told: bool
    """Whether there was a result or an error at all."""


@dataclass(frozen=True, slots=True)
class Malformed:
    """A request that cannot be one; its id, when that can be read."""

    id: RequestId
    problem: str


Message: TypeAlias = SessionUpdate | Notification | Request | Answer | Malformed


# -- reading -----------------------------------------------------------------------------------------------


class _UpdateParams(Struct):
    session_id: str = field(name="sessionId")
    update: KnownUpdate


class _UpdateFrame(Struct):
    method: Literal["session/update"]
    params: _UpdateParams
    id: Any = msgspec.UNSET


_read_update_frame = msgspec.json.Decoder(_UpdateFrame).decode
_read_plain = msgspec.json.Decoder().decode
_FAILURES = (msgspec.DecodeError, ValueError, RecursionError, ParseError)


def read(line: bytes) -> Message | None:
    """The message in a line; `None` when it is noise."""
    try:  # most lines are updates, and what is none of them is known by its method
        frame = _read_update_frame(checked(line))
    except _FAILURES:
        pass  # a kind that is not known, or not this at all
    else:
        if frame.id is msgspec.UNSET:
            update = frame.params.update
            vars(update)[LINE] = line
            return SessionUpdate(frame.params.session_id, update)
    try:
        plain = _read_plain(checked(line))
    except _FAILURES:
        return _read_mended(line)
    return _message(plain) if _is_object(plain) else None


def _message(plain: dict[str, Any]) -> Message | None:
    if "method" in plain:
        return _call(plain, plain["method"])
    if "id" not in plain:
        return None
    return Answer(
        plain["id"], plain.get("result"), plain.get("error"), told="result" in plain or "error" in plain
    )


def _call(plain: dict[str, Any], method: Any) -> Message | None:
    params = plain.get("params")
    if "id" in plain:
        request_id = plain["id"]
        if not _is_id(request_id):
            return Malformed(None, "the id must be a number or text")
        if not isinstance(method, str):
            return Malformed(request_id, "the method must be text")
        return Request(request_id, method, params)
    if not isinstance(method, str):
        return None
    if method == "session/update" and _is_object(params):
        session_id, update = params.get("sessionId"), params.get("update")
        if isinstance(session_id, str) and _is_object(update):
            return SessionUpdate(session_id, read_update(update))
    return Notification(method, params)


def _read_mended(line: bytes) -> Message | None:
    if not line.lstrip().startswith(b"{"):
        return None
    text = mended(line)
    try:
        plain = _read_plain(checked(text))
    except _FAILURES:
        return _read_head(text)
    message = _message(plain) if _is_object(plain) else None
    # A name with what is no text in it is not one that anybody knows.
    return None if isinstance(message, Notification) and "\ufffd" in message.method else message


def _read_head(text: bytes) -> Malformed | None:
    """A request that nobody can read, but whose id: the agent waits for an answer."""
    head = head_of(text)
    try:
        plain = _read_plain(head) if head is not None else None
    except _FAILURES:
        return None
    if not _is_object(plain) or not {"id", "method"} <= plain.keys():
        return None
    return Malformed(plain["id"], "it cannot be read")


def _is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_id(value: Any) -> TypeGuard[RequestId]:
    return value is None or (isinstance(value, int | float | str) and not isinstance(value, bool))


# -- writing -----------------------------------------------------------------------------------------------

_encode = msgspec.json.Encoder().encode


def request(request_id: int, method: str, params: Any) -> bytes:
    """A request of ours, as a line."""
    return _line({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})


def notification(method: str, params: Any) -> bytes:
    """A notification of ours, as a line."""
    return _line({"jsonrpc": "2.0", "method": method, "params": params})


def result(request_id: RequestId, value: Any) -> bytes:
    """The answer to an agent's request, as a line."""
    return _line({"jsonrpc": "2.0", "id": request_id, "result": value})


def error(request_id: RequestId, code: int, message: str, data: Any = None) -> bytes:
    """The answer to an agent's request that was not done, as a line."""
    told: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        told["data"] = data
    return _line({"jsonrpc": "2.0", "id": request_id, "error": told})


def _line(message: dict[str, Any]) -> bytes:
    """One line.

    Raises:
        ParseError: It holds text that is not Unicode.
    """
    try:
        return _encode(message) + b"\n"
    except UnicodeEncodeError as problem:
        raise ParseError(f"text that is not Unicode cannot be sent: {problem}") from None
