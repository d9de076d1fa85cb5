"""The door of the port: limits the number and the time of connections that have shown no token.

Everyone who can reach the port can open connections, and each takes a descriptor. So a connection is a
stranger's until it has shown a token. It gets a few seconds for that. When there are too many strangers, or
no descriptors are left, the oldest one is closed. A client with a token shows it at once, and so always gets
in.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from serai.serve import Limits

_log = logging.getLogger(__name__)

_AT_ONCE = 16
"""Connections that are accepted in one tick."""
_BACKLOG = 512
"""Clients that may wait to be accepted."""
_REST = 0.1
"""Pause after an `accept` that failed, in seconds."""
_EXTENSIONS = 5
"""Times that a stranger's time begins anew, while an answer is on its way to it over a slow line."""
_QUIET = 60.0
"""Least time between two log lines about too many strangers, in seconds."""


class Strangers:
    """The connections that have not shown a token, oldest first.

    Args:
        limits: Limits of their number and of their time.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._most = min(limits.strangers, max(1, _descriptors() // 4))
        self._cuts: dict[asyncio.BaseTransport, asyncio.TimerHandle] = {}
        self._quiet_until = 0.0

    def enter(self, transport: asyncio.Transport) -> None:
        """Add a new connection, which has a limited time to show a token."""
        self._wait(transport, _EXTENSIONS)
        if len(self._cuts) > self._most:
            self.cut_oldest(f"more than {self._most} connections have shown no token")

    def leave(self, transport: asyncio.BaseTransport) -> None:
        """Remove a connection that has shown a token, or is gone."""
        if (cut := self._cuts.pop(transport, None)) is not None:
            cut.cancel()

    def cut_oldest(self, why: str) -> None:
        """Close the oldest connection, and log the reason, at most once a minute."""
        if self._cuts:
            self._cut(next(iter(self._cuts)))
        now = time.monotonic()
        if now >= self._quiet_until:
            self._quiet_until = now + _QUIET
            _log.warning("%s; the oldest of them are cut off", why)

    def _wait(self, transport: asyncio.Transport, extensions: int) -> None:
        timeout, loop = self._limits.handshake_timeout, asyncio.get_running_loop()
        self._cuts[transport] = loop.call_later(timeout, self._time_up, transport, extensions)

    def _time_up(self, transport: asyncio.Transport, extensions: int) -> None:
        if extensions and transport.get_write_buffer_size():
            self._wait(transport, extensions - 1)
        else:
            self._cut(transport)

    def _cut(self, transport: asyncio.BaseTransport) -> None:
        self.leave(transport)
        cast("asyncio.Transport", transport).abort()


class PortDoor:
    """Accepts connections on one socket.

    asyncio's own loop tries an `accept` that fails for want of descriptors hundreds of times in a row, with a
    traceback for each.

    Args:
        listener: A bound socket.
        factory: Makes the protocol of each connection.
        strangers: The strangers of the port.
    """

    def __init__(
        self, listener: socket.socket, factory: Callable[[], asyncio.Protocol], strangers: Strangers
    ) -> None:
        self._listener = listener
        self._factory = factory
        self._strangers = strangers
        self._loop = asyncio.get_running_loop()
        self._rest: asyncio.TimerHandle | None = None
        self._welcoming: set[asyncio.Task[Any]] = set()
        listener.listen(_BACKLOG)
        self._open()

    def close(self) -> None:
        """Accept no more connections."""
        self._loop.remove_reader(self._listener)
        if self._rest is not None:
            self._rest.cancel()

    async def wait_closed(self) -> None:
        """Return at once: nothing is left to wait for. uvicorn calls this."""

    def _open(self) -> None:
        self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                connection, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._strangers.cut_oldest(f"no connection can be accepted ({error.strerror})")
                self._loop.remove_reader(self._listener)
                self._rest = self._loop.call_later(_REST, self._open)
                return
            connection.setblocking(False)
            task = self._loop.create_task(self._loop.connect_accepted_socket(self._factory, connection))
            self._welcoming.add(task)
            task.add_done_callback(self._welcoming.discard)


class StrangersHttp(H11Protocol):
    """A connection for uvicorn, which begins as a stranger's.

    Requests find the transport in `scope["state"]`, so that it is removed from the strangers once it has
    shown a token.
    """

    def __init__(self, config: Config, server_state: ServerState, strangers: Strangers) -> None:
        super().__init__(config, server_state, {})
        self._strangers = strangers

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection as a stranger's."""
        super().connection_made(transport)
        self.app_state["transport"] = transport
        self._strangers.enter(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._strangers.leave(self.transport)
        super().connection_lost(exc)


def raise_descriptor_limit() -> None:
    """Raise the limit of descriptors to what the system allows."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # some systems allow less than they say
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _descriptors() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft
