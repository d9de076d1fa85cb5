"""One client's connection: what it asks and dispatches, and what it hears, in one order.

Messages of one connection are handled one after the other. Answers wait in the journal's line, so that
whatever an answer reflects has been committed, and published to this client, before it leaves.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from msgspec import Raw, Struct

from serai.ahp import actions as a
from serai.ahp import commands as c
from serai.ahp import jsonrpc, wire
from serai.ahp.channels import ChannelKind, kind_of
from serai.ahp.errors import AhpErrorCode
from serai.ahp.notifications import DispatchActionParams, UnsubscribeParams
from serai.ahp.types import ROOT, Count
from serai.depth import MAX_DEPTH
from serai.errors import InvalidParams, InvalidRequest, MethodNotFound, ProtocolError, SeraiError
from serai.host.content import BLOB_SCHEME, read_blob
from serai.host.host import Host, resolved_config
from serai.journal.envelopes import envelope, notification, origin_json
from serai.journal.recent import MAX_BYTES, MAX_ENVELOPES
from serai.serve import Connection
from serai.serve.frames import text_frame
from serai.store.contract import ClientRow

__all__ = ["AhpPeer"]

_log = logging.getLogger(__name__)

_VERSION = re.compile(r"0\.2\.(?:0|[1-9][0-9]*)")
_SUPPORTED = ["^0.2.0"]
_MAX_BACKLOG_BYTES = 16 * 1024 * 1024
_MAX_TURNS = 200
_MAX_DEPTH = MAX_DEPTH - 28
"""What comes in comes out again inside an envelope or a snapshot, and a client reads no deeper than that."""
_TOO_MANY_REQUESTS = -32000


class _LooseParams(Struct, rename="camel"):
    channel: str
    client_seq: Count
    action: dict[str, Any]


class _LooseDispatch(Struct, tag_field="method", tag="dispatchAction"):
    """A dispatch whose action could not be read."""

    params: _LooseParams


_HANDLERS: dict[str, Callable[[Any, jsonrpc.Request], Any]] = {}

H = TypeVar("H", bound=Callable[..., Any])


def _serves(method: str) -> Callable[[H], H]:
    """The decorated method of a peer answers this command."""

    def register(handler: H) -> H:
        _HANDLERS[method] = handler
        return handler

    return register


class AhpPeer:
    """A client, as the host sees it over one connection."""

    def __init__(self, host: Host, link: Connection) -> None:
        self._host = host
        self._journal = host.journal
        self._link = link
        self._client_id: str | None = None
        self._backlog: deque[bytes] = deque()
        self._backlog_bytes = 0
        self._working: asyncio.Task[None] | None = None
        self._held: list[bytes] | None = None
        self._gone = False

    # -- the connection ------------------------------------------------------------------------------------

    def received(self, data: bytes) -> None:
        """Take a message. It is handled at once unless an earlier one is still under way."""
        if self._working is not None:
            self._backlog.append(data)
            self._backlog_bytes += len(data)
            if self._backlog_bytes > _MAX_BACKLOG_BYTES:
                self._link.close(1013, "too much is under way; wait for answers")
            return
        work = self._take(data)
        if work is not None:
            self._working = asyncio.create_task(self._work(work))

    async def _work(self, work: Coroutine[Any, Any, None]) -> None:
        while True:
            try:
                await work
            except Exception:  # noqa: BLE001 - what comes next is not to blame
                _log.exception("a message of %s was not dealt with", self._link.remote)
            while self._backlog and not self._gone:
                data = self._backlog.popleft()
                self._backlog_bytes -= len(data)
                more = self._take(data)
                if more is not None:
                    work = more
                    break
            else:
                self._working = None
                return

    def disconnected(self) -> None:
        """The connection is gone. That changes nothing but presence."""
        self._gone = True
        self._backlog.clear()
        self._journal.subscriptions.forget(self)
        if self._client_id is not None:
            self._host.client_disconnected(self._client_id)

    def publish(self, frames: bytes) -> None:
        """Hear of something: the journal's `Subscriber`."""
        if self._held is not None:
            self._held.append(frames)
        else:
            self._link.send(frames)

    # -- messages ------------------------------------------------------------------------------------------

    def _take(self, data: bytes) -> Coroutine[Any, Any, None] | None:
        try:
            message = jsonrpc.decode(data, _MAX_DEPTH)
        except InvalidParams as error:
            if error.id is None:  # a notification: nobody waits for an answer
                self._reject_unreadable(data, error)
            else:
                self._fail(error)
            return None
        except ProtocolError as error:
            self._fail(error)
            return None
        match message:
            case jsonrpc.Request():
                return self._request(message)
            case jsonrpc.Notification() if self._client_id is not None:
                return self._notified(message)
            case _:
                return None

    def _request(self, request: jsonrpc.Request) -> Coroutine[Any, Any, None] | None:
        try:
            if len(self._backlog) > self._host.settings.requests_per_connection:
                raise ProtocolError("too many requests are under way", number=_TOO_MANY_REQUESTS)
            if self._journal.unavailable is not None and request.method != "ping":
                raise self._journal.unavailable  # what it would wait for may not come for long
            handler = self._handler(request.method)
            result = handler(request)
        except SeraiError as error:
            self._fail(_answer_to(request, error))
            return None
        return self._finish(request, result) if asyncio.iscoroutine(result) else None

    async def _finish(self, request: jsonrpc.Request, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except SeraiError as error:
            self._fail(_answer_to(request, error))
        except Exception:  # noqa: BLE001 - a request gets an answer, whatever happens
            _log.exception("%s failed", request.method)
            self._fail(ProtocolError("the host failed; its log says why", id=request.id))

    def _handler(self, method: str) -> Callable[[jsonrpc.Request], Any]:
        if self._client_id is None and method not in {"ping", "initialize", "reconnect"}:
            raise InvalidRequest(f"{method} comes before initialize: that must be first")
        if self._client_id is not None and method in {"initialize", "reconnect"}:
            raise InvalidRequest("this connection is initialized already")
        handler = _HANDLERS.get(method)
        if handler is None:
            raise MethodNotFound(f"this host does not serve {method!r} yet")
        return lambda request: handler(self, request)

    def _respond(self, request: jsonrpc.Request, result: Any = None) -> None:
        """Answer, after all that happened before."""
        self._answer(jsonrpc.Success(id=request.id, result=result))

    def _fail(self, error: ProtocolError) -> None:
        self._answer(jsonrpc.Failure.of(error))

    def _answer(self, response: jsonrpc.Success | jsonrpc.Failure) -> None:
        message = text_frame(jsonrpc.encode(response))
        if self._journal.unavailable is None:
            self._journal.then(lambda _seq: self._link.respond(message))
        else:  # the line stands still, and this does not depend on it
            self._link.respond(message)

    # -- handshake -----------------------------------------------------------------------------------------

    @_serves("ping")
    def _ping(self, request: jsonrpc.Request) -> None:
        self._respond(request)

    @_serves("initialize")
    async def _initialize(self, request: jsonrpc.Request) -> None:
        params: c.InitializeParams = request.params
        version = next((v for v in params.protocol_versions if _VERSION.fullmatch(v)), None)
        if version is None:
            self._fail(
                ProtocolError(
                    f"none of the versions {params.protocol_versions} is supported",
                    id=request.id,
                    number=AhpErrorCode.UNSUPPORTED_PROTOCOL_VERSION,
                    data={"supportedVersions": _SUPPORTED},
                )
            )
            self._journal.then(lambda _seq: self._link.close(1002, "unsupported protocol version"))
            return
        channels = list(dict.fromkeys(params.initial_subscriptions or ()))
        async with self._loaded(channels) as keep:
            async with self._host.handshakes:
                await self._check_binding(params.client_id)
                self._become(params.client_id)
                row = ClientRow(params.client_id, version, self._link.token_digest)
                self._journal.side.clients.append(row)
                self._host.start_counting(params.client_id, 0)
            states, release = self._states(channels), keep()

        def answer(seq: int) -> None:
            snapshots = self._subscribe_all(states, seq)
            release()
            result = c.InitializeResult(
                protocol_version=version,
                server_seq=seq,
                snapshots=snapshots,
                default_directory=self._host.settings.default_directory,
            )
            self._link.respond(text_frame(jsonrpc.encode(jsonrpc.Success(id=request.id, result=result))))

        self._journal.then(answer)

    async def _check_binding(self, client_id: str) -> ClientRow | None:
        await self._journal.committed()  # an earlier connection may have bound it just now
        known = await self._journal.store.client(client_id)
        if known is not None and known.token != self._link.token_digest:
            raise ProtocolError(
                f"the client id {client_id!r} belongs to another token; choose another id",
                number=AhpErrorCode.PERMISSION_DENIED,
            )
        return known

    def _become(self, client_id: str) -> None:
        self._client_id = client_id
        if not self._gone:
            self._host.client_connected(client_id)

    @asynccontextmanager
    async def _loaded(self, channels: list[str]) -> AsyncGenerator[Callable[[], Callable[[], None]]]:
        """Bring sessions into memory for the length of a block.

        Yields:
            What keeps them there beyond it, and returns what lets them go.
        """
        release = self._host.hold(channels)
        kept = False

        def keep() -> Callable[[], None]:
            nonlocal kept
            kept = True
            return release

        try:
            for channel in channels:
                await self._host.session(channel)
            yield keep
        finally:
            if not kept:
                release()

    def _states(self, channels: list[str]) -> dict[str, Raw]:
        """The states of channels now, encoded. What happens later is not in them."""
        found: dict[str, Raw] = {}
        for channel in channels:
            if channel == ROOT:
                found[channel] = Raw(wire.encode(self._host.root.snapshot()))
            elif session := self._host.loaded(channel):
                found[channel] = Raw(wire.encode(session.live.snapshot()))
        return found

    def _subscribe_all(self, states: dict[str, Raw], seq: int) -> list[c.Snapshot]:
        """Follow channels from this moment on: their snapshots reflect all up to `seq`."""
        if not self._gone:
            for channel in states:
                self._journal.subscriptions.add(channel, self)
        return [c.Snapshot(resource=channel, state=state, from_seq=seq) for channel, state in states.items()]

    # -- reconnecting --------------------------------------------------------------------------------------

    @_serves("reconnect")
    async def _reconnect(self, request: jsonrpc.Request) -> None:
        params: c.ReconnectParams = request.params
        last_seen = max(params.last_seen_server_seq, 0)
        gaps = await self._journal.store.gaps()
        lost_in_gaps = any(before < last_seen < first for before, first in gaps)
        wanted = list(dict.fromkeys(params.subscriptions))
        async with self._loaded(wanted) as keep:
            async with self._host.handshakes:
                if await self._check_binding(params.client_id) is None:
                    raise ProtocolError(
                        f"the client {params.client_id!r} is not known; initialize instead",
                        number=AhpErrorCode.NOT_FOUND,
                    )
                mark = await self._journal.store.mark(params.client_id)
                self._become(params.client_id)
                self._host.go_on_counting(params.client_id, mark)
            states, release = self._states(wanted), keep()
        missing = [channel for channel in wanted if channel not in states]
        fence = asyncio.get_running_loop().create_future()

        def stand(seq: int) -> None:
            """From here on all is live; what comes is held until the answer has left."""
            self._held = []
            self._subscribe_all(states, seq)
            release()
            recent = self._journal.recent.after(last_seen, states)
            fence.set_result((seq, recent))

        self._journal.then(stand)
        seq, replay = await fence
        if last_seen > seq or lost_in_gaps:
            replay = None
        elif replay is None:
            replay = await self._replay_from_store(list(states), last_seen, seq)
        if replay is None:
            result: Any = c.ReconnectSnapshotResult(
                snapshots=[c.Snapshot(resource=r, state=state, from_seq=seq) for r, state in states.items()]
            )
        else:
            result = {"type": "replay", "actions": [Raw(made) for made in replay], "missing": missing}
        self._link.respond(text_frame(jsonrpc.encode(jsonrpc.Success(id=request.id, result=result))))
        held, self._held = self._held or [], None
        for frames in held:
            self._link.send(frames)

    async def _replay_from_store(self, channels: list[str], after: int, until: int) -> list[bytes] | None:
        try:
            rows = await self._journal.store.replay(
                channels, after=after, until=until, max_rows=MAX_ENVELOPES, max_bytes=MAX_BYTES
            )
        except SeraiError:
            _log.exception("a replay cannot be read; snapshots do as well")
            return None
        if rows is None:
            return None
        return [envelope(row.channel, row.action, row.seq, row.origin) for row in rows]

    # -- channels ------------------------------------------------------------------------------------------

    @_serves("subscribe")
    async def _subscribe(self, request: jsonrpc.Request) -> None:
        channel: str = request.params.channel
        async with self._loaded([channel]) as keep:
            states = self._states([channel])
            if not states:
                raise _unknown(channel)
            release = keep()

        def answer(seq: int) -> None:
            [snapshot] = self._subscribe_all(states, seq)
            release()
            result = c.SubscribeResult(snapshot=snapshot)
            self._link.respond(text_frame(jsonrpc.encode(jsonrpc.Success(id=request.id, result=result))))

        self._journal.then(answer)

    def _notified(self, message: jsonrpc.Notification) -> Coroutine[Any, Any, None] | None:
        match message.params:
            case UnsubscribeParams(channel=channel):
                self._journal.then(lambda _seq: self._journal.subscriptions.remove(channel, self))
                return None
            case DispatchActionParams() as params:
                if params.channel == ROOT or self._host.loaded(params.channel) is not None:
                    self._dispatch(params)
                    return None
                return self._dispatch_later(params) if self._host.knows(params.channel) else None
            case _:
                return None

    async def _dispatch_later(self, params: DispatchActionParams) -> None:
        try:
            async with self._loaded([params.channel]):
                self._dispatch(params)
        except SeraiError as error:
            origin = a.ActionOrigin(client_id=self._client_id or "", client_seq=params.client_seq)
            self._reject(params.channel, params.action, origin, f"{error.code}: {error}")

    def _dispatch(self, params: DispatchActionParams) -> None:
        client_id = self._client_id or ""
        origin = a.ActionOrigin(client_id=client_id, client_seq=params.client_seq)
        action = self._host.redactor.redact_action(params.action, observed=False)
        unavailable = self._journal.unavailable
        if unavailable is not None:
            self._reject(params.channel, action, origin, f"{unavailable.code}: {unavailable}")
        elif not self._host.counts(client_id, params.client_seq):
            self._reject(params.channel, action, origin, "duplicate")
        elif params.channel == ROOT:
            self._host.dispatch_on_root(action, origin, self)
        elif session := self._host.loaded(params.channel):
            session.dispatch(action, origin, self)

    def _reject_unreadable(self, data: bytes, error: InvalidParams) -> None:
        """Send an action back that has the wrong content, if that much can be made out."""
        try:
            params = wire.decode(data, _LooseDispatch).params
        except SeraiError:
            return
        if self._client_id is None or not (params.channel == ROOT or self._host.knows(params.channel)):
            return  # an action on a channel that does not exist is ignored, whatever it is
        origin = a.ActionOrigin(client_id=self._client_id, client_seq=params.client_seq)
        action = wire.UnknownType(extra=self._host.redactor.redact_value(params.action, observed=False))
        self._reject(params.channel, action, origin, f"invalid_action: {error}")

    def _reject(self, channel: str, action: a.StateAction, origin: a.ActionOrigin, reason: str) -> None:
        """Send an action back."""
        if self._journal.unavailable is None:
            self._journal.reject(channel, action, origin, reason, self)
            return
        # The line stands still: at once, then, with the last number that there was.
        made = envelope(channel, wire.encode(action), self._journal.last_seq, origin_json(origin), reason)
        self.publish(text_frame(notification(made)))

    # -- sessions ------------------------------------------------------------------------------------------

    @_serves("listSessions")
    def _list_sessions(self, request: jsonrpc.Request) -> None:
        self._respond(request, c.ListSessionsResult(items=self._host.summaries()))

    @_serves("createSession")
    async def _create_session(self, request: jsonrpc.Request) -> None:
        params: c.CreateSessionParams = request.params
        if kind_of(params.channel) is not ChannelKind.SESSION:
            raise InvalidParams("a session's URI begins with ahp-session:/", field="params.channel")
        await self._host.create(params, self._client_id or "")
        self._respond(request)

    @_serves("disposeSession")
    async def _dispose_session(self, request: jsonrpc.Request) -> None:
        await self._host.dispose(request.params.channel)
        self._respond(request)

    @_serves("fetchTurns")
    async def _fetch_turns(self, request: jsonrpc.Request) -> None:
        params: c.FetchTurnsParams = request.params
        session = await self._host.session(params.channel)
        if session is None:
            raise _unknown(params.channel)
        turns = session.live.head.turns
        end = len(turns)
        if params.before is not None:
            place = session.kept.turn_at(params.before)
            if place is None:
                raise InvalidParams(f"there is no turn {params.before!r}", field="params.before")
            end = place
        limit = _MAX_TURNS if params.limit is None else params.limit
        if limit < 1:
            raise InvalidParams("must be at least 1", field="params.limit")
        start = max(0, end - min(limit, _MAX_TURNS))
        self._respond(request, c.FetchTurnsResult(turns=turns[start:end], has_more=start > 0))

    @_serves("resolveSessionConfig")
    def _resolve_config(self, request: jsonrpc.Request) -> None:
        params: c.ResolveSessionConfigParams = request.params
        harness = self._host.harness(params.provider or self._host.settings.default_provider)
        config = resolved_config(harness, params.config or {})
        result = c.ResolveSessionConfigResult(schema=harness.schema, values=config.values if config else {})
        self._respond(request, result)

    @_serves("sessionConfigCompletions")
    def _config_completions(self, request: jsonrpc.Request) -> None:
        params: c.SessionConfigCompletionsParams = request.params
        harness = self._host.harness(params.provider or self._host.settings.default_provider)
        known = harness.schema.properties.get(params.property)
        if known is None:
            raise InvalidParams(f"there is no setting {params.property!r}", field="params.property")
        query = (params.query or "").casefold()
        labels = known.enum_labels or known.enum or []
        items = [
            c.SessionConfigValueItem(value=value, label=label)
            for value, label in zip(known.enum or [], labels, strict=False)
            if query in value.casefold() or query in label.casefold()
        ]
        self._respond(request, c.SessionConfigCompletionsResult(items=items))

    @_serves("authenticate")
    def _authenticate(self, request: jsonrpc.Request) -> None:
        raise InvalidParams(
            f"no agent of this host has a protected resource {request.params.resource!r}",
            field="params.resource",
        )

    # -- resources -----------------------------------------------------------------------------------------

    @_serves("resourceRead")
    async def _resource_read(self, request: jsonrpc.Request) -> None:
        params: c.ResourceReadParams = request.params
        if not params.uri.startswith(BLOB_SCHEME):
            raise ProtocolError(
                f"this host serves no resource {params.uri} yet", number=AhpErrorCode.NOT_FOUND
            )
        self._respond(request, await read_blob(self._journal.store, params))


def _unknown(channel: str) -> ProtocolError:
    number = (
        AhpErrorCode.SESSION_NOT_FOUND if kind_of(channel) is ChannelKind.SESSION else AhpErrorCode.NOT_FOUND
    )
    return ProtocolError(f"there is no channel {channel}", number=number)


def _answer_to(request: jsonrpc.Request, error: SeraiError) -> ProtocolError:
    if not isinstance(error, ProtocolError):
        error = ProtocolError(str(error), data=error.to_wire())
    error.id = request.id
    return error
