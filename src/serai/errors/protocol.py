"""JSON-RPC errors, and JSON of another shape than was asked for."""

from __future__ import annotations

from typing import Any

from serai.errors.base import SeraiError

__all__ = ["InvalidParams", "InvalidRequest", "MethodNotFound", "Mismatch", "ParseError", "ProtocolError"]


class Mismatch(SeraiError):
    """A value does not have the shape that its type asks for; `field` names the place: `turns[0].id`."""

    code = "mismatch"

    def __init__(self, problem: str, *, field: str) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.problem = problem
        self.field = field


class ProtocolError(SeraiError):
    """A JSON-RPC error, raised where it is found and answered where the request came from.

    Args:
        message: What happened.
        id: The id of the request that it answers; `None` when no id could be read.
        data: What goes into the error's `data`.
        number: The error's code on the wire; a subclass has its own.
    """

    code = "protocol_error"
    number: int = -32603

    def __init__(
        self,
        message: str,
        *,
        id: float | str | None = None,  # noqa: A002 - it is the wire's own name
        data: Any = None,
        number: int | None = None,
    ) -> None:
        super().__init__(message)
        self.id = id
        self.data = data
        if number is not None:
            self.number = number


class ParseError(ProtocolError):
    """The frame is not JSON, is not UTF-8, or is nested deeper than the codec reads."""

    code = "parse_error"
    number = -32700


class InvalidRequest(ProtocolError):
    """The frame is JSON, but not a JSON-RPC request, response or notification."""

    code = "invalid_request"
    number = -32600


class MethodNotFound(ProtocolError):
    """There is no command of that name."""

    code = "method_not_found"
    number = -32601


class InvalidParams(ProtocolError):
    """The parameters do not fit the command; `field` names the place, such as `params.channel`."""

    code = "invalid_params"
    number = -32602

    def __init__(self, message: str, *, field: str, id: float | str | None = None) -> None:  # noqa: A002 - the same
        super().__init__(message, id=id, data={"field": field})
        self.field = field
