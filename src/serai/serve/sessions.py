"""Sessions over HTTP, below `/sessions/ID`: the last part of a session's URI, or the whole of it, encoded.

- `GET /sessions/ID/events`: what happens in it, as server-sent events, from the beginning or a number on.

All of it is for the owner's tokens.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Send

from serai.errors import InvalidParams, SeraiError, SessionGone, StorageUnavailable
from serai.host.host import Host
from serai.host.session.session import Session
from serai.serve.ahp.subscriptions import loaded
from serai.serve.http import error_answer
from serai.session.events import SessionEvent, event_of, resync, started

Sink: TypeAlias = Callable[[Sequence[SessionEvent]], Awaitable[None]]
"""Takes events, in order. None at all: nothing has happened for a while."""

_PAGE = 256
"""How many events are read at once."""
_WRITE = 64 * 1024
"""About how many bytes are written at once."""
_QUIET = 15.0
"""After so many seconds without an event a reader hears that the host is there."""
_STATUSES: dict[type[SeraiError], int] = {SessionGone: 404, StorageUnavailable: 503}
_NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)


def session_endpoint(
    host: Host, answer: Callable[[Session, Request], Awaitable[Response]]
) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint of a route below `/sessions/{name:path}`, given what it answers about that session."""

    async def endpoint(request: Request) -> Response:
        name: str = request.path_params["name"]
        try:
            uri = host.sessions.find(name)
            session = await host.sessions.bring(uri) if uri is not None else None
            if session is None:
                raise SessionGone(
                    f"there is no session {name!r}, or more than one",
                    remedy="Write its whole URI, percent-encoded",
                )
            await host.journal.committed(patient=False)
            return await answer(session, request)
        except SeraiError as error:
            status = _STATUSES.get(type(error), 400)
            return error_answer(status, error.code, error.message, error.remedy)

    return endpoint


class SessionRoutes:
    """What a host answers about its sessions over HTTP."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._readers: set[_Reader] = set()
        self._is_closed = False

    @property
    def routes(self) -> list[Route]:
        """The routes."""
        return [Route("/sessions/{name:path}/events", session_endpoint(self._host, self._events))]

    def close(self) -> None:
        """End all streams: the host goes away."""
        self._is_closed = True
        for reader in self._readers:
            reader.woken.set()

    def cut(self, token_digest: str) -> None:
        """End the streams that a token has opened: it was revoked."""
        for reader in self._readers:
            if reader.token_digest == token_digest:
                reader.is_cut = True
                reader.woken.set()

    # -- events --------------------------------------------------------------------------------------------

    async def _events(self, session: Session, request: Request) -> Response:
        asked = request.headers.get("last-event-id") or request.query_params.get("after") or "0"
        last = session.kept.events
        if not _NUMBER.fullmatch(asked) or int(asked) > last:
            error = InvalidParams(f"there is no event {asked[:40]!r}: the last one is {last}", field="after")
            error.remedy = "Leave it out to begin with the first event"
            raise error
        if request.method == "HEAD":
            return Response(media_type=_EventStream.media_type)
        token: str = request.state.token_digest
        return _EventStream(lambda sink: self.tell(session.uri, int(asked), sink, token))

    async def tell(self, uri: str, after: int, sink: Sink, token_digest: str = "") -> None:
        """Tell the events of a session to a sink: all after a number, then each once it is committed.

        They are read from the store when the sink is ready for more, so that nothing is kept for slow ones.
        It ends when the session is disposed of, the host goes away, or the token is revoked.
        What the sink raises ends it, too.
        """
        journal, reader = self._host.journal, _Reader(token_digest)
        async with loaded(self._host, [uri]):
            session = self._host.sessions.peek(uri)
            journal.subscriptions.add(uri, reader)  # which also keeps the session in memory
        self._readers.add(reader)
        try:
            if session is not None:
                await self._tell(session, after, sink, reader)
        finally:
            self._readers.discard(reader)
            journal.subscriptions.forget(reader)

    async def _tell(self, session: Session, after: int, sink: Sink, reader: _Reader) -> None:
        store, summary = self._host.journal.store, session.live.head.summary
        name, made = session.uri, summary.created_at
        if after == 0:
            agent = {"provider": summary.provider, **({"uri": summary.agent.uri} if summary.agent else {})}
            settings = session.live.head.config.values if session.live.head.config else {}
            await sink([started(name, made, agent, settings)])
            after = 1
        known = session.kept.events
        await self._host.journal.committed()
        while self._host.sessions.knows(session.uri) and not (self._is_closed or reader.is_cut):
            reader.woken.clear()
            rows = await store.events(session.uri, after, _PAGE)
            first = rows[0].number if rows else known + 1
            if first > after + 1:
                await sink([resync(name, self._host.now(), first)])
                after = first - 1
            if rows:
                read = msgspec.json.decode
                await sink([event_of(name, row.number, row.at or made, read(row.action)) for row in rows])
                after = rows[-1].number
                continue
            try:
                async with asyncio.timeout(_QUIET):
                    await reader.woken.wait()
            except TimeoutError:
                await sink([])


class _Reader:
    """Follows a session's channel only to know that something was committed there."""

    def __init__(self, token_digest: str) -> None:
        self.token_digest = token_digest
        self.is_cut = False
        self.woken = asyncio.Event()

    def publish(self, frames: bytes) -> None:
        """See `Subscriber`."""
        del frames
        self.woken.set()


class _EventStream(StreamingResponse):
    """An answer that goes on until its reader leaves, or nothing is left to tell."""

    media_type = "text/event-stream"

    def __init__(self, tell: Callable[[Sink], Awaitable[None]]) -> None:
        super().__init__((), headers={"X-Accel-Buffering": "no"})  # a proxy that gathers would hold it back
        self._tell = tell

    async def stream_response(self, send: Send) -> None:
        """Begin the answer, write what is told, and end it."""

        async def write(body: bytes, *, more: bool = True) -> None:
            await send({"type": "http.response.body", "body": body, "more_body": more})

        async def sink(events: Sequence[SessionEvent]) -> None:
            waiting = bytearray()
            for event in events:
                waiting += b"id: %d\ndata: %b\n\n" % (event.sequence_number, event.to_json())
                if len(waiting) >= _WRITE:
                    await write(bytes(waiting))
                    waiting.clear()
            if waiting or not events:
                await write(bytes(waiting) or b":\n\n")

        start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        await send(start)
        await self._tell(sink)
        await write(b"", more=False)
