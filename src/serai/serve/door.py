"""The door of the port: who has shown no token may not stand in it for long, nor may many of them.

Everyone who can reach the port can open connections, and each takes a descriptor. So a connection is a
stranger's until it has shown a token: it gets a few seconds for that, and when there are too many strangers,
the one who has stood there longest is sent away. Who has a token shows it at once and so always gets in.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import sys
import time
from contextlib import suppress
from typing import Any, cast

from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from serai.serve import Limits

__all__ = ["Strangers", "http_class", "raise_descriptor_limit"]

_log = logging.getLogger(__name__)

_QUIET = 60.0
"""Time between two lines of log about a crowd, in seconds."""


class Strangers:
    """The connections that have not shown a token, oldest first.

    Args:
        limits: How many they may be, and how long each may stay.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._most = min(limits.strangers, max(1, _descriptors() // 4))
        self._cuts: dict[asyncio.BaseTransport, asyncio.TimerHandle] = {}
        self._quiet_until = 0.0

    def enter(self, transport: asyncio.Transport) -> None:
        """Give a new connection its time to show a token."""
        loop = asyncio.get_running_loop()
        self._cuts[transport] = loop.call_later(self._limits.handshake_timeout, self._cut, transport)
        if len(self._cuts) > self._most:
            self._cut_oldest()

    def leave(self, transport: asyncio.BaseTransport) -> None:
        """The connection has shown a token, or is gone."""
        if (cut := self._cuts.pop(transport, None)) is not None:
            cut.cancel()

    def _cut_oldest(self) -> None:
        """Make room, and say so: not more than once a minute."""
        self._cut(next(iter(self._cuts)))
        now = time.monotonic()
        if now >= self._quiet_until:
            self._quiet_until = now + _QUIET
            _log.warning("more than %d connections have shown no token; the oldest are cut off", self._most)

    def _cut(self, transport: asyncio.BaseTransport) -> None:
        self.leave(transport)
        cast("asyncio.Transport", transport).abort()


def http_class(strangers: Strangers) -> type[H11Protocol]:
    """A class for uvicorn's `http=`: each connection begins as a stranger's.

    Requests find the transport in `scope["state"]`, so that the guard can say who has shown a token.
    """

    class StrangersHttp(H11Protocol):
        def __init__(
            self,
            config: Config,
            server_state: ServerState,
            app_state: dict[str, Any],
            _loop: asyncio.AbstractEventLoop | None = None,
        ) -> None:
            super().__init__(config, server_state, {**app_state}, _loop)

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self.app_state["transport"] = transport
            strangers.enter(transport)

        def connection_lost(self, exc: Exception | None) -> None:
            strangers.leave(self.transport)
            super().connection_lost(exc)

    return StrangersHttp


def raise_descriptor_limit() -> None:
    """Let this process have as many descriptors as the system allows it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):  # some systems allow less than they say
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _descriptors() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft
