"""HTTP on the port: whether the host lives, whether it is ready, and who it is.

The guard stands before every route. Whatever goes wrong is answered with JSON: `code`, `message`, `remedy`.
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
"""Whether the host is ready, and what a person who asks should know about it. It must not block."""

# The address holds the token: no page may pass it on, and nothing may keep an answer.
_ALWAYS: list[tuple[bytes, bytes]] = [
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]


def create_app(
    guard: Guard, readiness: Readiness, known: Callable[[Any], None], more: Sequence[BaseRoute] = ()
) -> ASGIApp:
    """The application for all requests that do not become WebSockets.

    `known` is called with the transport of a request that has shown a token; `more` are further routes. They
    find in `request.state` the `token_digest`, and the token's `role`.

    - `GET /healthz`: `{"status": "ok"}` as long as the event loop turns. Needs no token.
    - `GET /readyz`: 200 with `{"status": "ready", "detail": …}`, or 503 with `not_ready`.
    - `GET /`: who is here, unless a further route is there. AHP is spoken over a WebSocket at `/` and `/ahp`.
    """

    async def healthz(_request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def readyz(_request: Request) -> Response:
        ready, detail = readiness()
        status = "ready" if ready else "not_ready"
        return JSONResponse({"status": status, "detail": detail}, status_code=200 if ready else 503)

    async def home(_request: Request) -> Response:
        return JSONResponse({"name": "serai", "version": __version__, "ahp": "ws"})

    routes = [
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        *more,
        Route("/", home),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _expected, Exception: _unexpected})
    app.router.redirect_slashes = False
    return GuardedApp(app, guard, known)


class GuardedApp:
    """An application behind the guard. It sees only requests that the guard lets pass."""

    def __init__(self, app: ASGIApp, guard: Guard, known: Callable[[Any], None]) -> None:
        self._app = app
        self._guard = guard
        self._known = known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Ask the guard, then the application."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(one for one in _ALWAYS if one[0] not in present)]
            await send(message)

        if scope["type"] != "http":
            # WebSockets have their own way in (`serai.serve.websocket`), with the same guard.
            raise RuntimeError(f"the application answers HTTP only, not {scope['type']!r}")
        headers = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"])
        decision = self._guard.request(
            scope["path"], scope["query_string"].decode("latin-1"), headers, scope["method"]
        )
        app: ASGIApp = self._app
        if isinstance(decision, Refusal):
            app = refusal_answer(decision)
        else:
            scope["state"]["token_digest"] = decision.token_digest
            scope["state"]["role"] = decision.role
            if decision.token_digest:
                self._known(scope["state"]["transport"])
        await app(scope, receive, send_with_headers)


def refusal_answer(refusal: Refusal) -> Response:
    """The answer to a request that the guard lets not pass."""
    challenge = {"WWW-Authenticate": "Bearer"} if refusal.status == 401 else {}
    return error_answer(*refusal, {"Cache-Control": "no-store", **challenge})


def _expected(_request: Request, error: Exception) -> Response:
    """No such path, no such method: what Starlette raises by itself."""
    assert isinstance(error, HTTPException)  # noqa: S101 - it is registered for that
    phrase = HTTPStatus(error.status_code).phrase.lower()
    allowed = (error.headers or {}).get("Allow")
    remedy = f"Use {allowed}" if allowed else "Look at / for what is here"
    return error_answer(error.status_code, phrase.replace(" ", "_"), phrase, remedy, error.headers)


def _unexpected(_request: Request, _fault: Exception) -> Response:
    """A fault of ours. Starlette raises it again after the answer, and so it is logged."""
    return error_answer(500, "error", "the host could not answer", "See its log")


def error_answer(
    status: int, code: str, message: str, remedy: str | None, headers: Mapping[str, str] | None = None
) -> Response:
    """The answer to a request that cannot be met."""
    wire = {"code": code, "message": message, "remedy": remedy}
    return JSONResponse(wire, status_code=status, headers=headers)
