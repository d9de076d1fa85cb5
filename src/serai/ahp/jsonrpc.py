"""The JSON-RPC codec: one message per frame, in both directions.

    frame --decode--> Request | Notification | Success | Failure --encode--> frame

Whatever the frame holds, `decode` gives a message or raises one of `serai.errors`: `ParseError`,
`InvalidRequest`, `MethodNotFound` or `InvalidParams`, which carries the id to answer to.
"""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias, Union, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, defstruct

from serai.ahp import wire
from serai.ahp.methods import EXTENSIONS, NOTIFICATIONS, REQUESTS
from serai.contract.record import mismatch
from serai.depth import MAX_DEPTH, checked
from serai.errors import InvalidParams, InvalidRequest, MethodNotFound, Mismatch, ParseError, ProtocolError

__all__ = [
    "ErrorObject",
    "Failure",
    "Message",
    "Notification",
    "Request",
    "RequestId",
    "Success",
    "decode",
    "encode",
    "result_of",
]

RequestId: TypeAlias = int | float
"""AHP's ids are numbers."""


class Request(Struct, frozen=True, kw_only=True):
    """A command that wants an answer."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: RequestId
    method: str
    params: Any


class Notification(Struct, frozen=True, kw_only=True):
    """A message that nobody answers. The parameters of a method that we do not know are plain JSON."""

    jsonrpc: Literal["2.0"] = "2.0"
    method: str
    params: Any


class Success(Struct, frozen=True, kw_only=True):
    """The answer to a command. A decoded one is raw until `result_of` reads it."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: RequestId
    result: Any


class ErrorObject(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a command failed."""

    code: int
    message: str
    data: Any = None


class Failure(Struct, frozen=True, kw_only=True):
    """The answer to a command that failed, or (without an id) to a frame that could not be read."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: RequestId | str | None
    error: ErrorObject

    @classmethod
    def of(cls, error: ProtocolError) -> Failure:
        """The answer that tells of this error."""
        return cls(id=error.id, error=ErrorObject(code=error.number, message=str(error), data=error.data))


Message: TypeAlias = Request | Notification | Success | Failure


encode = wire.encode
"""Write a message as one frame. Raises `ParseError` for text that is not Unicode."""


def _known_frames() -> Any:
    """Every method's frame as one union, told apart by `method`: most frames are read in one pass."""
    head = ("jsonrpc", Literal["2.0"])
    shapes = {name: [head, ("id", RequestId), ("params", m.params)] for name, m in REQUESTS.items()}
    shapes |= {name: [head, ("params", params)] for name, params in NOTIFICATIONS.items()}
    # Nothing else may stand in them: with an id, a notification's name is an unknown command.
    frames = [
        defstruct(name, shape, tag_field="method", tag=name, forbid_unknown_fields=True)
        for name, shape in shapes.items()
    ]
    return Union[tuple(frames)]  # noqa: UP007 - a union that is made at run time


_read_known = msgspec.json.Decoder(_known_frames()).decode


class _Frame(Struct):
    """A frame with its inner parts unread, for all that is not read in one pass."""

    jsonrpc: Literal["2.0"]
    id: RequestId | str | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw = Raw(b"")
    result: Raw = Raw(b"")
    error: ErrorObject | None = None


_read_frame = msgspec.json.Decoder(_Frame).decode


class _Outline(Struct):
    """What tells whose id a frame has. All else is passed over, which makes no values of it."""

    id: RequestId | str | None = None
    result: Raw = Raw(b"")
    error: Raw = Raw(b"")


_read_outline = msgspec.json.Decoder(_Outline).decode

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


def decode(frame: bytes | str, max_depth: int = MAX_DEPTH, max_values: int | None = None) -> Message:
    """Read one frame.

    Args:
        frame: What came over the wire.
        max_depth: How deeply it may be nested. A host allows less than a client: what it takes in comes out
            again inside larger things.
        max_values: How many values it may have; any number by default.

    Raises:
        ParseError: It is not JSON, is nested too deeply, or has too many values.
        InvalidRequest: It is JSON, but not a message.
        MethodNotFound: It is a command that neither AHP has nor Serai.
        InvalidParams: Its parameters do not fit; `field` says where.
    """
    try:
        data = checked(frame, max_depth, max_values)
    except ParseError as error:
        error.id = _id_of_too_much(frame)
        raise
    try:
        known = _read_known(data)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return _read_slowly(data)  # an answer, something newer than we are, or an error to be named
    method: str = known.__struct_config__.tag
    if method in NOTIFICATIONS:
        return Notification(method=method, params=known.params)
    return Request(id=known.id, method=method, params=known.params)


def _read_slowly(data: bytes) -> Message:
    # All of it has to be JSON, also what is kept raw and what nobody reads: msgspec skips over those.
    try:
        plain: Any = wire.decode(data, cast("Any", Any))
    except ParseError as error:
        error.id = _id_beside_half_characters(data)
        raise
    try:
        head = _read_frame(data)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        problem = mismatch(str(error))
        raise InvalidRequest(f"not a JSON-RPC message: {problem}", id=_salvage_id(plain)) from None
    if head.method is UNSET:
        return _response(head)
    if head.id is UNSET:
        return Notification(
            method=head.method, params=_params(head.params, NOTIFICATIONS.get(head.method, Any), None)
        )
    if head.id is None or isinstance(head.id, str):
        raise InvalidRequest("not a JSON-RPC message: the id of a request must be a number", id=head.id)
    method = REQUESTS.get(head.method) or EXTENSIONS.get(head.method)
    if method is None:
        raise MethodNotFound(f"there is no method {head.method!r}", id=head.id)
    return Request(id=head.id, method=head.method, params=_params(head.params, method.params, head.id))


def result_of(response: Success, method: str) -> Any:
    """The typed result of a command.

    Args:
        response: What `decode` gave for the answer.
        method: The command that it answers.

    Raises:
        Mismatch: The result is not what that command answers.
    """
    known = REQUESTS.get(method) or EXTENSIONS[method]
    return wire.decode(bytes(response.result), known.result)


def _response(head: _Frame) -> Success | Failure:
    if head.id is UNSET or bool(head.result) == bool(head.error):
        # Without either it was meant as a request; the id of an answer is not the sender's own.
        request_id = None if head.id is UNSET or head.result else head.id
        raise InvalidRequest(
            "not a JSON-RPC message: it has a method, or an id with either a result or an error",
            id=request_id,
        )
    if head.error is not None:
        return Failure(id=head.id, error=head.error)
    if head.id is None or isinstance(head.id, str):
        raise InvalidRequest("not a JSON-RPC message: a result needs the number that it answers")
    return Success(id=head.id, result=head.result)


def _params(raw: Raw, as_type: Any, request_id: RequestId | None) -> Any:
    try:
        return wire.decode(bytes(raw) or b"{}", as_type)
    except Mismatch as error:
        field = f"params.{error.field}" if error.field else "params"
        raise InvalidParams(f"{field}: {error.problem}", field=field, id=request_id) from None


def _id_beside_half_characters(data: bytes) -> RequestId | str | None:
    """The id of a request that would be JSON but for text which is not Unicode: JavaScript can write it."""
    whole = _SURROGATE.sub(rb"\\ufffd", data)
    if whole == data:
        return None
    try:
        plain: Any = wire.decode(whole, cast("Any", Any))
    except ParseError:
        return None
    return _salvage_id(plain)


def _id_of_too_much(frame: bytes | str) -> RequestId | str | None:
    """The id of a request that is too large to be read."""
    try:
        outline = _read_outline(frame)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return None if outline.result or outline.error else outline.id


def _salvage_id(plain: Any) -> RequestId | str | None:
    """The id of a frame that is no message, so that its sender knows which of its requests went wrong."""
    match plain:
        case {"result": _} | {"error": _} | {"id": bool()}:
            return None  # the id of an answer is not the sender's own
        case {"id": int() | float() | str() as request_id}:
            return request_id
        case _:
            return None
