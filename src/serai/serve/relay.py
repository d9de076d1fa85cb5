"""The relay over the port: JSON-RPC 2.0 on the WebSocket `/relay`, and call by call as `POST /relay`.

`POST /link` gives a device its token, for a code (`devices.link`).

Both have the same methods (`serai.contract.relay_calls`). Over the WebSocket the host also sends `event`
notifications for subscriptions, and `actions.run` requests to the owner of an action. An error's `data` has a
stable `code`, a `message`, and a `remedy` where there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from serai.contract import Role
from serai.contract.relay_calls import read_params
from serai.errors import ConnectionLost, InvalidRequest, LinkSpent, SeraiError
from serai.jsonrpc import Failure, Request, Success
from serai.relay.links import CODEC, HostEnd, read_call, refusal_of
from serai.relay.tokens import Caller
from serai.relay.workspace import Workspace
from serai.serve.frames import text_frame
from serai.serve.http import error_answer
from serai.serve.websocket import WebSocket

_LONGEST_CODE = 4096
"""Longest body of a request with a code, in bytes."""


class _LinkBody(msgspec.Struct):
    code: str
    name: str = ""
    has: str = ""
    """Token that the device has already."""


def caller_of(workspace: Workspace, token_digest: str, role: Role) -> Caller | None:
    """Return the holder of a token; `None` if it was revoked."""
    return Caller(role) if role == Role.OWNER else workspace.tokens.caller(token_digest)


async def _redeem(workspace: Workspace, request: HttpRequest) -> Response:
    """Answer a device's code with its token."""
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
    """Return the routes of the relay over HTTP."""

    async def post(request: HttpRequest) -> Response:
        call_id: Any = None
        try:
            call = read_call(await request.body())
            call_id = call.id if isinstance(call, Request) else None
            caller = caller_of(workspace, request.state.token_digest, request.state.role)
            if caller is None or call.method.startswith("events."):
                problem = "events come over the WebSocket" if caller else "the token opens nothing any more"
                raise InvalidRequest(problem)  # noqa: TRY301 - it is answered like any error
            params = read_params(call.method, call.params)
            answer = Success(id=call_id, result=await workspace.call(caller, call.method, params))
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets an answer
            answer = Failure(id=call_id, error=refusal_of(error))
        return Response(CODEC.encode(answer), media_type="application/json")

    redeem = partial(_redeem, workspace)
    return [Route("/relay", post, methods=["POST"]), Route("/link", redeem, methods=["POST"])]


class RelayPeer(HostEnd):
    """A participant, or a program of the owner's, on one WebSocket."""

    def __init__(self, workspace: Workspace, link: WebSocket) -> None:
        super().__init__(
            workspace, lambda data: link.respond(text_frame(data)), lambda data: link.send(text_frame(data))
        )
        self._link = link

    def holds_up(self, go_on: Callable[[], None]) -> bool:
        """Tell whether reading should pause: too much waits for the disk."""
        return self._workspace.host.journal.holds_up(go_on)

    def caller(self) -> Caller:
        """Return the caller. If the token was revoked, close the connection."""
        caller = caller_of(self._workspace, self._link.token_digest, self._link.role)
        if caller is None:
            self._link.close(4401, "the token was revoked")
            raise ConnectionLost("the connection is over")
        return caller._replace(link=self)
