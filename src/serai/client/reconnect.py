"""Keeps a connection: makes it, and makes it again when it is lost, until the client is closed."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterator, Mapping

from serai.client.connection import Connection, Handler, OnNotification, Opener
from serai.errors import ConnectionLost, SeraiError

_log = logging.getLogger(__name__)

Delays = Callable[[], Iterator[float]]
"""How long to wait before each try to connect again, in seconds. When it ends, so do the tries."""

_HANDSHAKE_TIMEOUT = 30.0

# After a connection that held so long, or a try that took so long, delays are short again.
_STEADY = 10.0


def backoff(first: float = 0.2, cap: float = 15.0) -> Iterator[float]:
    """Twice as long each time up to a cap, and each between half of that and all of it, for ever.

    The chance in it keeps many clients of one host from coming back at the same moment.
    """
    delay = first
    while True:
        yield delay * random.uniform(0.5, 1.0)  # noqa: S311 - nobody gains by guessing it
        delay = min(delay * 2, cap)


class Lifeline:
    """One connection after another. All of it runs in one task, from `open` to `close`."""

    def __init__(
        self,
        opener: Opener,
        handshake: Callable[[Connection], Awaitable[None]],
        *,
        heard: OnNotification,
        handlers: Mapping[str, Handler],
        delays: Delays,
        lost: Callable[[str, float], None],
        failed: Callable[[SeraiError], None],
    ) -> None:
        self._opener = opener
        self._handshake = handshake
        self._heard = heard
        self._handlers = handlers
        self._delays = delays
        self._lost = lost
        self._failed = failed
        self._task: asyncio.Task[None] | None = None
        self._up: asyncio.Future[Connection] | None = None
        self._was_up = False
        self.connection: Connection | None = None
        """The connection, while it can be used."""
        self.failure: SeraiError | None = None
        """Why there will be no connection any more."""
        self.is_closed = False
        """Whether that is because `close` was called."""

    async def open(self) -> None:
        """Connect for the first time.

        Raises:
            ConnectionLost: The host cannot be reached.
            AccessRefused: It does not let us in.
        """
        if self._task is None:
            self._task = asyncio.create_task(self._live())
        try:
            await self.ready()
        except asyncio.CancelledError:
            await self.close()
            raise
        except SeraiError:
            await asyncio.wait([self._task])  # it has nothing left to do
            raise

    async def ready(self) -> Connection:
        """The connection; waits for it if need be. Cancelling it is harmless.

        Raises:
            SeraiError: There will be none.
        """
        if self.failure is not None:
            raise self.failure
        if self.connection is not None:
            return self.connection
        if self._up is None:
            self._up = asyncio.get_running_loop().create_future()
        return await asyncio.shield(self._up)

    def up(self, connection: Connection) -> None:
        """The handshake is done: from this moment on the connection is used."""
        self.connection = connection
        self._was_up = True
        if self._up is not None and not self._up.done():
            self._up.set_result(connection)
        self._up = None

    async def close(self) -> None:
        """End it. Called again, it waits for the same end."""
        self.is_closed = self.is_closed or self.failure is None
        self._fail(ConnectionLost("the client was closed"))
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _live(self) -> None:
        try:
            await self._connect_again_and_again()
        except SeraiError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - whoever waits must hear of it, whatever it is
            _log.exception("the client failed")
            self._fail(ConnectionLost(f"the client failed: {error or type(error).__name__}"))

    async def _connect_again_and_again(self) -> None:
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
                delays = self._delays()
            delay = next(delays, None)
            if delay is None:
                raise ConnectionLost(f"gave up: {lost.message}", remedy=lost.remedy)
            self._lost(lost.message, delay)
            await asyncio.sleep(delay)

    async def _connect(self) -> ConnectionLost:
        """Make one connection and keep it to its end. Returns why it ended."""
        transport = await self._opener()
        try:
            connection = Connection(transport, self._heard, self._handlers, self._down)
            running = asyncio.create_task(connection.run())
            try:
                async with asyncio.timeout(_HANDSHAKE_TIMEOUT):
                    await self._handshake(connection)
                return await running
            except TimeoutError:
                raise ConnectionLost("the host did not answer the handshake") from None
            finally:
                self._down()
                running.cancel()
                await asyncio.wait([running])
                if not running.cancelled() and (fault := running.exception()) is not None:
                    raise fault  # a fault of ours, and no connection will mend it
        finally:
            await transport.close()

    def _down(self) -> None:
        self.connection = None

    def _fail(self, error: SeraiError) -> None:
        if self.failure is not None:
            return
        self.failure = error
        self.connection = None
        if self._up is not None and not self._up.done():
            self._up.set_exception(error)
            self._up.exception()  # perhaps nobody waits
        self._failed(error)
