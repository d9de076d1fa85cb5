"""One client's connection: its requests and actions, the answers, and requests to the client, in one order.

Messages of one connection are handled one after the other, except for commands that may take long and depend
on nothing before them: those run alongside. Answers wait in the journal's queue, so that everything that an
answer reflects has been committed, and published to this client, before it is sent.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, TypeAlias, cast

from serai import jsonrpc
from serai.ahp import codec, wire
from serai.ahp.commands import AhpErrorCode
from serai.ahp.notifications import DispatchActionParams, UnsubscribeParams
from serai.contract import Role
from serai.contract.record import MAX_DEPTH
from serai.errors import (
    ConnectionLost,
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    Mismatch,
    ProtocolError,
    SeraiError,
)
from serai.host.clients import Count
from serai.host.host import Host
from serai.jsonrpc.messages import TOO_MANY_REQUESTS
from serai.serve.ahp.actions import send_unreadable_back, take_action
from serai.serve.ahp.commands import COMMANDS
from serai.serve.ahp.subscriptions import unsubscribe
from serai.serve.frames import text_frame
from serai.serve.websocket import WebSocket

_log = logging.getLogger(__name__)

_MAX_BACKLOG_BYTES = 20 * 1024 * 1024
_EACH = 256
"""Least memory of a message beside its text, in bytes."""
_MAX_DEPTH = MAX_DEPTH - 28
"""Deepest message. It comes out again inside an envelope or a snapshot, which clients have to read."""
_MAX_VALUES = 100_000
"""Most values in a message. Handling them takes about a third of a second, in which all clients wait."""
_CODEC = codec.CODEC.within(_MAX_DEPTH, _MAX_VALUES)
_ANSWER_WITHIN = 30.0
"""Seconds that a client has to answer a request of the host."""


class _Unreadable(NamedTuple):
    """A message with invalid content."""

    data: bytes
    error: ProtocolError


_Incoming: TypeAlias = jsonrpc.Request | jsonrpc.Notification | _Unreadable
_Work: TypeAlias = Coroutine[Any, Any, None]


class AhpPeer:
    """A client of the host, on one connection."""

    def __init__(self, host: Host, link: WebSocket) -> None:
        self.host = host
        self.journal = host.journal
        self.link = link
        self.client_id = ""
        """Empty before the handshake."""
        self.count = Count(0)
        self.is_gone = False
        self.publish = link.send
        """Sends frames of the journal: this is its `Subscriber`."""
        self._backlog: deque[tuple[_Incoming, int]] = deque()
        self._backlog_bytes = 0
        self._in_line: asyncio.Task[None] | None = None
        self._is_client = False
        """True while this connection counts as the client's."""
        self._alongside: set[asyncio.Task[None]] = set()
        self._under_way = 0
        self._rpc: jsonrpc.Peer[asyncio.Future[Any]] = jsonrpc.Peer(_CODEC)

    # -- the connection ------------------------------------------------------------------------------------

    def received(self, data: bytes) -> None:
        """Handle a message, at once unless an earlier one is still under way."""
        message: _Incoming
        match self._rpc.receive(data):
            case jsonrpc.Answered(answer, result, error):
                _settle(answer, result, error)
                return
            case jsonrpc.Success() | jsonrpc.Failure() | None:
                return  # nobody waits for it any more
            case ProtocolError() as error:
                message = _Unreadable(data, error)
            case message:
                pass
        if isinstance(message, jsonrpc.Request) and (refusal := self._refusal(message)) is not None:
            self.fail(refusal)  # it waits for no other
            return
        if self._in_line is not None:
            self._backlog.append((message, len(data)))
            self._backlog_bytes += len(data) + _EACH
            if self._backlog_bytes > _MAX_BACKLOG_BYTES:
                self.link.close(1013, "too much is under way; wait for answers")
            return
        work = self._take(message)
        if work is not None:
            self._in_line = asyncio.create_task(self._work(work))

    def holds_up(self, go_on: Callable[[], None]) -> bool:
        """Tell whether reading should pause: too much waits for the disk."""
        return self.journal.holds_up(go_on)

    async def _work(self, work: _Work) -> None:
        while True:
            try:
                await work
            except Exception:  # noqa: BLE001 - what comes next is not to blame
                _log.exception("a message of %r could not be handled", self.client_id)
            while self._backlog:
                message, size = self._backlog.popleft()
                self._backlog_bytes -= size + _EACH
                more = self._take(message)
                if more is not None:
                    work = more
                    break
            else:
                self._in_line = None
                if self.is_gone:
                    self._finish_counting()
                return

    def disconnected(self) -> None:
        """Handle the end of the connection: end presence, and all work for this connection alone.

        Received messages that wait are still handled.
        """
        self.is_gone = True
        self.journal.subscriptions.forget(self)
        for task in self._alongside:
            task.cancel()
        for answer in self._rpc.forget_all():
            _settle(answer, None, ConnectionLost(f"the client {self.client_id!r} is gone"))
        if self._is_client:
            self.host.client_disconnected(self.client_id, self)
        if self._in_line is None:
            self._finish_counting()

    def _finish_counting(self) -> None:
        if self._is_client:
            self._is_client = False
            self.host.clients.finished(self.client_id)

    # -- messages ------------------------------------------------------------------------------------------

    def _take(self, message: _Incoming) -> _Work | None:
        match message:
            case jsonrpc.Request():
                return self._request(message)
            case jsonrpc.Notification() if self.client_id:
                return self._notified(message)
            case _Unreadable(data, InvalidParams(id=None) as error) if self.client_id:
                send_unreadable_back(self, data, error)  # a notification: nobody waits for an answer
                return None
            case _Unreadable(error=error) if not (isinstance(error, InvalidParams) and error.id is None):
                self.fail(error)
                return None
            case _:
                return None

    def _notified(self, message: jsonrpc.Notification) -> _Work | None:
        match message.params:
            case UnsubscribeParams() as params:
                unsubscribe(self, params)
                return None
            case DispatchActionParams() as params:
                return take_action(self, params)
            case _:
                return None

    def _refusal(self, request: jsonrpc.Request) -> ProtocolError | None:
        """Count one more request as under way. Returns the error if there are too many."""
        limit = self.host.settings.requests_per_connection
        if self._under_way >= limit:
            problem = f"{limit} requests are under way; wait for answers"
            return ProtocolError(problem, id=request.id, number=TOO_MANY_REQUESTS)
        self._under_way += 1
        return None

    def _request(self, request: jsonrpc.Request) -> _Work | None:
        work = self._serve(request)
        if work is None:
            self._under_way -= 1
            return None
        if not COMMANDS[request.method].alongside:
            return self._finish(request, work)
        task = asyncio.create_task(self._finish(request, work))
        self._alongside.add(task)
        task.add_done_callback(self._alongside.discard)
        return None

    def _serve(self, request: jsonrpc.Request) -> Coroutine[Any, Any, Any] | None:
        """Start to serve a request. Returns the coroutine of its result; `None` if it is answered already."""
        unavailable = self.journal.unavailable
        if unavailable is not None and request.method != "ping":
            self.refuse(request, unavailable)  # the disk may stay unavailable for long
            return None
        try:
            command = COMMANDS.get(request.method)
            is_first = command is not None and command.is_first
            if not self.client_id and not is_first:
                raise InvalidRequest(f"{request.method} comes before initialize: that must be first")
            if self.client_id and is_first and request.method != "ping":
                raise InvalidRequest("this connection is initialized already")
            if command is None:
                raise MethodNotFound(f"this host does not serve {request.method!r} yet")
            if self.link.role == Role.RESPONDER and not command.for_responders:
                problem = f"this device may read and answer, and nothing else: not {request.method}"
                raise ProtocolError(problem, number=AhpErrorCode.PERMISSION_DENIED)
            result = command.serve(self, request)
            if isinstance(result, Coroutine):
                return cast("Coroutine[Any, Any, Any]", result)
            if not command.answers_itself:
                self.respond(request, result)
        except SeraiError as error:
            self.refuse(request, error)
        return None

    async def _finish(self, request: jsonrpc.Request, work: Coroutine[Any, Any, Any]) -> None:
        try:
            result = await work
            if not COMMANDS[request.method].answers_itself:
                self.respond(request, result)
        except SeraiError as error:
            self.refuse(request, error)
        except Exception:  # noqa: BLE001 - a request gets an answer, whatever happens
            _log.exception("%s failed", request.method)
            self.fail(ProtocolError("the host failed; its log says why", id=request.id))
        finally:
            self._under_way -= 1

    # -- answers -------------------------------------------------------------------------------------------

    def respond(self, request: jsonrpc.Request, result: Any = None) -> None:
        """Answer, once all that happened before is committed and published.

        While nothing can be written, questions are refused at once. The answer to a change waits: the change
        has happened, and is not undone.
        """
        message = _framed(jsonrpc.Success(id=request.id, result=result))
        only_asked = COMMANDS[request.method].only_asks
        self.journal.then(
            lambda _seq: self.link.respond(message),
            instead=(lambda reason: self.refuse(request, reason)) if only_asked else None,
        )

    def respond_now(self, request: jsonrpc.Request, result: Any = None) -> None:
        """Answer at once, for callers that stand in the journal's queue already."""
        self.link.respond(_framed(jsonrpc.Success(id=request.id, result=result)))

    def respond_anyway(self, response: jsonrpc.Success | jsonrpc.Failure) -> None:
        """Answer after all that happened before; at once while nothing can be written."""
        message = _framed(response)

        def answer(_: object) -> None:
            self.link.respond(message)

        self.journal.then(answer, instead=answer)

    def fail(self, error: ProtocolError) -> None:
        """Answer with an error, after all that happened before; at once while nothing can be written."""
        self.respond_anyway(jsonrpc.Failure.from_error(error))

    def refuse(self, request: jsonrpc.Request, error: SeraiError) -> None:
        """Answer a request with an error, as `fail` does."""
        if not isinstance(error, ProtocolError):
            error = ProtocolError(str(error), data=error.to_wire())
        error.id = request.id
        self.fail(error)

    def become(self, client_id: str) -> None:
        """Make this the connection of a client."""
        self.client_id = client_id
        self._is_client = True
        self.host.clients.began(client_id)
        if not self.is_gone:
            self.host.clients.connected(client_id, self)

    def become_nobody(self) -> None:
        """Undo `become`, after a handshake that failed. The client may try again."""
        if not self.is_gone:
            self.host.client_disconnected(self.client_id, self)
        self._finish_counting()
        self.client_id = ""

    # -- questions to the client ---------------------------------------------------------------------------

    async def ask(self, method: str, params: wire.Value) -> Any:
        """Send the client a request, after all that was published to it, and wait for its answer.

        After a cancel, a late answer is ignored.

        Raises:
            ProtocolError: The client's error, with its own number; or it did not answer in time.
            ConnectionLost: The client is gone.
        """
        if self.is_gone:
            raise ConnectionLost(f"the client {self.client_id!r} is gone")
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        number, frame = self._rpc.request(method, params, answer)
        question = text_frame(frame)
        self.journal.then(lambda _seq: self.publish(question))
        try:
            async with asyncio.timeout(_ANSWER_WITHIN):
                return await answer
        except TimeoutError:
            problem = f"the client {self.client_id!r} did not answer {method} in {_ANSWER_WITHIN:g} s"
            raise ProtocolError(problem) from None
        except Mismatch as error:
            raise ProtocolError(f"the client {self.client_id!r} answered {method} wrongly: {error}") from None
        finally:
            self._rpc.forget(number)


def _settle(answer: asyncio.Future[Any], result: Any, error: SeraiError | None) -> None:
    if answer.done():
        return
    if error is None:
        answer.set_result(result)
    else:
        answer.set_exception(error)


def _framed(response: jsonrpc.Success | jsonrpc.Failure) -> bytes:
    return text_frame(codec.encode(response))
