"""The patient codec: one message per line, as programs write them to a pipe.

Agents also write what is no message at all (log lines, banners, progress bars): that is noise, and never an
error. Text that they cut in half, or numbers that JSON does not have, are mended.
"""

from __future__ import annotations

import re
from typing import Any, TypeGuard

import msgspec

from serai.depth import STRING, checked
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

__all__ = ["LONGEST_LINE", "LineCodec", "Lines"]

LONGEST_LINE = 64 * 1024 * 1024
"""The longest line that is read, in bytes."""


class Lines:
    """Cuts bytes into lines, and keeps what has come of the last one. Whoever feeds it looks at `size`."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.size = 0
        """How much of an incomplete line is kept, in bytes."""

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are complete now, without their ends."""
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
        """Take what came last without a line's end."""
        rest = b"".join(self._pieces)
        self._pieces.clear()
        self.size = 0
        return rest


_UNREADABLE = (msgspec.DecodeError, ValueError, RecursionError, ParseError)
_read_plain = msgspec.json.Decoder().decode
_write = msgspec.json.Encoder().encode


class LineCodec:
    """Messages with plain JSON as parameters and results, and ids of any kind."""

    def decode(self, line: bytes) -> Message | None:
        """The message in a line; `None` when it is noise.

        Raises:
            InvalidRequest: It was meant as a request, but cannot be one.
        """
        try:
            plain = _read_plain(checked(line))
        except _UNREADABLE:
            return self._decode_mended(line) if line.lstrip().startswith(b"{") else None
        return _message(plain) if _is_object(plain) else None

    def encode(self, message: Message) -> bytes:
        """One line.

        Raises:
            ParseError: The message holds text that is not Unicode.
        """
        try:
            return _write(message) + b"\n"
        except UnicodeEncodeError as problem:
            raise ParseError(f"text that is not Unicode cannot be sent: {problem}") from None

    def result(self, method: str, value: Any) -> Any:
        """The result as it came."""
        del method
        return value

    def _decode_mended(self, line: bytes) -> Message | None:
        text = mended(line)
        try:
            plain = _read_plain(checked(text))
        except _UNREADABLE:
            request_id = id_of_request(text)
            if request_id is None:
                return None
            raise InvalidRequest("not a request: it cannot be read", id=request_id) from None
        message = _message(plain) if _is_object(plain) else None
        # A name with what is no text in it is not one that anybody knows.
        return None if isinstance(message, Notification) and "\ufffd" in message.method else message


def _message(plain: dict[str, Any]) -> Message | None:
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


def _error(told: Any) -> ErrorObject:
    """An error as far as it is one: some agents send a sentence, or leave the message to the data."""
    if not _is_object(told):
        return ErrorObject(code=INTERNAL_ERROR, message=str(told))
    code, message = told.get("code"), told.get("message")
    return ErrorObject(
        code=code if isinstance(code, int) and not isinstance(code, bool) else INTERNAL_ERROR,
        message=message if isinstance(message, str) else "",
        data=told.get("data"),
    )


def _is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_id(value: Any) -> TypeGuard[RequestId]:
    return value is None or (isinstance(value, int | float | str) and not isinstance(value, bool))


# An agent that cuts its text between the halves of an emoji writes escapes that stand for no character.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
# Python's own `json` writes numbers that JSON does not have. In a string they are just words.
_NO_NUMBER = re.compile(STRING + rb"|(NaN|-?Infinity)", re.DOTALL)


def mended(line: bytes) -> bytes:
    """The line with a replacement character for whatever is no text, and `null` for what is no number."""
    text = line.decode(errors="replace").encode()
    if b"\\u" in text:
        text = _ESCAPE.sub(lambda match: rb"\ufffd" if match[1] else match[0], text)
    if b"NaN" in text or b"Infinity" in text:
        text = _NO_NUMBER.sub(lambda match: b"null" if match[1] else match[0], text)
    return text
