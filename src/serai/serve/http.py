"""HTTP on the port: health, readiness, the name of the host, and further routes, all behind the guard.

Every error is answered with JSON: `code`, `message`, `remedy`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serai.serve.guard import Guard, Refusal
from serai.version import __version__

Readiness = Callable[[], tuple[bool, dict[str, Any]]]
"""Tells whether the host is ready, with details for a person who asks. It must not block."""

_ALWAYS: list[tuple[bytes, bytes]] = [
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]
"""Headers of every answer: the address may hold a token, so no page may pass it on, and nothing is cached."""


def create_app(
    guard: Guard, readiness: Readiness, known: Callable[[Any], None], more: Sequence[BaseRoute] = ()
) -> ASGIApp:
    """Return the application for all requests that do not become WebSockets, behind the guard.

    - `GET /healthz`: `{"status": "ok"}` as long as the event loop turns. Needs no token.
    - `GET /readyz`: 200 with `{"status": "ready", "detail": …}`, or 503 with `not_ready`.
    - `GET /`: the host's name and version, unless a further route answers there. AHP is spoken over a
      WebSocket at `/` and `/ahp`.

    Args:
        guard: Decides on each request.
        readiness: Answers `/readyz`.
        known: Called with the transport of each request that has shown a token.
        more: Further routes. They find `token_digest` and `role` of the token in `request.state`.
    """

    async def healthz(_request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def readyz(_request: Request) -> Response:
        ready, detail = readiness()
        status = "ready" if ready else "not_ready"
        return JSONResponse({"status": status, "detail": detail}, status_code=200 if ready else 503)

    async def home(_request: Request) -> Response:
        return JSONResponse({"name": "serai", "version": __version__, "ahp": "ws"})

    routes = [Route("/healthz", healthz), Route("/readyz", readyz), *more, Route("/", home)]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _expected, Exception: _unexpected})
    app.router.redirect_slashes = False

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(one for one in _ALWAYS if one[0] not in present)]
            await send(message)

        headers = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"])
        query = scope["query_string"].decode("latin-1")
        decision = guard.request(scope["path"], query, headers, scope["method"])
        if isinstance(decision, Refusal):
            await refusal_answer(decision)(scope, receive, send_with_headers)
            return
        scope["state"] |= {"token_digest": decision.token_digest, "role": decision.role}
        if decision.token_digest:
            known(scope["state"]["transport"])
        await app(scope, receive, send_with_headers)

    return guarded


def refusal_answer(refusal: Refusal) -> Response:
    """Return the answer to a request that the guard refuses."""
    challenge = {"WWW-Authenticate": "Bearer"} if refusal.status == 401 else {}
    return error_answer(*refusal, {"Cache-Control": "no-store", **challenge})


def _expected(_request: Request, error: Exception) -> Response:
    """Answer the errors that Starlette raises by itself: no such path, no such method."""
    assert isinstance(error, HTTPException)  # noqa: S101 - it is registered for that
    phrase = HTTPStatus(error.status_code).phrase.lower()
    allowed = (error.headers or {}).get("Allow")
    remedy = f"Use {allowed}" if allowed else "Look at / for what is here"
    return error_answer(error.status_code, phrase.replace(" ", "_"), phrase, remedy, error.headers)


def _unexpected(_request: Request, _fault: Exception) -> Response:
    """Answer a fault of the host. Starlette raises it again after the answer, so it is logged."""
    return error_answer(500, "error", "the host could not answer", "See its log")


def error_answer(
    status: int, code: str, message: str, remedy: str | None, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the answer to a request that fails."""
    wire = {"code": code, "message": message, "remedy": remedy}
    return JSONResponse(wire, status_code=status, headers=headers)
