"""The connection of a client, made again when it is lost, and the channels that it follows over it."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

from serai import jsonrpc
from serai.ahp import actions as a, codec, commands as c, notifications as n
from serai.ahp.client import ClientState
from serai.ahp.codec import RESOURCE_REQUESTS
from serai.ahp.commands import AhpErrorCode
from serai.ahp.extensions import SIGN_IN_METHODS
from serai.ahp.reducers import ChannelState, LiveSession
from serai.ahp.types import ROOT, URI
from serai.ahp.wire import Value
from serai.client.address import HostAddress
from serai.client.connection import Connection, Delays, Opener, backoff
from serai.client.events import (
    ClientEvent,
    ClosableQueue,
    Connected,
    Disconnected,
    SessionAdded,
    SessionChanged,
    SessionRemoved,
    SignInNeeded,
)
from serai.client.lending import Plugins, answer_about
from serai.errors import (
    AccessRefused,
    ConnectionLost,
    MethodNotFound,
    ProtocolError,
    Rejected,
    SeraiError,
    SessionGone,
)

if TYPE_CHECKING:
    from serai.client.session import SessionClient
    from serai.client.terminal import TerminalClient

_log = logging.getLogger(__name__)

_VERSIONS = ["0.2.0"]

_HANDSHAKE_TIMEOUT = 30.0
"""Seconds that the host has to answer the handshake."""
_STEADY = 10.0
"""Seconds after which a connection, or a try, counts as steady: delays are short again."""

_REPEATABLE = frozenset(
    {"ping", "listSessions", "fetchTurns", "resolveSessionConfig", "sessionConfigCompletions", "completions"}
    | {"resourceRead", "resourceList", "resourceResolve", "createSession", "disposeSession", "authenticate"}
    | {"createTerminal", "disposeTerminal", SIGN_IN_METHODS}
)
"""Requests that are repeated when the connection is lost before the answer: that does no harm."""

_DONE_ALREADY = {
    "createSession": AhpErrorCode.SESSION_ALREADY_EXISTS,
    "disposeSession": AhpErrorCode.SESSION_NOT_FOUND,
    "createTerminal": AhpErrorCode.ALREADY_EXISTS,
    "disposeTerminal": AhpErrorCode.NOT_FOUND,
}
"""Error of a repeated request whose first try was carried out."""

Handler: TypeAlias = Callable[[Any], Awaitable[Any]]
"""Handles a request of the host: gets its parameters, returns the result or raises a `SeraiError`."""

Follower: TypeAlias = "SessionClient | TerminalClient"
"""Receiver of the actions of one channel."""


class _Dispatched(NamedTuple):
    """An action that the host has not answered."""

    params: n.DispatchActionParams
    answer: asyncio.Future[None]


class ChannelClient:
    """The channels of a host. `Client` adds what people use.

    One task keeps one connection after another, from `open` to `close`.
    """

    def __init__(
        self,
        opener: Opener,
        *,
        client_id: str | None = None,
        subscriptions: Iterable[URI] = (ROOT,),
        delays: Delays = backoff,
        address: HostAddress | None = None,
    ) -> None:
        self.delays = delays
        """Delays before each try to connect again."""
        self.failure: SeraiError | None = None
        """Reason why this client will never be connected again: it was closed, was refused, or gave up."""
        self._opener = opener
        self._connection: Connection | None = None
        """The connection, while it can be used."""
        self._up: asyncio.Future[Connection] | None = None
        self._task: asyncio.Task[None] | None = None
        self.address = address
        """Address of the host, if it is known, for requests over HTTP."""
        self._initial = list(dict.fromkeys(subscriptions))
        self._state = ClientState(client_id or f"serai-{uuid.uuid4()}")
        self._dispatched: dict[int, _Dispatched] = {}
        """Actions that the host has not answered, by our numbers."""
        self.published: dict[URI, Plugins] = {}
        """Published plugins, by session."""
        self._handlers: dict[str, Handler] = {}
        self._followers: dict[URI, Follower] = {}
        self._subscribing: dict[URI, asyncio.Lock] = {}
        self._errands: set[asyncio.Task[None]] = set()
        self._listeners: list[Callable[[ClientEvent], None]] = []
        self._readers: list[ClosableQueue[ClientEvent]] = []
        self._is_known = False
        """True once the host has answered the first handshake."""

    # -- the connection ------------------------------------------------------------------------------------

    async def open(self) -> Self:
        """Connect. `async with` does it, and so does `await client`.

        Raises:
            ConnectionLost: The host cannot be reached. Only the first time: later it is tried again.
            AccessRefused: The host does not let this client in.
        """
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        try:
            await self._ready()
        except asyncio.CancelledError:
            await self.close()
            raise
        except SeraiError:
            await asyncio.wait([self._task])  # it has nothing left to do
            raise
        return self

    async def close(self) -> None:
        """End the connection. Whoever still waits gets `ConnectionLost`. Turns continue on the host."""
        self._fail(ConnectionLost("the client was closed"), is_closed=True)
        tasks = [*self._errands, *([self._task] if self._task is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def __await__(self) -> Generator[Any, None, Self]:
        return self.open().__await__()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    @property
    def is_connected(self) -> bool:
        """True while the host can be reached."""
        return self._connection is not None

    async def _ready(self) -> Connection:
        """Return the connection; wait for it if needed. Cancelling it is harmless.

        Raises:
            SeraiError: There will be none.
        """
        if self.failure is not None:
            raise self.failure
        if self._connection is not None:
            return self._connection
        if self._up is None:
            self._up = asyncio.get_running_loop().create_future()
        return await asyncio.shield(self._up)

    async def _run(self) -> None:
        try:
            await self._keep_connected()
        except SeraiError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it, whatever it is
            _log.exception("the client failed")
            self._fail(ConnectionLost(f"the client failed: {error or type(error).__name__}"))

    async def _keep_connected(self) -> None:
        loop = asyncio.get_running_loop()
        delays: Iterator[float] | None = None
        while True:
            began = loop.time()
            try:
                lost = await self._connect()
            except ConnectionLost as error:
                lost = error
            if not self._is_known:
                raise lost
            if delays is None or loop.time() - began >= _STEADY:
                delays = self.delays()
            delay = next(delays, None)
            if delay is None:
                raise ConnectionLost(f"gave up: {lost.message}", remedy=lost.remedy)
            self._tell(Disconnected(lost.message, delay))
            await asyncio.sleep(delay)

    async def _connect(self) -> ConnectionLost:
        """Make one connection and keep it to its end. Returns the reason for its end."""
        socket = await self._opener()
        try:
            connection = Connection(socket, self._notified, self._respond, self._disconnected)
            running = asyncio.create_task(connection.run())
            try:
                async with asyncio.timeout(_HANDSHAKE_TIMEOUT):
                    await self._shake_hands(connection)
                return await running
            except TimeoutError:
                raise ConnectionLost("the host did not answer the handshake") from None
            finally:
                self._disconnected()
                running.cancel()
                await asyncio.wait([running])
                if not running.cancelled() and (fault := running.exception()) is not None:
                    raise fault  # a fault of ours, and no connection will mend it
        finally:
            await socket.close()

    def _disconnected(self) -> None:
        self._connection = None

    @property
    def client_id(self) -> str:
        """This client's id on the host."""
        return self._state.client_id

    def on_event(self, listener: Callable[[ClientEvent], None]) -> Callable[[], None]:
        """Call a function with each event of the connection and of the root channel.

        It is called by the task that reads, and must not block. Returns a function that removes it.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    async def events(self) -> AsyncGenerator[ClientEvent, None]:
        """Yield events from now on, until the client is closed.

        Raises:
            SeraiError: The client failed.
        """
        inbox: ClosableQueue[ClientEvent] = ClosableQueue()
        self._readers.append(inbox)
        try:
            async for event in inbox:
                yield event
        finally:
            self._readers.remove(inbox)

    def _tell(self, event: ClientEvent) -> None:
        for reader in self._readers:
            reader.put(event)
        for listener in self._listeners.copy():
            try:
                listener(event)
            except Exception:  # noqa: BLE001 - the fault of the listener
                _log.exception("a listener failed on %r", event)

    def handle(self, method: str, handler: Handler) -> None:
        """Handle a kind of request of the host, such as `resourceRead` or `resourceList`.

        The handler gets the parameters and returns the result (`serai.ahp.commands` has the types). It may
        raise a `ProtocolError` with its own number, such as -32009 for a refusal. Requests without a handler
        are answered with -32601.

        Raises:
            ValueError: A host never sends such a request.
        """
        if method not in RESOURCE_REQUESTS:
            raise ValueError(f"a host never asks {method!r}")
        self._handlers[method] = handler

    async def _respond(self, method: str, params: Any) -> Any:
        if (found := answer_about(self.published.values(), params)) is not None:
            return found
        if method not in self._handlers:
            raise MethodNotFound(f"this client does not serve {method!r}")
        return await self._handlers[method](params)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task that the end of the client cancels and waits for."""
        task = asyncio.create_task(work)
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)
        return task

    # -- requests ------------------------------------------------------------------------------------------

    async def request(self, method: str, params: Value) -> Any:
        """Send any request, and return the typed result. Waits for the connection if needed.

        Raises:
            ProtocolError: The host's error, with its number and data.
            ConnectionLost: The client was closed or gave up; or the connection was lost before the answer of
                a request that is not safe to repeat.
        """
        is_repeated = False
        while True:
            connection = await self._ready()
            try:
                return await connection.request(method, params)
            except ConnectionLost:
                if method not in _REPEATABLE:
                    raise
                is_repeated = True
            except ProtocolError as error:
                if is_repeated and error.number == _DONE_ALREADY.get(method):
                    return None
                raise

    # -- channels ------------------------------------------------------------------------------------------

    def state(self, uri: URI) -> ChannelState | None:
        """Return a channel's confirmed state with our own actions on top. `None` if not followed."""
        return self._state.state(uri, _now())

    def live_session(self, uri: URI) -> LiveSession | None:
        """Return a session's confirmed state, to be read only and not kept."""
        return self._state.session(uri)

    @property
    def subscriptions(self) -> list[URI]:
        """The channels that are followed."""
        return self._state.subscriptions

    async def subscribe(self, uri: URI) -> None:
        """Follow a channel. It may be followed already.

        After a cancel the channel may be followed: `unsubscribe` ends that.

        Raises:
            ProtocolError: There is no such channel.
            SessionGone: It was unsubscribed from in the meantime.
        """
        async with self._subscribing.setdefault(uri, asyncio.Lock()):
            while self.failure is not None or uri not in self._state.subscriptions:
                connection = await self._ready()
                params = self._state.subscribe(uri)
                try:
                    await connection.request("subscribe", params, partial(self._subscribed, params))
                except ConnectionLost:
                    continue
                except SeraiError:
                    self._state.unsubscribe(uri)
                    raise
                if uri not in self._state.subscriptions:
                    raise SessionGone(f"{uri} is not followed any more")

    def _subscribed(self, asked: c.SubscribeParams, result: c.SubscribeResult) -> None:
        uri = asked.channel
        self._state.subscribed(uri, result, _now(), asked)
        if uri in self._followers:
            self._followers[uri].caught_up()

    def unsubscribe(self, uri: URI) -> None:
        """Stop following a channel. Whoever waits for something on it gets `SessionGone`."""
        params = self._state.unsubscribe(uri)
        if self._connection is not None:
            self._connection.send(codec.encode(jsonrpc.Notification(method="unsubscribe", params=params)))
        self._forget(uri, SessionGone(f"{uri} is not followed any more"))

    async def dispatch(self, uri: URI, action: a.StateAction) -> None:
        """Send an action on a channel that is followed. It shows in the state at once.

        Returns when the host has confirmed it. Cancelling does not take the action back.

        Raises:
            Rejected: The host refused it; it is no longer in the state.
            SessionGone: The channel is not followed.
            ConnectionLost: The client was closed or gave up, or the outcome of the action is not known.
            ParseError: The action cannot be written as JSON, and was not sent.
        """
        if self.failure is not None:
            raise self.failure
        if uri not in self._state.subscriptions:
            raise SessionGone(f"{uri} is not followed", remedy="Open it first")
        params = self._state.dispatch(uri, action)
        try:
            frame = _frame_of(params)
        except SeraiError:
            self._state.withdraw(params)
            raise
        dispatched = self._dispatched[params.client_seq] = _Dispatched(
            params, asyncio.get_running_loop().create_future()
        )
        if self._connection is not None:  # else it is sent when there is one
            self._connection.send(frame)
        await dispatched.answer

    def _answered(self, envelope: a.ActionEnvelope) -> None:
        """Settle the action of ours that an envelope answers, if it does."""
        origin = envelope.origin
        if origin is None or origin.client_id != self.client_id:
            return
        dispatched = self._dispatched.get(origin.client_seq)
        if dispatched is None or dispatched.params.channel != envelope.channel:
            return
        reason = envelope.rejection_reason
        if reason is None or (reason == "duplicate" and not self._is_missing(dispatched.params)):
            self._settle(dispatched)  # a duplicate was confirmed, and the confirmation was lost
        else:
            self._settle(dispatched, Rejected(reason))

    def _is_missing(self, dispatched: n.DispatchActionParams) -> bool:
        """Tell whether an action was to start a turn that does not exist, and so was refused."""
        session, action = self._state.session(dispatched.channel), dispatched.action
        if session is None or not isinstance(action, a.SessionTurnStartedAction):
            return False
        turns = [*session.head.turns, *([session.turn] if session.turn is not None else [])]
        return all(turn.id != action.turn_id for turn in turns)

    def _unanswerable(self, error: SeraiError, uri: URI | None = None) -> None:
        """Fail all actions that will not be answered any more, on one channel or all."""
        for dispatched in list(self._dispatched.values()):
            if uri is None or dispatched.params.channel == uri:
                self._settle(dispatched, error)

    def _settle(self, dispatched: _Dispatched, error: SeraiError | None = None) -> None:
        self._dispatched.pop(dispatched.params.client_seq, None)
        self._state.withdraw(dispatched.params)
        if dispatched.answer.done():
            return  # nobody waits for it any more
        if error is None:
            dispatched.answer.set_result(None)
        else:
            dispatched.answer.set_exception(error)

    # -- messages of the host -------------------------------------------------------------------------------

    async def _shake_hands(self, connection: Connection) -> None:
        """Send the first request. Its answer is handled before the next frame (`then`)."""
        if self._is_known:
            try:
                await connection.request(
                    "reconnect", self._state.reconnect(), partial(self._reconnected, connection)
                )
            except ProtocolError as error:
                if error.number == AhpErrorCode.PERMISSION_DENIED:
                    raise AccessRefused(str(error)) from error
                _log.info("the host does not continue the connection (%s): starting anew", error)
            else:
                return
        wanted = self._state.subscriptions if self._is_known else self._initial
        params = self._state.initialize(_VERSIONS, wanted)
        try:
            await connection.request("initialize", params, partial(self._initialized, connection))
        except ProtocolError as error:
            if error.number == AhpErrorCode.UNSUPPORTED_PROTOCOL_VERSION:
                raise AccessRefused(
                    f"the host does not speak AHP {', '.join(_VERSIONS)}: {error}",
                    remedy="Use a Serai of the host's own version",
                ) from error
            if error.number == AhpErrorCode.PERMISSION_DENIED:
                raise AccessRefused(str(error)) from error
            raise ConnectionLost(f"the host refused the handshake: {error}") from error

    def _initialized(self, connection: Connection, result: c.InitializeResult) -> None:
        before = self._state.subscriptions
        self._state.initialized(result)
        self._is_known = True
        lost = [uri for uri in before if uri not in self._state.subscriptions]
        problem = "the host forgot this client before it answered: the outcome is not known"
        remedy = "Look at the session, and do it again if needed"
        self._unanswerable(ConnectionLost(problem, remedy=remedy))
        self._continue(connection, "initialized", lost)

    def _reconnected(self, connection: Connection, result: c.ReconnectResult) -> None:
        is_replay = isinstance(result, c.ReconnectReplayResult)
        if is_replay:
            # They are handled like live envelopes. The state then finds nothing new in them.
            for envelope in result.actions:
                self._received(envelope)
        lost = self._state.reconnected(result, _now())
        for params in self._state.pending:  # the host ignores numbers that it has seen
            connection.send(_frame_of(params))
        self._continue(connection, "replayed" if is_replay else "snapshots", lost)

    def _continue(self, connection: Connection, how: str, lost: list[URI]) -> None:
        for uri in lost:
            self._forget(uri, SessionGone(f"{uri} is no longer on the host"))
        if how != "replayed":
            for follower in list(self._followers.values()):
                follower.caught_up()
        self._connection = connection
        if self._up is not None and not self._up.done():
            self._up.set_result(connection)
        self._up = None
        self._tell(Connected(how, tuple(lost)))

    def _notified(self, method: str, params: Any) -> None:
        match params:
            case a.ActionEnvelope():
                self._received(params)
            case n.SessionAddedParams():
                self._tell(SessionAdded(params.summary))
            case n.SessionSummaryChangedParams():
                self._tell(SessionChanged(params.session, params.changes))
            case n.SessionRemovedParams(session=uri):
                if uri in self._state.subscriptions:
                    self._state.unsubscribe(uri)  # the host has done the same
                self._forget(uri, SessionGone(f"{uri} was disposed of"))
                self._tell(SessionRemoved(uri))
            case n.AuthRequiredParams():
                self._tell(SignInNeeded(params.resource, params.reason))
            case _:
                _log.debug("an unknown notification: %s", method)

    def _received(self, envelope: a.ActionEnvelope) -> None:
        has_happened = self._state.receive(envelope, _now())
        follower = self._followers.get(envelope.channel)
        if follower is not None and has_happened:
            follower.heard(envelope.action)
        self._answered(envelope)

    # -- ends ----------------------------------------------------------------------------------------------

    def _forget(self, uri: URI, error: SeraiError) -> None:
        self._unanswerable(error, uri)
        follower = self._followers.pop(uri, None)
        if follower is not None:
            follower.failed(error)

    def _fail(self, error: SeraiError, *, is_closed: bool = False) -> None:
        if self.failure is not None:
            return
        self.failure = error
        self._connection = None
        if self._up is not None and not self._up.done():
            self._up.set_exception(error)
            self._up.exception()  # perhaps nobody waits
        self._unanswerable(error)
        for follower in self._followers.values():
            follower.failed(error)
        if not is_closed:
            self._tell(Disconnected(str(error), None))
        for reader in self._readers:
            reader.end(None if is_closed else error)


def _frame_of(dispatched: n.DispatchActionParams) -> bytes:
    return codec.encode(jsonrpc.Notification(method="dispatchAction", params=dispatched))


def _now() -> int:
    return round(time.time() * 1000)
