"""The base of the client: makes a connection, again and again when it is lost, until it is closed."""

from __future__ import annotations

import asyncio
import logging
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping
from types import TracebackType
from typing import Any, Self

from serai.client.connection import Connection, Handler, Opener
from serai.errors import ConnectionLost, SeraiError

_log = logging.getLogger(__name__)

Delays = Callable[[], Iterator[float]]
"""Makes the delays before each try to connect again, in seconds. When they end, so do the tries."""

_HANDSHAKE_TIMEOUT = 30.0
"""Seconds that the host has to answer the handshake."""
_STEADY = 10.0
"""Seconds after which a connection, or a try, counts as steady: delays are short again."""


def backoff(first: float = 0.2, cap: float = 15.0) -> Iterator[float]:
    """Yield delays for ever: each twice as long up to a cap, and reduced by a random part of up to half.

    The random part keeps many clients of one host from coming back at the same moment.
    """
    delay = first
    while True:
        yield delay * random.uniform(0.5, 1.0)  # noqa: S311 - nobody gains by guessing it
        delay = min(delay * 2, cap)


class ReconnectingClient(ABC):
    """Keeps one connection after another, all in one task, from `open` to `close`.

    Args:
        opener: Opens the WebSocket of each connection.
        handlers: Handlers of the host's requests, by method.
        delays: Delays before each try to connect again.
    """

    def __init__(self, opener: Opener, handlers: Mapping[str, Handler], delays: Delays) -> None:
        self.delays = delays
        """Delays before each try to connect again."""
        self.failure: SeraiError | None = None
        """Reason why this client will never be connected again: it was closed, was refused, or gave up."""
        self._opener = opener
        self._served = handlers
        self._connection: Connection | None = None
        """The connection, while it can be used."""
        self._up: asyncio.Future[Connection] | None = None
        self._was_up = False
        self._is_closed = False
        """True when `close` was called."""
        self._task: asyncio.Task[None] | None = None

    @abstractmethod
    async def _shake_hands(self, connection: Connection) -> None:
        """Send the first messages of a connection. `_connected` has to be called before this returns."""

    @abstractmethod
    def _notified(self, method: str, params: Any) -> None:
        """Handle a notification of the host."""

    @abstractmethod
    def _lost(self, reason: str, retry_in: float) -> None:
        """Handle a lost connection, or another failed try."""

    @abstractmethod
    def _failed(self, error: SeraiError) -> None:
        """Handle the end: there will be no connection any more."""

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
        self._is_closed = self._is_closed or self.failure is None
        self._fail(ConnectionLost("the client was closed"))
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def __await__(self) -> Generator[Any, None, Self]:
        return self.open().__await__()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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

    def _connected(self, connection: Connection) -> None:
        """Use a connection from now on: its handshake is done."""
        self._connection = connection
        self._was_up = True
        if self._up is not None and not self._up.done():
            self._up.set_result(connection)
        self._up = None

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
            if not self._was_up:
                raise lost
            if delays is None or loop.time() - began >= _STEADY:
                delays = self.delays()
            delay = next(delays, None)
            if delay is None:
                raise ConnectionLost(f"gave up: {lost.message}", remedy=lost.remedy)
            self._lost(lost.message, delay)
            await asyncio.sleep(delay)

    async def _connect(self) -> ConnectionLost:
        """Make one connection and keep it to its end. Returns the reason for its end."""
        socket = await self._opener()
        try:
            connection = Connection(socket, self._notified, self._served, self._disconnected)
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

    def _fail(self, error: SeraiError) -> None:
        if self.failure is not None:
            return
        self.failure = error
        self._connection = None
        if self._up is not None and not self._up.done():
            self._up.set_exception(error)
            self._up.exception()  # perhaps nobody waits
        self._failed(error)
