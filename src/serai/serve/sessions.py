"""Sessions over HTTP, below `/sessions/ID`. The ID is the last part of a session's URI, or the encoded URI.

- `GET …/events`: the session's events as server-sent events, from the first or a later number on.
- `GET …/messages`: the transcript: `{"messages": […]}`.
- `GET …/cost`: `{"spentMicrocents", "unpricedRequests", "maxCostMicrocents"?}`.
- `GET …/export`: the session as a workflow file; of a run, its workflow. With `?as=json` its nodes and edges.
- `GET …/grants`: what may run without asking; `DELETE …/grants?grant=…` takes one back.

Sessions of every kind of agent have all of these. Only the owner's tokens may read them.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Send

from serai.ahp.channels import is_run
from serai.ahp.extensions import SESSION_COST
from serai.contract.record import decode
from serai.errors import InvalidParams, SeraiError, SessionGone, StorageUnavailable
from serai.harness.model.runs import RunRecord
from serai.harness.model.transcript import messages_of
from serai.harness.model.turn import RAISED
from serai.host.host import Host
from serai.host.session.session import Session
from serai.host.surroundings.files import directory_of
from serai.host.turn import GRANTS
from serai.serve.ahp.subscriptions import loaded
from serai.serve.http import error_answer
from serai.session.ahp_turns import messages_of_turns
from serai.session.events import SessionEvent, event_of, resync, started
from serai.session.messages import AgentSessionRecord, SessionContext, SessionMessage
from serai.session.workflow import serialize, workflow_of

Sink: TypeAlias = Callable[[Sequence[SessionEvent]], Awaitable[None]]
"""Takes events in order. An empty sequence means that nothing has happened for a while."""

_PAGE = 256
"""Largest number of events that are read at once."""
_WRITE = 64 * 1024
"""Approximate size of one write, in bytes."""
_QUIET = 15.0
"""Seconds without an event after which a reader gets a sign of life."""
_STATUSES: dict[type[SeraiError], int] = {SessionGone: 404, StorageUnavailable: 503}
_NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)


class SessionRoutes:
    """The answers of a host about its sessions over HTTP."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._readers: set[_EventReader] = set()
        self._is_closed = False

    @property
    def routes(self) -> list[Route]:
        """The routes below `/sessions`."""
        below = "/sessions/{name:path}"
        return [
            Route(f"{below}/events", self._endpoint(self._events)),
            Route(f"{below}/messages", self._endpoint(self._messages)),
            Route(f"{below}/cost", self._endpoint(self._cost)),
            Route(f"{below}/export", self._endpoint(self._export)),
            Route(f"{below}/grants", self._endpoint(self._grants), methods=["GET", "DELETE"]),
        ]

    def _endpoint(
        self, answer: Callable[[Session, Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return the endpoint of a route, given its answer about the session of a request."""

        async def endpoint(request: Request) -> Response:
            name: str = request.path_params["name"]
            try:
                uri = self._host.sessions.find(name)
                session = await self._host.sessions.bring(uri) if uri is not None else None
                if session is None:
                    problem = f"there is no session {name!r}, or more than one"
                    raise SessionGone(problem, remedy="Write its whole URI, percent-encoded")
                await self._host.journal.committed(patient=False)
                return await answer(session, request)
            except SeraiError as error:
                status = _STATUSES.get(type(error), 400)
                return error_answer(status, error.code, error.message, error.remedy)

        return endpoint

    def close(self) -> None:
        """End all streams, because the host stops."""
        self._is_closed = True
        for reader in self._readers:
            reader.woken.set()

    def cut(self, token_digest: str) -> None:
        """End the streams that were opened with a revoked token."""
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
        """Send the events of a session to a sink: all after a number, then each once it is committed.

        They are read from the store when the sink is ready for more, so that nothing is kept for slow sinks.
        It ends when the session is disposed of, the host stops, the token is revoked, or the sink raises.
        """
        journal, reader = self._host.journal, _EventReader(token_digest)
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

    async def _tell(self, session: Session, after: int, sink: Sink, reader: _EventReader) -> None:
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

    # -- transcripts -------------------------------------------------------------------------------------

    async def _messages(self, session: Session, _request: Request) -> Response:
        found = await transcribed(self._host, session)
        return Response(msgspec.json.encode({"messages": found.messages}), media_type="application/json")

    async def _cost(self, session: Session, _request: Request) -> Response:
        cost: dict[str, int | None] = {"spentMicrocents": _reported_cost(session), "unpricedRequests": 0}
        kind = "workflow_run" if is_run(session.uri) else "agent_session"
        for data, spent, unpriced in await self._host.journal.store.relay(kind, session.uri):
            cost = {"spentMicrocents": spent, "unpricedRequests": unpriced}
            agent = None if is_run(session.uri) else decode(data, AgentSessionRecord).agent_snapshot
            if agent is not None and agent.budget is not None:
                cost["maxCostMicrocents"] = session.seat.noted(RAISED) or agent.budget.max_cost_microcents
        return JSONResponse(cost)

    async def _export(self, session: Session, request: Request) -> Response:
        if is_run(session.uri):
            ((data, *_),) = await self._host.journal.store.relay("workflow_run", session.uri)
            workflow = decode(data, RunRecord).workflow
        else:
            found = await transcribed(self._host, session)
            workflow = workflow_of(found.record, found.messages, truncated=found.truncated)
        if request.query_params.get("as") == "json":
            return Response(
                msgspec.json.encode(replace(workflow, metadata={})), media_type="application/json"
            )
        return Response(serialize(workflow), media_type="application/yaml")

    async def _grants(self, session: Session, request: Request) -> Response:
        grants: list[str] = session.seat.noted(GRANTS) or []
        if request.method == "DELETE":
            gone = request.query_params.get("grant")
            grants = [grant for grant in grants if grant != gone]
            session.note(GRANTS, grants or None)
            await self._host.journal.committed(patient=False)
        return JSONResponse({"grants": grants})


class Transcribed(NamedTuple):
    """A session's record with its transcript."""

    record: AgentSessionRecord
    messages: list[SessionMessage]
    truncated: frozenset[int]
    """Numbers of the messages that were truncated."""


def _reported_cost(session: Session) -> int | None:
    """Return the cost that an agent reports, in microcents; `None` if it reports none in dollars."""
    state = session.live.snapshot()
    for usage in (turn.usage for turn in (state.active_turn, *reversed(state.turns)) if turn is not None):
        cost = ((usage.meta if usage else None) or {}).get(SESSION_COST)
        if cost is not None:
            return round(cost["amount"] * 1e8) if cost["currency"] == "USD" else None
    return None


async def transcribed(host: Host, session: Session) -> Transcribed:
    """Return a session's transcript, from its tables or else from its turns."""
    state = session.live.snapshot()
    summary = state.summary
    created, modified = (
        datetime.fromtimestamp(moment / 1000, UTC) for moment in (summary.created_at, summary.modified_at)
    )
    rows = await host.journal.store.relay("agent_session", session.uri)
    if rows:
        ((data, *_),) = rows
        kept = messages_of(session.uri, await host.journal.store.relay("session_messages", session.uri))
        counting = {turn.id for turn in state.turns}
        if state.active_turn is not None:
            counting.add(state.active_turn.id)
        record = replace(
            decode(data, AgentSessionRecord),
            title=summary.title or None,
            created_at=created,
            updated_at=modified,
        )
        truncated = frozenset(message.sequence_number for turn, message in kept if turn not in counting)
        return Transcribed(record, [message for _, message in kept], truncated)
    record = AgentSessionRecord(
        id=session.uri,
        agent_slug=summary.provider,
        title=summary.title or None,
        context=SessionContext(working_dir=str(directory_of(summary.working_directory) or "")),
        created_at=created,
        updated_at=modified,
    )
    if is_run(session.uri):
        kept = messages_of(session.uri, await host.journal.store.relay("run_messages", session.uri))
        return Transcribed(record, [message for _, message in kept], frozenset())
    messages = messages_of_turns(session.uri, state.turns, created)
    return Transcribed(record, messages, frozenset())


class _EventReader:
    """Follows a session's channel to learn that something was committed there."""

    def __init__(self, token_digest: str) -> None:
        self.token_digest = token_digest
        self.is_cut = False
        self.woken = asyncio.Event()

    def publish(self, frames: bytes) -> None:
        """Wake the reader. The frames themselves are not used."""
        del frames
        self.woken.set()


class _EventStream(StreamingResponse):
    """An answer of server-sent events. It ends when its reader leaves, or when there are no more events."""

    media_type = "text/event-stream"

    def __init__(self, tell: Callable[[Sink], Awaitable[None]]) -> None:
        super().__init__((), headers={"X-Accel-Buffering": "no"})  # a proxy that gathers would hold it back
        self._tell = tell

    async def stream_response(self, send: Send) -> None:
        """Write the events as they come."""

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
