"""The strict codec: one message per frame, decoded straight into types, or refused with the reason.

For any frame, `decode` returns a message or raises one of `serai.errors`: `ParseError`,
`InvalidRequest`, `MethodNotFound` or `InvalidParams`, with the id of the request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, Literal, TypeAlias, Union

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, defstruct

from serai.contract.record import MAX_DEPTH, checked, mismatch
from serai.errors import InvalidParams, InvalidRequest, MethodNotFound, Mismatch, ParseError
from serai.jsonrpc.messages import (
    ErrorObject,
    Failure,
    Message,
    Notification,
    Request,
    Success,
    id_of_request,
)

_Number: TypeAlias = int | float
_UNREADABLE = (msgspec.DecodeError, ValueError, RecursionError)


class _Frame(Struct):
    """A frame whose inner parts are not decoded yet, for frames that are not decoded in one pass."""

    jsonrpc: Literal["2.0"]
    id: _Number | str | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw = Raw(b"")
    result: Raw = Raw(b"")
    error: ErrorObject | None = None


_read_frame = msgspec.json.Decoder(_Frame).decode


class StrictCodec:
    """A codec for a protocol with known methods, and with numbers as ids.

    Args:
        requests: The types of the parameters and of the result of each command.
        notifications: The type of the parameters of each notification.
        read: Reads JSON as a type; raises `ParseError` and `Mismatch`.
        write: Writes a message; raises `ParseError`.
    """

    def __init__(
        self,
        requests: Mapping[str, tuple[Any, Any]],
        notifications: Mapping[str, Any],
        read: Callable[[bytes, Any], Any],
        write: Callable[[Message], bytes],
    ) -> None:
        self._commands = requests
        self._notifications = notifications
        self._read = read
        self._read_known = msgspec.json.Decoder(_known_frames(requests, notifications)).decode
        self.max_depth = MAX_DEPTH
        self.max_values: int | None = None
        self.encode = write

    def within(self, max_depth: int, max_values: int | None) -> StrictCodec:
        """Return a copy of this codec with other bounds on nesting and on the number of values.

        A host allows less than a client: what it accepts is sent on inside larger values.
        """
        limited = copy(self)
        limited.max_depth = max_depth
        limited.max_values = max_values
        return limited

    def decode(self, frame: bytes | str) -> Message:
        """Read one frame.

        Raises:
            ParseError: It is not JSON, is nested too deeply, or has too many values.
            InvalidRequest: It is JSON, but not a message.
            MethodNotFound: There is no such command.
            InvalidParams: Its parameters do not fit; `field` says where.
        """
        try:
            data = checked(frame, self.max_depth, self.max_values)
            try:
                known = self._read_known(data)
            except _UNREADABLE:  # an answer, a field of a newer version, or an error to report
                return self._read_slowly(data)
        except ParseError as error:
            error.id = id_of_request(frame)
            raise
        method: str = known.__struct_config__.tag
        if method in self._notifications:
            return Notification(method=method, params=known.params)
        return Request(id=known.id, method=method, params=known.params)

    def result(self, method: str, value: Any) -> Any:
        """Decode the result of a command from `value`, as `decode` has left it.

        Raises:
            Mismatch: The result is not what that command answers.
        """
        return self._read(bytes(value), self._commands[method][1])

    def _read_slowly(self, data: bytes) -> Message:
        self._read(data, Any)  # the whole frame has to be JSON, also the parts that msgspec skips
        try:
            frame = _read_frame(data)
        except _UNREADABLE as error:
            problem = f"not a JSON-RPC message: {mismatch(str(error))}"
            raise InvalidRequest(problem, id=id_of_request(data)) from None
        if frame.method is UNSET:
            return _response(frame)
        if frame.id is UNSET:
            as_type = self._notifications.get(frame.method, Any)
            return Notification(method=frame.method, params=self._params(frame, as_type))
        if frame.id is None or isinstance(frame.id, str):
            raise InvalidRequest("not a JSON-RPC message: the id of a request must be a number", id=frame.id)
        command = self._commands.get(frame.method)
        if command is None:
            raise MethodNotFound(f"there is no method {frame.method!r}", id=frame.id)
        return Request(id=frame.id, method=frame.method, params=self._params(frame, command[0]))

    def _params(self, frame: _Frame, as_type: Any) -> Any:
        try:
            return self._read(bytes(frame.params) or b"{}", as_type)
        except Mismatch as error:
            field = f"params.{error.field}" if error.field else "params"
            request_id = None if frame.id is UNSET else frame.id
            raise InvalidParams(f"{field}: {error.problem}", field=field, id=request_id) from None


def _known_frames(requests: Mapping[str, tuple[Any, Any]], notifications: Mapping[str, Any]) -> Any:
    """Make one union of all methods' frames, with `method` as its tag, to decode frames in one pass."""
    head = ("jsonrpc", Literal["2.0"])
    shapes = {name: [head, ("id", _Number), ("params", params)] for name, (params, _) in requests.items()}
    shapes |= {name: [head, ("params", params)] for name, params in notifications.items()}
    # Other fields are forbidden: with an id, the name of a notification is an unknown command.
    frames = [
        defstruct(name, shape, tag_field="method", tag=name, forbid_unknown_fields=True)
        for name, shape in shapes.items()
    ]
    return Union[tuple(frames)]  # noqa: UP007 - a union that is made at run time


def _response(frame: _Frame) -> Success | Failure:
    if frame.id is UNSET or bool(frame.result) == bool(frame.error):
        # Without result and error it was meant as a request; the id of an answer is not the sender's own.
        request_id = None if frame.id is UNSET or frame.result else frame.id
        problem = "not a JSON-RPC message: it has a method, or an id with either a result or an error"
        raise InvalidRequest(problem, id=request_id)
    if frame.error is not None:
        return Failure(id=frame.id, error=frame.error)
    if frame.id is None or isinstance(frame.id, str):
        raise InvalidRequest("not a JSON-RPC message: a result needs the number that it answers")
    return Success(id=frame.id, result=frame.result)
