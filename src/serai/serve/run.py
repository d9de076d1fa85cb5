"""Runs a host with its port, from start to end."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any, Protocol, runtime_checkable
from weakref import WeakSet

from starlette.routing import BaseRoute, Route

from serai.contract import DeviceLinkParams, Role
from serai.errors import StorageFailed
from serai.host.host import Host
from serai.relay.tokens import Caller
from serai.relay.workspace import Workspace
from serai.serve import SocketPeer
from serai.serve.ahp.commands import ahp_peer
from serai.serve.door import raise_descriptor_limit
from serai.serve.mcp import McpEndpoint
from serai.serve.port import serve_port
from serai.serve.relay import RelayPeer, relay_routes
from serai.serve.sessions import SessionRoutes
from serai.serve.websocket import WebSocket
from serai.store.contract import Store

_log = logging.getLogger(__name__)


@runtime_checkable
class Joining(Protocol):
    """A kind of agent whose sessions use the relay from within the host, and that has to be closed."""

    def join(self, workspace: Workspace) -> None:
        """Use the relay, which is open now."""
        ...

    async def close(self) -> None:
        """Close what the kind of agent holds. The host is closed already."""
        ...


def peer_of(workspace: Workspace, links: WeakSet[WebSocket], link: WebSocket) -> SocketPeer:
    """Return the peer for a new connection, which joins the others."""
    links.add(link)
    return RelayPeer(workspace, link) if link.path == "/relay" else ahp_peer(workspace.host, link)


def _cut(links: WeakSet[WebSocket], sessions: SessionRoutes, token_digest: str) -> None:
    """Close the connections that were opened with a revoked token."""
    for link in [one for one in links if one.token_digest == token_digest]:
        link.close(4401, "the token was revoked")
    sessions.cut(token_digest)


async def run_host(
    host: Host,
    token_digests: Collection[str],
    *,
    started: Callable[[int], None],
    background: Callable[[Host], Coroutine[Any, Any, None]] | None = None,
    page: Sequence[BaseRoute] = (),
    first_codes: Iterable[str] = (),
) -> None:
    """Open the store, bring the sessions back, and serve them until SIGINT or SIGTERM, or until cancelled.

    Args:
        host: The host, not opened yet. Its settings say where it listens.
        token_digests: Digests of the tokens that open the port; without any, no token is needed.
        started: Called with the port once clients can connect.
        background: Runs from then on, until the host stops.
        page: The routes of the page.
        first_codes: One-time codes, each for one token of a device that may do everything.

    Raises:
        StorageUnreadable: The store cannot be opened.
        ConfigInvalid: The port cannot be used.
        StorageFailed: It is not known any more what was written: the host has to start again.
    """
    opening = await host.open()
    if opening.log_lost:
        _log.error(
            "the database's log was lost, or an older copy put in its place: what happened since is gone;"
            " numbers go on at %d",
            opening.first_new,
        )
    workspace = Workspace(host, host.settings.relay)
    tools = McpEndpoint(workspace, host.settings.host)
    host.relay_access = tools.access
    await workspace.open()
    joining = [harness for harness in host.harnesses.values() if isinstance(harness, Joining)]
    for harness in joining:
        harness.join(workspace)
    for code in first_codes:
        workspace.tokens.link(Caller(Role.OWNER), DeviceLinkParams(), code)
    sessions = SessionRoutes(host)
    links: WeakSet[WebSocket] = WeakSet()
    workspace.tokens.revoked = partial(_cut, links, sessions)

    def can_connect(port: int) -> None:
        tools.listening(port)
        if background is not None:
            tasks.add(asyncio.create_task(background(host), name="background"))
        started(port)

    settle()
    raise_descriptor_limit()
    tasks: set[asyncio.Task[None]] = set()
    try:
        port = asyncio.create_task(
            serve_port(
                host.settings,
                partial(peer_of, workspace, links),
                lambda: _readiness(host, log_lost=opening.log_lost),
                started=can_connect,
                token_digests=token_digests,
                roles=workspace.tokens.role_of,
                routes=[
                    *relay_routes(workspace),
                    *sessions.routes,
                    Route("/mcp", tools, methods=["POST"]),
                    *page,
                ],
            ),
            name="port",
        )
        stop = asyncio.create_task(_signalled(), name="signals")
        check = _check(host.journal.store, full=not opening.clean)
        tasks |= {
            port,
            stop,
            asyncio.create_task(check, name="check of the store"),
            asyncio.create_task(collect_in_pauses(lambda: host.journal.last_seq), name="garbage"),
        }
        try:
            await asyncio.wait({port, stop, host.journal.ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            workspace.runner.stop_waiting()
            sessions.close()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        if not port.cancelled():
            port.result()
        if host.journal.ended.done() and (error := host.journal.ended.exception()) is not None:
            if isinstance(error, StorageFailed):
                raise error
            raise StorageFailed(f"the journal stopped: {error}") from error
    finally:
        await tools.close()
        await workspace.close()
        await host.close()
        await asyncio.gather(*(harness.close() for harness in joining))


async def _check(store: Store, *, full: bool) -> None:
    """Check the database while the host is at work: all of it after an unclean stop."""
    for problem in await store.check(full=full):
        _log.error("the database is damaged: %s; 'serai doctor' tells more", problem)


def _readiness(host: Host, *, log_lost: bool) -> tuple[bool, dict[str, Any]]:
    unavailable = host.journal.unavailable
    if unavailable is not None:
        return False, unavailable.to_wire()
    detail: dict[str, Any] = {"sessions": host.sessions.count()}
    if log_lost:
        detail["log_lost"] = "what happened since the last checkpoint is gone; see the host's log"
    return True, detail


async def _signalled() -> None:
    """Wait for SIGINT or SIGTERM."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    try:
        await stop.wait()
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


# -- garbage ---------------------------------------------------------------------------------------------
# By default, Python searches all objects for garbage at any moment. With some hundred sessions in memory, all
# clients wait for 16 to 30 ms then. Nearly all garbage of a host is found by counting references. So the full
# search waits for a moment in which nothing happens, or until it cannot wait any longer.

_YOUNG, _MIDDLE = 20_000, 10
"""Thresholds: new objects before the youngest are searched, and such searches before the middle ones are."""
_NEVER = 1 << 30
_PAUSE = 2.0
"""Seconds without an event before all objects are searched."""
_TOO_MANY = 50
"""Searches of the middle objects after which all are searched, whatever happens."""


def settle() -> None:
    """Exempt all present objects from garbage collection, and leave old ones to `collect_in_pauses`."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _NEVER)


async def collect_in_pauses(moves: Callable[[], object]) -> None:
    """Collect garbage when nothing happens, which is while `moves` returns the same. Runs until cancelled."""
    before = moves()
    while True:
        await asyncio.sleep(_PAUSE)
        now = moves()
        if gc.get_count()[2] >= (1 if now == before else _TOO_MANY):
            gc.collect()
        before = now
