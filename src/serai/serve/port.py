"""The one port: WebSockets and HTTP, behind one guard, on uvicorn.

uvicorn reads HTTP and hands upgrades to `serai.serve.websocket`. It runs in the caller's event loop, takes no
signals and logs no requests: an address may hold the token.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import math
import socket
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import uvicorn
from starlette.routing import BaseRoute
from uvicorn.server import ServerState

from serai.config.settings import Settings
from serai.contract import Role
from serai.errors import ConfigInvalid
from serai.serve import Limits
from serai.serve.door import PortDoor, Strangers, StrangersHttp
from serai.serve.guard import Guard, refuse_open_bind
from serai.serve.http import Readiness, create_app
from serai.serve.outgoing import Ticker
from serai.serve.websocket import PeerFactory, WebSocket


async def serve_port(
    settings: Settings,
    peer_factory: PeerFactory,
    readiness: Readiness,
    *,
    started: Callable[[int], None],
    token_digests: Collection[str] = (),
    limits: Limits | None = None,
    roles: Callable[[str], Role | None] = lambda _digest: None,
    routes: Sequence[BaseRoute] = (),
) -> None:
    """Listen until cancelled.

    Cancelling it shuts down: nobody else is let in, WebSockets are closed with 1001, and requests are
    answered, all within `limits.shutdown_timeout` and a little. What is left then is cut off. A second
    cancellation cuts off at once. In the end `disconnected` of every peer has been called.

    Args:
        settings: The address and its names: `host`, `port`, `allowed_hosts`, `allowed_origins`.
        peer_factory: Makes the peer of each WebSocket.
        readiness: Answers `/readyz`.
        started: Called once, with the port, when clients can connect.
        token_digests: Digests of the host's own tokens (`serai.relay.tokens`); without any, none is needed.
        limits: Limits of each WebSocket, and of the time for shutting down; by default those of the settings.
        roles: Returns the role of a stored token by its digest.
        routes: Further routes over HTTP.

    Raises:
        ConfigInvalid: Before anyone can connect: the port is taken or may not be used, the address is not one
            of this machine, an allowed host or origin is invalid, or others can reach the port without a
            token.
    """
    limits = limits or Limits(
        waiting_bytes=settings.slow_reader_bytes, message_bytes=settings.max_frame_bytes
    )
    refuse_open_bind(settings.host, token_digests)
    sockets = await _bind(settings.host, settings.port)
    try:
        port = int(sockets[0].getsockname()[1])
        guard = Guard(
            digests=token_digests,
            port=port,
            host=settings.host,
            allowed_hosts=settings.allowed_hosts,
            allowed_origins=settings.allowed_origins,
            roles=roles,
        )
        strangers, ticker = Strangers(limits), Ticker()

        def upgraded(server_state: ServerState, **_: object) -> WebSocket:
            connections = cast("set[Any]", server_state.connections)
            return WebSocket(guard, peer_factory, limits, connections, ticker, strangers.leave)

        config = uvicorn.Config(
            create_app(guard, readiness, strangers.leave, routes),
            http="h11",
            ws=cast("type[asyncio.Protocol]", upgraded),
            loop="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level=logging.WARNING,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=math.ceil(limits.shutdown_timeout),
        )
        server = _Server(config, strangers, lambda: started(port))
        await server.serve(sockets=sockets)
    finally:
        for one in sockets:
            one.close()
    if server.cancelled:
        raise asyncio.CancelledError


class _Server(uvicorn.Server):
    """uvicorn's server behind a `PortDoor`. It leaves signals alone and can be cancelled."""

    def __init__(self, config: uvicorn.Config, strangers: Strangers, on_started: Callable[[], None]) -> None:
        super().__init__(config)
        self.cancelled = False
        self._strangers = strangers
        self._on_started = on_started

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals to the host."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and report it."""
        accepted = partial(StrangersHttp, self.config, self.server_state, self._strangers)
        doors = [PortDoor(one, accepted, self._strangers) for one in sockets or ()]
        self.servers = cast("list[asyncio.Server]", doors)  # uvicorn does nothing but close them
        try:
            self._on_started()
        except BaseException:
            for door in doors:
                door.close()
            raise
        self.started = True

    async def main_loop(self) -> None:
        """Wait to be cancelled; `shutdown` comes next. Once a second, update the date of the answers."""
        try:
            while not await self.on_tick(0):  # noqa: ASYNC110 - it waits for a date, not for an event
                await asyncio.sleep(1)
        except asyncio.CancelledError:
            self.cancelled = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close all connections, and cut off those that do not close in time."""
        try:
            await super().shutdown(sockets)
        finally:
            for connection in list(self.server_state.connections):
                connection.transport.abort()
            # The protocols hear of it in the next tick, and then their peers.
            await asyncio.sleep(0)
            await asyncio.sleep(0)


async def _bind(host: str, port: int) -> list[socket.socket]:
    """Bind a socket for each address of a host, all on one port. Clients that connect now have to wait."""
    if not 0 <= port <= 0xFFFF:
        raise ConfigInvalid(
            f"there is no port {port}", remedy="Choose one from 1 to 65535, or 0 for a free one"
        )
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            host.strip("[]") or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except socket.gaierror as error:
        raise ConfigInvalid(
            f"the host {host!r} is not known", remedy="Use an address of this machine, such as 127.0.0.1"
        ) from error
    sockets: list[socket.socket] = []
    refused: OSError | None = None
    for family, _, _, _, address in dict.fromkeys(found):
        try:
            one = socket.create_server((address[0], port, *address[2:]), family=family)
        except OSError as error:
            refused = error
            # A name may have an address that this machine lacks: `localhost` without IPv6, for instance.
            if error.errno in {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}:
                continue
            for other in sockets:
                other.close()
            sockets.clear()
            break
        one.setblocking(False)
        sockets.append(one)
        port = int(one.getsockname()[1])
    if sockets:
        return sockets
    problem = f"the port {port} of {host!r} cannot be used: {refused.strerror if refused else 'no address'}"
    if refused is not None and refused.errno == errno.EADDRINUSE:
        problem = f"port {port} of {host} is taken by another program"
    remedy = "Choose another port, above 1023 (0 takes a free one), or an address of this machine"
    raise ConfigInvalid(problem, remedy=remedy) from refused
