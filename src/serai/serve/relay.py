"""The relay over the port: JSON-RPC 2.0 on the WebSocket `/relay`, and call by call as `POST /relay`.

`POST /link` gives a device its token, for a code (`devices.link`).

Both know the same methods (`serai.contract.relay_calls`). Over the WebSocket the host also notifies `event`,
for each subscription, and asks whoever registered an action to run it (`actions.run`). An error's `data` has
a stable `code`, a `message`, and a `remedy` where there is one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from serai.contract import (
    Empty,
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
    SeraiError,
)
from serai.relay.inbox import Caller
from serai.relay.links import RpcPeer, answer, read_call, told_as_error
from serai.relay.workspace import Workspace
from serai.serve.frames import text_frame
from serai.serve.http import error_answer
from serai.serve.websocket import WebSocket

__all__ = ["RelayPeer", "relay_routes"]

_log = logging.getLogger(__name__)

_LONGEST_CODE = 4096
"""So long may be what a device sends with its code, in bytes."""


class _LinkBody(msgspec.Struct):
    code: str
    name: str = ""
    has: str = ""
    """The token that the device has already."""


def caller_of(workspace: Workspace, token_digest: str, role: Role) -> Caller | None:
    """Who holds a token; `None` when it opens nothing any more."""
    return Caller(role) if role == Role.OWNER else workspace.tokens.caller(token_digest)


def _told(error: Exception) -> dict[str, Any]:
    """What a caller is told of an error. What was not foreseen stands in the host's log alone."""
    told = told_as_error(error)
    if not isinstance(error, SeraiError):
        _log.exception("a call of the relay failed", exc_info=error)
        told["message"] = "the host could not answer; see its log"
        told["data"] = {"code": "error", "message": told["message"]}
    return told


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
            call = read_call(await request.body())
            call_id = call.number
            caller = caller_of(workspace, request.state.token_digest, request.state.role)
            if caller is None or call.method.startswith("events."):
                what = "events are heard over the WebSocket" if caller else "the token opens nothing any more"
                raise InvalidRequest(what)  # noqa: TRY301 - it is told like all else
            params = read_params(call.method, bytes(call.params))
            told = answer(call_id, result=await workspace.call(caller, call.method, params))
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets an answer
            told = answer(call_id, error=_told(error))
        return Response(told, media_type="application/json")

    async def link(request: HttpRequest) -> Response:
        return await _redeem(workspace, request)

    return [Route("/relay", post, methods=["POST"]), Route("/link", link, methods=["POST"])]


class RelayPeer(RpcPeer):
    """A participant, or a program of the owner's, on one WebSocket."""

    def __init__(self, workspace: Workspace, link: WebSocket) -> None:
        super().__init__()
        self._workspace = workspace
        self._link = link
        self._subscriptions: dict[str, asyncio.Task[None]] = {}

    def holds_up(self, go_on: Callable[[], None]) -> bool:
        """Whether nothing should be read now: too much waits for the disk."""
        return self._workspace.host.journal.holds_up(go_on)

    def disconnected(self) -> None:
        """The connection is over. What was begun is done to its end; nobody hears of it here."""
        for task in self._subscriptions.values():
            task.cancel()
        self.over(ConnectionLost("the connection is over"))

    async def request(self, method: str, params: Any) -> bytes:
        """See `RpcPeer`. Nothing is asked of whoever has a token that was revoked."""
        self._caller()
        return await super().request(method, params)

    async def write(self, data: bytes) -> None:
        """See `RpcPeer`."""
        self._link.respond(text_frame(data))

    def told(self, error: Exception) -> dict[str, Any]:
        """See `RpcPeer`."""
        return _told(error)

    def _caller(self) -> Caller:
        """Who is there. With a token that was revoked nobody is, and the connection is closed."""
        caller = caller_of(self._workspace, self._link.token_digest, self._link.role)
        if caller is None:
            self._link.close(4401, "the token was revoked")
            raise ConnectionLost("the connection is over")
        return caller._replace(link=self)

    async def respond(self, method: str, params: bytes) -> Any:
        """See `RpcPeer`."""
        caller, read = self._caller(), read_params(method, params)
        if isinstance(read, SubscribeParams):
            return await self._subscribe(caller, read)
        if isinstance(read, UnsubscribeParams):
            self._unsubscribe(read)
            return Empty()
        return await self._workspace.call(caller, method, read)

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
        with contextlib.suppress(ConnectionLost):
            async for event in events:
                self._caller()
                told = {"subscription": subscription, "event": event}
                notice = {"jsonrpc": "2.0", "method": "event", "params": told}
                self._link.send(text_frame(msgspec.json.encode(notice)))
