"""The channels that a client follows, kept up to date over lost connections."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable
from functools import partial
from types import TracebackType
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
from serai.client.connection import Connection, Handler, Opener
from serai.client.events import (
    ClientEvent,
    Connected,
    Disconnected,
    Inbox,
    SessionAdded,
    SessionChanged,
    SessionRemoved,
    SignInNeeded,
)
from serai.client.lending import Shelf
from serai.client.reconnect import Delays, Lifeline, backoff
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

# Asking these twice does no harm, so they are asked again when the connection is lost before the answer.
_REPEATABLE = frozenset(
    {"ping", "listSessions", "fetchTurns", "resolveSessionConfig", "sessionConfigCompletions", "completions"}
    | {"resourceRead", "resourceList", "resourceResolve", "createSession", "disposeSession", "authenticate"}
    | {"createTerminal", "disposeTerminal", SIGN_IN_METHODS}
)

# What a repeated request is answered with when the first one had been carried out.
_DONE_ALREADY = {
    "createSession": AhpErrorCode.SESSION_ALREADY_EXISTS,
    "disposeSession": AhpErrorCode.SESSION_NOT_FOUND,
    "createTerminal": AhpErrorCode.ALREADY_EXISTS,
    "disposeTerminal": AhpErrorCode.NOT_FOUND,
}

Follower: TypeAlias = "SessionClient | TerminalClient"
"""Who hears of one channel."""


class _Dispatched(NamedTuple):
    """An action that the host has not answered."""

    params: n.DispatchActionParams
    answer: asyncio.Future[None]


class ChannelClient:
    """The channels of a host, kept up to date over lost connections. `Client` has what people use."""

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
        """How long to wait before each try to connect again."""
        self.address = address
        """Where the host is, if it is known: for what is asked over HTTP."""
        self._initial = list(dict.fromkeys(subscriptions))
        self._state = ClientState(client_id or f"serai-{uuid.uuid4()}")
        self._dispatched: dict[int, _Dispatched] = {}
        """What the host has not answered, by our numbers."""
        self.shelf = Shelf(self._state.client_id)
        """The plugins that are published."""
        self._handlers: dict[str, Handler] = {}
        self._followers: dict[URI, Follower] = {}
        self._subscribing: dict[URI, asyncio.Lock] = {}
        self._errands: set[asyncio.Task[None]] = set()
        self._listeners: list[Callable[[ClientEvent], None]] = []
        self._readers: list[Inbox[ClientEvent]] = []
        self._is_known = False
        self._line = Lifeline(
            opener,
            self._shake_hands,
            heard=self._notified,
            handlers={method: partial(self._respond, method) for method in RESOURCE_REQUESTS},
            delays=delays,
            lost=lambda reason, retry_in: self._tell(Disconnected(reason, retry_in)),
            failed=self._failed,
        )

    # -- the connection ------------------------------------------------------------------------------------

    async def open(self) -> Self:
        """Connect. `async with` does it, and so does `await client`.

        Raises:
            ConnectionLost: The host cannot be reached. Only the first time: later it is tried again.
            AccessRefused: The host does not let this client in.
        """
        await self._line.open()
        return self

    async def close(self) -> None:
        """End the connection. Whoever still waits gets `ConnectionLost`. Turns go on on the host."""
        try:
            await self._line.close()
        finally:
            for task in self._errands:
                task.cancel()
            await asyncio.gather(*self._errands, return_exceptions=True)

    def __await__(self) -> Generator[Any, None, Self]:
        return self.open().__await__()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def client_id(self) -> str:
        """How the host knows this client."""
        return self._state.client_id

    @property
    def is_connected(self) -> bool:
        """Whether the host can be reached at this moment."""
        return self._line.connection is not None

    @property
    def failure(self) -> SeraiError | None:
        """Why this client will never be connected again: it was closed, was refused, or gave up."""
        return self._line.failure

    def on_event(self, listener: Callable[[ClientEvent], None]) -> Callable[[], None]:
        """Call a function with each event of the connection and of the root channel.

        It is called by the task that reads: it must not block. Returns a function that ends it.
        """
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    async def events(self) -> AsyncGenerator[ClientEvent, None]:
        """The events from now on: connected, disconnected, sessions added, changed and removed.

        It ends when the client is closed.

        Raises:
            SeraiError: The client failed.
        """
        inbox: Inbox[ClientEvent] = Inbox()
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
            except Exception:  # noqa: BLE001 - it is the listener's own
                _log.exception("a listener failed on %r", event)

    def handle(self, method: str, handler: Handler) -> None:
        """Answer a kind of request of the host: one of `resourceRead`, `resourceList` and so on.

        The handler gets the parameters and returns the result (`serai.ahp.commands` has the types). It may
        raise a `ProtocolError` with a number of its own, such as -32009 for what it does not allow. Requests
        that nobody handles are answered with -32601.

        Raises:
            ValueError: A host never asks that.
        """
        if method not in RESOURCE_REQUESTS:
            raise ValueError(f"a host never asks {method!r}")
        self._handlers[method] = handler

    async def _respond(self, method: str, params: Any) -> Any:
        if (found := self.shelf.answer(params)) is not None:
            return found
        if method not in self._handlers:
            raise MethodNotFound(f"this client does not serve {method!r}")
        return await self._handlers[method](params)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start something that the client's end cancels, and waits for."""
        task = asyncio.create_task(work)
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)
        return task

    # -- requests ------------------------------------------------------------------------------------------

    async def request(self, method: str, params: Value) -> Any:
        """Ask the host anything, and return the typed result. Waits for the connection if need be.

        Raises:
            ProtocolError: The host's error, with its number and data.
            ConnectionLost: The client was closed or gave up; or the connection was lost before the answer,
                and the request is not one that can be repeated without harm.
        """
        is_repeated = False
        while True:
            connection = await self._line.ready()
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
        """What to show of a channel: what is confirmed and what is hoped for. `None` if not followed."""
        return self._state.state(uri, _now())

    def live_session(self, uri: URI) -> LiveSession | None:
        """What the host has confirmed of a session: to look at, not to change or keep."""
        return self._state.session(uri)

    @property
    def subscriptions(self) -> list[URI]:
        """The channels that are followed."""
        return self._state.subscriptions

    async def subscribe(self, uri: URI) -> None:
        """Follow a channel. One that is followed already is no error.

        Cancelling it may leave the channel followed: `unsubscribe` ends that.

        Raises:
            ProtocolError: There is no such channel.
            SessionGone: It was unsubscribed from in the meantime.
        """
        async with self._subscribing.setdefault(uri, asyncio.Lock()):
            while self.failure is not None or uri not in self._state.subscriptions:
                connection = await self._line.ready()
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
        """Follow a channel no more. Whoever waits for something on it gets `SessionGone`."""
        params = self._state.unsubscribe(uri)
        if self._line.connection is not None:
            self._line.connection.send(
                codec.encode(jsonrpc.Notification(method="unsubscribe", params=params))
            )
        self._forget(uri, SessionGone(f"{uri} is not followed any more"))

    async def dispatch(self, uri: URI, action: a.StateAction) -> None:
        """Let an action happen on a channel that is followed. It is shown at once.

        Returns when the host has let it happen. Cancelling it does not take the action back.

        Raises:
            Rejected: The host refused it; it is no longer shown.
            SessionGone: The channel is not followed.
            ConnectionLost: The client was closed or gave up, or no one knows what became of the action.
            ParseError: It cannot be written as JSON. Nothing was done.
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
        if self._line.connection is not None:  # else it is sent when there is one
            self._line.connection.send(frame)
        await dispatched.answer

    def _answered(self, envelope: a.ActionEnvelope) -> None:
        """An envelope came. If it answers an action of ours, that one is settled."""
        origin = envelope.origin
        if origin is None or origin.client_id != self.client_id:
            return
        dispatched = self._dispatched.get(origin.client_seq)
        if dispatched is None or dispatched.params.channel != envelope.channel:
            return
        reason = envelope.rejection_reason
        if reason is None or (reason == "duplicate" and not self._is_missing(dispatched.params)):
            self._settle(dispatched)  # of a duplicate, the answer got lost
        else:
            self._settle(dispatched, Rejected(reason))

    def _is_missing(self, dispatched: n.DispatchActionParams) -> bool:
        """Whether it was to begin a turn, and there is none: nobody must wait for what was refused."""
        session, action = self._state.session(dispatched.channel), dispatched.action
        if session is None or not isinstance(action, a.SessionTurnStartedAction):
            return False
        turns = [*session.head.turns, *([session.turn] if session.turn is not None else [])]
        return all(turn.id != action.turn_id for turn in turns)

    def _unanswerable(self, error: SeraiError, uri: URI | None = None) -> None:
        """No answers will come any more, from this channel or at all."""
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

    # -- what the host says --------------------------------------------------------------------------------

    async def _shake_hands(self, connection: Connection) -> None:
        """Speak first. What the answer brings is taken up before the next frame (`then`)."""
        if self._is_known:
            try:
                await connection.request(
                    "reconnect", self._state.reconnect(), partial(self._reconnected, connection)
                )
            except ProtocolError as error:
                if error.number == AhpErrorCode.PERMISSION_DENIED:
                    raise AccessRefused(str(error)) from error
                _log.info("the host does not take the connection up again (%s): beginning anew", error)
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
        remedy = "Look at the session, and do it again if need be"
        self._unanswerable(ConnectionLost(problem, remedy=remedy))
        self._taken_up(connection, "initialized", lost)

    def _reconnected(self, connection: Connection, result: c.ReconnectResult) -> None:
        is_replay = isinstance(result, c.ReconnectReplayResult)
        if is_replay:
            # The way that live envelopes go. The state then finds nothing new in them.
            for envelope in result.actions:
                self._received(envelope)
        lost = self._state.reconnected(result, _now())
        for params in self._state.pending:  # the host does nothing twice
            connection.send(_frame_of(params))
        self._taken_up(connection, "replayed" if is_replay else "snapshots", lost)

    def _taken_up(self, connection: Connection, how: str, lost: list[URI]) -> None:
        for uri in lost:
            self._forget(uri, SessionGone(f"{uri} is no longer on the host"))
        if how != "replayed":
            for follower in list(self._followers.values()):
                follower.caught_up()
        self._line.up(connection)
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
                _log.debug("a notification that nobody reads: %s", method)

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

    def _failed(self, error: SeraiError) -> None:
        self._unanswerable(error)
        for follower in self._followers.values():
            follower.failed(error)
        if not self._line.is_closed:
            self._tell(Disconnected(str(error), None))
        for reader in self._readers:
            reader.end(None if self._line.is_closed else error)


def _frame_of(dispatched: n.DispatchActionParams) -> bytes:
    return codec.encode(jsonrpc.Notification(method="dispatchAction", params=dispatched))


def _now() -> int:
    return round(time.time() * 1000)
