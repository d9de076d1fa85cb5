"""The four kinds of messages, and the numbers of errors."""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Raw, Struct

from serai.errors import ProtocolError

INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
REQUEST_CANCELLED = -32800
"""ACP: the request was cancelled."""
AUTH_REQUIRED = -32000
"""ACP: a person has to sign in."""
TOO_MANY_REQUESTS = -32000
"""AHP: too many requests are under way."""
RESOURCE_NOT_FOUND = -32002
"""ACP: there is no such file or session."""

RequestId: TypeAlias = int | float | str | None
"""The id of a request, which is echoed unchanged. AHP's ids are numbers."""


class Request(Struct, frozen=True, kw_only=True):
    """A request, which expects an answer."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: RequestId
    method: str
    params: Any


class Notification(Struct, frozen=True, kw_only=True):
    """A message without an answer. The parameters of an unknown method are plain JSON."""

    jsonrpc: Literal["2.0"] = "2.0"
    method: str
    params: Any


class Success(Struct, frozen=True, kw_only=True):
    """The answer to a request. The codec may leave a received result undecoded."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: RequestId
    result: Any


class ErrorObject(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The error of a request."""

    code: int
    message: str
    data: Any = None


class Failure(Struct, frozen=True, kw_only=True):
    """The answer to a failed request, or (without an id) to a frame that could not be read."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: RequestId
    error: ErrorObject

    @classmethod
    def from_error(cls, error: ProtocolError) -> Failure:
        """Return the answer for an error."""
        return cls(id=error.id, error=ErrorObject(code=error.number, message=str(error), data=error.data))

    def to_error(self) -> ProtocolError:
        """Return the error of this answer, to be raised."""
        error = self.error
        return ProtocolError(error.message, id=self.id, number=error.code, data=error.data)


Message: TypeAlias = Request | Notification | Success | Failure


class _Outline(Struct):
    """The part of a frame that shows whose id it has. msgspec skips the rest without decoding it."""

    id: int | float | str | None = None
    result: Raw = Raw(b"")
    error: Raw = Raw(b"")


_read_outline = msgspec.json.Decoder(_Outline).decode
_HALF = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
"""Escape of a lone surrogate, which JavaScript can write, but JSON must not contain."""


def id_of_request(frame: bytes | str) -> RequestId:
    """Return the id of a request that cannot be decoded, so that its sender gets an answer.

    Return `None` for answers: the id of an answer is not the sender's own.
    """
    data = frame.encode(errors="replace") if isinstance(frame, str) else frame
    try:
        outline = _read_outline(_HALF.sub(b"?", data))
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return None if outline.result or outline.error else outline.id
