"""One client's connection: what it asks and dispatches, what it hears, and what it is asked, in one order.

Messages of one connection are handled one after the other, but for commands that may take long and depend on
nothing before them: those run alongside. Answers wait in the journal's line, so that whatever an answer
reflects has been committed, and published to this client, before it leaves.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NamedTuple, TypeAlias

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
from serai.serve.frames import text_frame
from serai.serve.websocket import WebSocket

_log = logging.getLogger(__name__)

_MAX_BACKLOG_BYTES = 20 * 1024 * 1024
_EACH = 256
"""What a message takes beside its text, at the least."""
_MAX_DEPTH = MAX_DEPTH - 28
"""What comes in comes out again inside an envelope or a snapshot, and a client reads no deeper than that."""
_MAX_VALUES = 100_000
"""So many take about a third of a second to be read, looked through, kept and told; meanwhile all wait."""
_CODEC = codec.CODEC.within(_MAX_DEPTH, _MAX_VALUES)
_ANSWER_WITHIN = 30.0
"""How long a client may take to answer what the host asks it, in seconds."""


class _Unreadable(NamedTuple):
    """A message with content that does not fit."""

    data: bytes
    error: ProtocolError


_Incoming: TypeAlias = jsonrpc.Request | jsonrpc.Notification | _Unreadable
_Work: TypeAlias = Coroutine[Any, Any, None]


class Command(NamedTuple):
    """How a command is served."""

    serve: Callable[[AhpPeer, jsonrpc.Request], _Work | None]
    """Answers the request, by itself or with what it returns. What it raises is the answer, too."""
    alongside: bool = False
    """Whether what comes after it need not wait: it may take long, and nothing depends on it."""
    only_asks: bool = False
    """Whether it changes nothing, so that it may be refused at any time until it is answered."""
    for_responders: bool = False
    """Whether it is for devices, too, that read and answer. What else these may do is in `actions`."""
    is_first: bool = False
    """Whether it may come before the handshake, or is it."""


class Service(NamedTuple):
    """What is done with the messages of a client."""

    commands: Mapping[str, Command]
    dispatched: Callable[[AhpPeer, DispatchActionParams], _Work | None]
    unreadable: Callable[[AhpPeer, bytes, InvalidParams], None]
    """Gets an action whose content does not fit."""
    unsubscribe: Callable[[AhpPeer, UnsubscribeParams], None]


class AhpPeer:
    """A client, as the host sees it over one connection."""

    def __init__(self, host: Host, link: WebSocket, service: Service) -> None:
        self.host = host
        self._service = service
        self.journal = host.journal
        self.link = link
        self.client_id = ""
        """Empty before the handshake."""
        self.count = Count(0)
        self.is_gone = False
        self.publish = link.send
        """Hear of something: the journal's `Subscriber`."""
        self._backlog: deque[tuple[_Incoming, int]] = deque()
        self._backlog_bytes = 0
        self._in_line: asyncio.Task[None] | None = None
        self._is_client = False
        """Whether what comes here counts as a client's."""
        self._alongside: set[asyncio.Task[None]] = set()
        self._under_way = 0
        self._rpc: jsonrpc.Peer[asyncio.Future[Any]] = jsonrpc.Peer(_CODEC)

    # -- the connection ------------------------------------------------------------------------------------

    def received(self, data: bytes) -> None:
        """Take a message. It is handled at once unless an earlier one is still under way."""
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
        """Whether nothing should be read now: too much waits for the disk."""
        return self.journal.holds_up(go_on)

    async def _work(self, work: _Work) -> None:
        while True:
            try:
                await work
            except Exception:  # noqa: BLE001 - what comes next is not to blame
                _log.exception("a message of %r was not dealt with", self.client_id)
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
        """The connection is gone. That changes nothing but presence, and ends what only it waited for.

        What waits in line happens all the same: it was received.
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
                self._service.unreadable(self, data, error)  # a notification: nobody waits for an answer
                return None
            case _Unreadable(error=error) if not (isinstance(error, InvalidParams) and error.id is None):
                self.fail(error)
                return None
            case _:
                return None

    def _notified(self, message: jsonrpc.Notification) -> _Work | None:
        match message.params:
            case UnsubscribeParams() as params:
                self._service.unsubscribe(self, params)
                return None
            case DispatchActionParams() as params:
                return self._service.dispatched(self, params)
            case _:
                return None

    def _refusal(self, request: jsonrpc.Request) -> ProtocolError | None:
        """Why one more request may not be under way. Else it is."""
        limit = self.host.settings.requests_per_connection
        if self._under_way >= limit:
            problem = f"{limit} requests are under way; wait for answers"
            return ProtocolError(problem, id=request.id, number=TOO_MANY_REQUESTS)
        self._under_way += 1
        return None

    def _request(self, request: jsonrpc.Request) -> _Work | None:
        unavailable = self.journal.unavailable
        if unavailable is not None and request.method != "ping":
            self._under_way -= 1
            self.refuse(request, unavailable)  # what it would wait for may not come for long
            return None
        try:
            command = self._service.commands.get(request.method)
            self._check_order(request.method, is_first=command is not None and command.is_first)
            if command is None:
                raise MethodNotFound(f"this host does not serve {request.method!r} yet")
            if self.link.role == Role.RESPONDER and not command.for_responders:
                problem = f"this device may read and answer, and nothing else: not {request.method}"
                raise ProtocolError(problem, number=AhpErrorCode.PERMISSION_DENIED)
            work = command.serve(self, request)
        except SeraiError as error:
            self._under_way -= 1
            self.refuse(request, error)
            return None
        if work is None:
            self._under_way -= 1
            return None
        if command.alongside:
            task = asyncio.create_task(self._finish(request, work))
            self._alongside.add(task)
            task.add_done_callback(self._alongside.discard)
            return None
        return self._finish(request, work)

    def _check_order(self, method: str, *, is_first: bool) -> None:
        if not self.client_id and not is_first:
            raise InvalidRequest(f"{method} comes before initialize: that must be first")
        if self.client_id and is_first and method != "ping":
            raise InvalidRequest("this connection is initialized already")

    async def _finish(self, request: jsonrpc.Request, work: _Work) -> None:
        try:
            await work
        except SeraiError as error:
            self.refuse(request, error)
        except Exception:  # noqa: BLE001 - a request gets an answer, whatever happens
            _log.exception("%s failed", request.method)
            self.fail(ProtocolError("the host failed; its log says why", id=request.id))
        finally:
            self._under_way -= 1

    # -- answers -------------------------------------------------------------------------------------------

    def respond(self, request: jsonrpc.Request, result: Any = None) -> None:
        """Answer, once all that happened before is committed, and told.

        While nothing can be written, who has only asked is told so at once. Who has changed something waits
        for room: it has happened, and is not undone.
        """
        message = _framed(jsonrpc.Success(id=request.id, result=result))
        only_asked = self._service.commands[request.method].only_asks
        self.journal.then(
            lambda _seq: self.link.respond(message),
            instead=(lambda reason: self.refuse(request, reason)) if only_asked else None,
        )

    def respond_now(self, request: jsonrpc.Request, result: Any = None) -> None:
        """Answer at once: for who stands in the journal's line already, or tells of nothing."""
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
        """The same, for a request."""
        self.fail(_answer_to(request, error))

    def become(self, client_id: str) -> None:
        """From now on this is the connection of that client."""
        self.client_id = client_id
        self._is_client = True
        self.host.clients.began(client_id)
        if not self.is_gone:
            self.host.clients.connected(client_id, self)

    def become_nobody(self) -> None:
        """The handshake has failed after all: the client may try it again."""
        if not self.is_gone:
            self.host.client_disconnected(self.client_id, self)
        self._finish_counting()
        self.client_id = ""

    # -- questions to the client ---------------------------------------------------------------------------

    async def ask(self, method: str, params: wire.Value) -> Any:
        """Ask the client something, after all that it has heard of, and wait for its answer.

        Cancelling forgets the question; an answer that comes later is ignored.

        Raises:
            ProtocolError: The client says no, with its own number; or it did not answer in time.
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


def _answer_to(request: jsonrpc.Request, error: SeraiError) -> ProtocolError:
    if not isinstance(error, ProtocolError):
        error = ProtocolError(str(error), data=error.to_wire())
    error.id = request.id
    return error
