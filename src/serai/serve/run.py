"""A host and its port, from the start to the end."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from typing import Any, Protocol, runtime_checkable
from weakref import WeakSet

from starlette.routing import BaseRoute, Route

from serai.contract import DeviceLinkParams, Role
from serai.errors import StorageFailed
from serai.host.host import Host
from serai.relay.tokens import Caller
from serai.relay.workspace import Workspace
from serai.serve import Peer
from serai.serve.ahp.commands import ahp_peer
from serai.serve.door import raise_descriptor_limit
from serai.serve.mcp import McpEndpoint
from serai.serve.port import serve_port
from serai.serve.relay import RelayPeer, relay_routes
from serai.serve.sessions import SessionRoutes
from serai.serve.transcripts import TranscriptRoutes
from serai.serve.websocket import WebSocket
from serai.store.contract import Store

_log = logging.getLogger(__name__)

_LOOK_SECONDS = 1.0
"""How long it takes until a change of the settings is seen."""


@runtime_checkable
class Joining(Protocol):
    """A kind of agent whose sessions use the relay from within the host, and that has something to close."""

    def join(self, workspace: Workspace) -> None:
        """The relay is open."""
        ...

    async def close(self) -> None:
        """The host is closed."""
        ...


class Peers:
    """Who talks over the WebSockets of a host.

    Args:
        workspace: Its relay.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._links: WeakSet[WebSocket] = WeakSet()

    def peer_of(self, link: WebSocket) -> Peer:
        """The peer of a new connection."""
        self._links.add(link)
        is_relay = link.path == "/relay"
        return RelayPeer(self._workspace, link) if is_relay else ahp_peer(self._workspace.host, link)

    def cut(self, token_digest: str) -> None:
        """Close the connections that a token has opened: it was revoked."""
        for link in [one for one in self._links if one.token_digest == token_digest]:
            link.close(4401, "the token was revoked")


async def run_host(
    host: Host,
    token_digests: Collection[str],
    *,
    started: Callable[[int], None],
    look_for_agents: Callable[[Host], Coroutine[Any, Any, None]] | None = None,
    page: Sequence[BaseRoute] = (),
    first_codes: Iterable[str] = (),
    agents_changed: Callable[[], object] = lambda: None,
) -> None:
    """Open the store, bring the sessions back, and serve them until SIGINT or SIGTERM, or until cancelled.

    Args:
        host: The host, not opened yet. Its settings say where it listens.
        token_digests: Of the tokens that open the door; without any, it is open.
        started: Is called with the port once clients can connect.
        look_for_agents: Adds more kinds of agents to the host. It is begun when clients can connect.
        page: The routes of the page.
        first_codes: Each is good for one token of a device that may do everything.
        agents_changed: Returns something else than before when agents have to be looked for again.

    Raises:
        StorageUnreadable: The store cannot be opened.
        ConfigInvalid: The port cannot be used.
        StorageFailed: It is no longer known what was written: the host has to start again.
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
    peers = Peers(workspace)
    workspace.tokens.revoked = lambda token_digest: (peers.cut(token_digest), sessions.cut(token_digest))

    def can_connect(port: int) -> None:
        tools.listening(port)
        if (look := look_for_agents) is not None:
            host.agent_list.look_again = lambda: host.look_for(look(host))
            host.agent_list.look_again()
        started(port)

    settle()
    raise_descriptor_limit()
    try:
        port = asyncio.create_task(
            serve_port(
                host.settings,
                peers.peer_of,
                lambda: _readiness(host, log_lost=opening.log_lost),
                started=can_connect,
                token_digests=token_digests,
                roles=workspace.tokens.role_of,
                routes=[
                    *relay_routes(workspace),
                    *sessions.routes,
                    *TranscriptRoutes(host).routes,
                    Route("/mcp", tools, methods=["POST"]),
                    *page,
                ],
            ),
            name="port",
        )
        stop = asyncio.create_task(_signalled(), name="signals")
        check = asyncio.create_task(
            _check(host.journal.store, full=not opening.clean), name="check of the store"
        )
        looking = asyncio.create_task(_look_again(host, agents_changed), name="settings of agents")
        garbage = asyncio.create_task(collect_in_pauses(lambda: host.journal.last_seq), name="garbage")
        try:
            await asyncio.wait({port, stop, host.journal.ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            workspace.runner.stop_waiting()
            sessions.close()
            for task in (stop, port, check, garbage, looking):
                task.cancel()
            await asyncio.wait({port, stop, check, garbage, looking})
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


async def _look_again(host: Host, stamp: Callable[[], object]) -> None:
    """Look for agents whenever what they come from has changed, until cancelled."""
    before = stamp()
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        if (now := stamp()) != before:
            before = now
            host.agent_list.look_again()


async def _check(store: Store, *, full: bool) -> None:
    """Look the database over while the host is at work: all of it after an unclean stop."""
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
# Left alone, Python looks through all objects in the middle of whatever happens: with some hundred sessions
# in memory, all wait for 16 to 30 ms. What a host lets go is nearly always found by counting references. So
# the search through all objects waits for a moment in which nothing happens, or for a reason not to wait.

_YOUNG, _MIDDLE = 20_000, 10
"""With so many more objects the youngest are looked through; each tenth time, the middle ones too."""
_NEVER = 1 << 30
_PAUSE = 2.0
"""So long nothing has happened when all are looked through, in seconds."""
_TOO_MANY = 50
"""When the middle ones were looked through so often, all are, whatever happens."""


def settle() -> None:
    """Begin: what is there now stays, and is not looked at again. All that is old is left to the pauses."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _NEVER)


async def collect_in_pauses(moves: Callable[[], object]) -> None:
    """Look through all objects when nothing happens, until cancelled: while `moves` returns the same."""
    before = moves()
    while True:
        await asyncio.sleep(_PAUSE)
        now = moves()
        if gc.get_count()[2] >= (1 if now == before else _TOO_MANY):
            gc.collect()
        before = now
