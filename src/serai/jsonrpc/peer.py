"""One end of a connection: assigns ids to our requests, and matches answers with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from serai.errors import ProtocolError, SeraiError
from serai.jsonrpc.lines import LineCodec
from serai.jsonrpc.messages import Failure, Message, Notification, Request, RequestId, Success
from serai.jsonrpc.strict import StrictCodec

Ticket = TypeVar("Ticket")


@dataclass(frozen=True, slots=True)
class Answered(Generic[Ticket]):
    """The answer to one of our requests: a result, or an error."""

    ticket: Ticket
    result: Any
    error: SeraiError | None


class Peer(Generic[Ticket]):
    """Our requests that have no answer yet, each with a ticket for the caller that waits.

    Args:
        codec: The codec for frames.
        first_id: The id of the first request; the next ones count up.
    """

    def __init__(self, codec: LineCodec | StrictCodec, first_id: int = 1) -> None:
        self._codec = codec
        self._next_id = first_id
        self._calls: dict[RequestId, tuple[str, Ticket]] = {}

    def request(self, method: str, params: Any, ticket: Ticket) -> tuple[int, bytes]:
        """Return the id and the frame of a new request. The ticket is returned with its answer.

        Raises:
            ParseError: The parameters hold text that is not Unicode. Nothing is pending then.
        """
        call_id = self._next_id
        frame = self._codec.encode(Request(id=call_id, method=method, params=params))
        self._next_id += 1
        self._calls[call_id] = method, ticket
        return call_id, frame

    def notify(self, method: str, params: Any) -> bytes:
        """Return the frame of a notification.

        Raises:
            ParseError: The parameters hold text that is not Unicode.
        """
        return self._codec.encode(Notification(method=method, params=params))

    def answer(self, request_id: RequestId, result: Any) -> bytes:
        """Return the frame that answers a request.

        Raises:
            ParseError: The result holds text that is not Unicode.
        """
        return self._codec.encode(Success(id=request_id, result=result))

    def refuse(self, error: SeraiError, request_id: RequestId = None) -> bytes:
        """Return the frame that answers a request with an error, with the error's own id or this one."""
        if not isinstance(error, ProtocolError):
            error = ProtocolError(str(error), data=error.to_wire())
        if request_id is not None:
            error.id = request_id
        return self._codec.encode(Failure.from_error(error))

    def receive(self, frame: bytes) -> Message | Answered[Ticket] | ProtocolError | None:
        """Read one frame; return `None` when it is noise.

        An answer that nobody waits for is returned as a message. For a frame that is no message,
        the error is returned: it can be sent as the answer.
        """
        try:
            message = self._codec.decode(frame)
        except ProtocolError as error:
            # The error and its stack frame refer to each other: without this both would stay in memory.
            error.__context__ = None
            return error.with_traceback(None)
        if isinstance(message, Success | Failure):
            return self._answered(message)
        return message

    def _answered(self, message: Success | Failure) -> Success | Failure | Answered[Ticket]:
        # 3.0 equals 3, since some languages have one kind of number. But True would equal 1.
        is_ours = isinstance(message.id, int | float) and not isinstance(message.id, bool)
        call = self._calls.pop(message.id, None) if is_ours else None
        if call is None:
            return message
        method, ticket = call
        if isinstance(message, Failure):
            return Answered(ticket, None, message.to_error())
        try:
            return Answered(ticket, self._codec.result(method, message.result), None)
        except SeraiError as error:
            return Answered(ticket, None, error)

    def forget(self, call_id: int) -> None:
        """Stop waiting for an answer. If it arrives, `receive` returns it as a message."""
        self._calls.pop(call_id, None)

    def forget_all(self) -> list[Ticket]:
        """Stop waiting for all answers, since the connection has ended. Return all tickets."""
        tickets = [ticket for _, ticket in self._calls.values()]
        self._calls.clear()
        return tickets
