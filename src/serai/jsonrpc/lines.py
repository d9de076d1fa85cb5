"""The tolerant codec: one message per line, as programs write them to a pipe.

Agents also write lines that are no messages (logs, banners, progress bars): these are noise, and never an
error. Characters that are cut in half, and numbers that JSON does not have, are repaired.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeGuard

import msgspec

from serai.contract.record import checked
from serai.errors import InvalidRequest, ParseError
from serai.jsonrpc.messages import (
    INTERNAL_ERROR,
    ErrorObject,
    Failure,
    Message,
    Notification,
    Request,
    RequestId,
    Success,
    id_of_request,
)

LONGEST_LINE = 64 * 1024 * 1024
"""Longest line that is read, in bytes."""


class LineSplitter:
    """Splits bytes into lines, and keeps the incomplete last one. The caller has to check `size`."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.size = 0
        """Size of the incomplete line, in bytes."""

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that are complete now, without their ends."""
        lines = data.split(b"\n")
        if self._pieces and len(lines) > 1:
            self._pieces.append(lines[0])
            lines[0] = self.rest()
        rest = lines.pop()
        if rest:
            self.size += len(rest)
            self._pieces.append(rest)
        return lines

    def rest(self) -> bytes:
        """Remove the incomplete line, and return it."""
        rest = b"".join(self._pieces)
        self._pieces.clear()
        self.size = 0
        return rest


_UNREADABLE = (msgspec.DecodeError, ValueError, RecursionError, ParseError)
_read_plain = msgspec.json.Decoder().decode
_write = msgspec.json.Encoder().encode


class LineCodec:
    """A codec for messages with plain JSON as parameters and results, and ids of any kind."""

    def decode(self, line: bytes) -> Message | None:
        """Return the message in a line; `None` when it is noise.

        Raises:
            InvalidRequest: It was meant as a request, but cannot be one.
        """
        text = line
        try:
            try:
                plain = _read_plain(checked(line))
            except _UNREADABLE:
                if not line.lstrip().startswith(b"{"):
                    return None
                text = mended(line)
                plain = _read_plain(checked(text))
        except _UNREADABLE:
            if (request_id := id_of_request(text)) is None:
                return None
            raise InvalidRequest("not a request: it cannot be read", id=request_id) from None
        return message_of(plain)

    def encode(self, message: Message) -> bytes:
        """Return a message as one line.

        Raises:
            ParseError: The message holds text that is not Unicode.
        """
        try:
            return _write(message) + b"\n"
        except UnicodeEncodeError as problem:
            raise ParseError(f"text that is not Unicode cannot be sent: {problem}") from None

    def result(self, method: str, value: Any) -> Any:
        """Return the result unchanged."""
        del method
        return value


def message_of(plain: Any) -> Message | None:
    """Convert plain JSON to a message; return `None` when it is none.

    Raises:
        InvalidRequest: It was meant as a request, but cannot be one.
    """
    if not _is_object(plain):
        return None
    request_id = plain.get("id")
    if "method" not in plain:
        if "id" not in plain:
            return None
        if (error := plain.get("error")) is not None:
            return Failure(id=request_id, error=_error(error))
        return Success(id=request_id, result=plain.get("result"))
    method, params = plain["method"], plain.get("params")
    if "id" not in plain:
        return Notification(method=method, params=params) if isinstance(method, str) else None
    if not _is_id(request_id):
        raise InvalidRequest("not a request: the id must be a number or text")
    if not isinstance(method, str):
        raise InvalidRequest("not a request: the method must be text", id=request_id)
    return Request(id=request_id, method=method, params=params)


def _error(error: Any) -> ErrorObject:
    """Convert an error, even an incomplete one: some agents send a sentence, or no message."""
    if not _is_object(error):
        return ErrorObject(code=INTERNAL_ERROR, message=str(error))
    code, message = error.get("code"), error.get("message")
    return ErrorObject(
        code=code if isinstance(code, int) and not isinstance(code, bool) else INTERNAL_ERROR,
        message=message if isinstance(message, str) else "",
        data=error.get("data"),
    )


def _is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_id(value: Any) -> TypeGuard[RequestId]:
    return value is None or (isinstance(value, int | float | str) and not isinstance(value, bool))


_HALF = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair: agents cut their text inside an emoji, and then escape the halves."""


def mended(line: bytes) -> bytes:
    """Repair a line: put U+FFFD for bytes that are not text, and `null` for values that are not numbers."""
    text = line.decode(errors="replace")
    try:
        checked(text)
        plain = json.loads(text, parse_constant=lambda _: None)  # it accepts NaN and Infinity
        text = _HALF.sub("\ufffd", json.dumps(plain, ensure_ascii=False, allow_nan=False))
    except (ValueError, RecursionError, ParseError):
        pass  # it is not JSON at all
    return text.encode()
