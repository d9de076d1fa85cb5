"""The relay over the port: JSON-RPC 2.0 on the WebSocket `/relay`, and call by call as `POST /relay`.

`POST /link` gives a device its token, for a code (`devices.link`).

Both know the same methods (`serai.contract.relay_calls`). Over the WebSocket the host also notifies `event`,
for each subscription, and asks whoever registered an action to run it (`actions.run`). An error's `data` has
a stable `code`, a `message`, and a `remedy` where there is one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any, Literal

import msgspec
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from serai.contract import (
    Empty,
    Record,
    Role,
    SubscribeParams,
    SubscribeResult,
    UnsubscribeParams,
    WorkspaceEvent,
)
from serai.contract.relay_calls import read_params
from serai.errors import (
    ConnectionLost,
    InvalidParams,
    InvalidRequest,
    LinkSpent,
    ParseError,
    ProtocolError,
    SeraiError,
)
from serai.relay.inbox import Caller
from serai.relay.sdk import told_as_error
from serai.relay.workspace import Workspace
from serai.serve import Connection
from serai.serve.frames import text_frame
from serai.serve.http import error_answer

__all__ = ["RelayPeer", "relay_routes"]

_log = logging.getLogger(__name__)

_MOST_UNDER_WAY = 1000
"""How many calls of one connection may be under way."""
_LONGEST_CODE = 4096
"""So long may be what a device sends with its code, in bytes."""


class _Call(msgspec.Struct):
    """A call, with its parameters unread, or, without a method, the answer to one of ours."""

    jsonrpc: Literal["2.0"]
    method: str = ""
    id: int | float | str | msgspec.UnsetType | None = msgspec.UNSET
    params: msgspec.Raw = msgspec.Raw(b"{}")
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: _Error | msgspec.UnsetType = msgspec.UNSET


class _LinkBody(msgspec.Struct):
    code: str
    name: str = ""
    has: str = ""
    """The token that the device has already."""


class _Error(msgspec.Struct):
    code: int = 0
    message: str = ""
    data: Any = None


_read_call = msgspec.json.Decoder(_Call).decode


def caller_of(workspace: Workspace, token_digest: str, role: Role) -> Caller | None:
    """Who holds a token; `None` when it opens nothing any more."""
    return Caller(role) if role == Role.OWNER else workspace.tokens.caller(token_digest)


def _read(data: bytes) -> _Call:
    try:
        call = _read_call(data)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"not a call: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ParseError(f"not JSON: {error}") from None
    if not call.method and call.result is call.error is msgspec.UNSET:
        raise InvalidRequest("not a call: it names no method")
    return call


def _success(call_id: Any, result: Any) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": call_id, "result": result})


def _failure(call_id: Any, error: Exception) -> bytes:
    told = told_as_error(error)
    if not isinstance(error, SeraiError):
        _log.exception("a call of the relay failed", exc_info=error)
        told["message"] = "the host could not answer; see its log"
        told["data"] = {"code": "error", "message": told["message"]}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": call_id, "error": told})


async def _redeem(workspace: Workspace, request: HttpRequest) -> Response:
    """A device's token, for its code."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > _LONGEST_CODE:
            return error_answer(413, "too_long", "this is no code", "Send the code that the link has")
    try:
        asked = msgspec.json.decode(body, type=_LinkBody)
        name: str = workspace.host.redactor.redact_value(asked.name, observed=False)
        token, info = workspace.tokens.redeem(asked.code, name, asked.has)
        await workspace.host.journal.committed(patient=False)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return error_answer(400, "invalid_params", f"this is no code: {error}", "Send {code, name}")
    except LinkSpent as error:
        return error_answer(401, error.code, error.message, error.remedy)
    except SeraiError as error:
        return error_answer(503, error.code, error.message, error.remedy)
    return JSONResponse({"token": token, "role": info.role.value, "name": info.label})


def relay_routes(workspace: Workspace) -> list[Route]:
    """What the relay answers over HTTP."""

    async def post(request: HttpRequest) -> Response:
        call_id: Any = None
        try:
            call = _read(await request.body())
            call_id = None if call.id is msgspec.UNSET else call.id
            caller = caller_of(workspace, request.state.token_digest, request.state.role)
            if caller is None or call.method.startswith("events."):
                what = "events are heard over the WebSocket" if caller else "the token opens nothing any more"
                raise InvalidRequest(what)  # noqa: TRY301 - it is told like all else
            params = read_params(call.method, bytes(call.params))
            answer = _success(call_id, await workspace.call(caller, call.method, params))
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets an answer
            answer = _failure(call_id, error)
        return Response(answer, media_type="application/json")

    async def link(request: HttpRequest) -> Response:
        return await _redeem(workspace, request)

    return [Route("/relay", post, methods=["POST"]), Route("/link", link, methods=["POST"])]


class RelayPeer:
    """A participant, or a program of the owner's, on one WebSocket."""

    def __init__(self, workspace: Workspace, link: Connection) -> None:
        self._workspace = workspace
        self._link = link
        self._under_way: set[asyncio.Task[None]] = set()
        self._subscriptions: dict[str, asyncio.Task[None]] = {}
        self._last_request = 0
        self._requests: dict[int | float | str | None, asyncio.Future[bytes]] = {}
        """What the client was asked and has not answered yet."""
        self._when_closed: list[Callable[[], None]] = []

    def received(self, data: bytes) -> None:
        """Take a call. Calls do not wait for each other; what they store is in their order."""
        try:
            call = _read(data)
        except SeraiError as error:
            self._respond(_failure(None, error))
            return
        if not call.method:
            self._answered(call)
            return
        if len(self._under_way) >= _MOST_UNDER_WAY:
            self._respond(_failure(call.id, InvalidRequest("too many calls are under way")))
            return
        task = asyncio.create_task(self._answer(call))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    def holds_up(self, go_on: Callable[[], None]) -> bool:
        """Whether nothing should be read now: too much waits for the disk."""
        return self._workspace.host.journal.holds_up(go_on)

    def disconnected(self) -> None:
        """The connection is over. What was begun is done to its end; nobody hears of it here."""
        for task in self._subscriptions.values():
            task.cancel()
        for answer in self._requests.values():
            if not answer.done():
                answer.set_exception(ConnectionLost("the connection is over"))
        for call in self._when_closed:
            call()

    # -- asking the client ---------------------------------------------------------------------------------

    async def request(self, method: str, params: Record) -> bytes:
        """Ask the client. The question is written before anything is waited for.

        Returns the result, as JSON. Cancelling forgets the question: an answer that comes later is ignored.

        Raises:
            ConnectionLost: The connection is over, and nobody answers any more.
            ProtocolError: The answer is an error.
        """
        if not self._link.is_open or self._caller() is None:
            raise ConnectionLost("the connection is over")
        self._last_request = number = self._last_request + 1
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._requests[number] = answer
        try:
            call = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            self._respond(msgspec.json.encode(call))  # whoever asks bounds how much is asked at once
            return await answer
        finally:
            del self._requests[number]

    def when_closed(self, call: Callable[[], None]) -> None:
        """Call something once the connection is over, after all questions have been given up."""
        self._when_closed.append(call)

    def _answered(self, call: _Call) -> None:
        answer = self._requests.get(None if call.id is msgspec.UNSET else call.id)
        if answer is None or answer.done():
            return
        if isinstance(call.error, _Error):
            error = ProtocolError(call.error.message, number=call.error.code, data=call.error.data)
            answer.set_exception(error)
        elif isinstance(call.result, msgspec.Raw):
            answer.set_result(bytes(call.result))

    def _caller(self) -> Caller | None:
        """Who is there. With a token that was revoked nobody is, and the connection is closed."""
        caller = caller_of(self._workspace, self._link.token_digest, self._link.role)
        if caller is None:
            self._link.close(4401, "the token was revoked")
            return None
        return caller._replace(link=self)

    # -- answering it --------------------------------------------------------------------------------------

    async def _answer(self, call: _Call) -> None:
        call_id = None if call.id is msgspec.UNSET else call.id
        try:
            if (caller := self._caller()) is None:
                return
            params = read_params(call.method, bytes(call.params))
            if isinstance(params, SubscribeParams):
                answer = _success(call_id, await self._subscribe(caller, params))
            elif isinstance(params, UnsubscribeParams):
                self._unsubscribe(params)
                answer = _success(call_id, Empty())
            else:
                answer = _success(call_id, await self._workspace.call(caller, call.method, params))
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets an answer
            answer = _failure(call_id, error)
        if call.id is not msgspec.UNSET:
            self._respond(answer)

    def _respond(self, answer: bytes) -> None:
        self._link.respond(text_frame(answer))

    # -- events --------------------------------------------------------------------------------------------

    async def _subscribe(self, caller: Caller, params: SubscribeParams) -> SubscribeResult:
        result, events = await self._workspace.subscribe(caller, params)
        self._subscriptions[result.subscription] = asyncio.create_task(
            self._tell(result.subscription, events)
        )
        return result

    def _unsubscribe(self, params: UnsubscribeParams) -> None:
        task = self._subscriptions.pop(params.subscription, None)
        if task is None:
            raise InvalidParams(
                f"there is no subscription {params.subscription!r}", field="params.subscription"
            )
        task.cancel()

    async def _tell(self, subscription: str, events: AsyncIterator[WorkspaceEvent]) -> None:
        async for event in events:
            if self._caller() is None:
                return
            told = {"subscription": subscription, "event": event}
            notice = {"jsonrpc": "2.0", "method": "event", "params": told}
            self._link.send(text_frame(msgspec.json.encode(notice)))
