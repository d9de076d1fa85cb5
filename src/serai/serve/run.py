"""A host and its port, from the start to the end."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from typing import Any

from serai.errors import StorageFailed
from serai.host.agents import HostedHarness
from serai.host.host import Host
from serai.host.settings import HostSettings
from serai.redact import Redactor
from serai.serve.ahp.peer import AhpPeer
from serai.serve.collecting import collect_in_pauses, settle
from serai.serve.frames import text_frame
from serai.serve.port import PortSettings, serve_port
from serai.store.contract import Store

__all__ = ["run_host"]

_log = logging.getLogger(__name__)


async def run_host(
    store: Store,
    harnesses: Iterable[HostedHarness],
    *,
    host_settings: HostSettings,
    port_settings: PortSettings,
    started: Callable[[int], None],
    home: Path | None = None,
    redactor: Redactor | None = None,
    settings_of: Callable[[str | None], HostSettings] | None = None,
    is_trusted: Callable[[Path], bool] = lambda _folder: False,
    look_for_agents: Callable[[Host], Coroutine[Any, Any, None]] | None = None,
) -> None:
    """Open the store, bring the sessions back, and serve them until SIGINT or SIGTERM, or until cancelled.

    Args:
        store: Where the sessions are kept.
        harnesses: The kinds of agents.
        host_settings: How the host behaves.
        port_settings: Where it listens, and to whom.
        started: Is called with the port once clients can connect.
        home: Where things beside the store are kept.
        redactor: Masks secrets.
        settings_of: How a session behaves, given the URI of its working directory.
        is_trusted: Whether a person trusts a folder.
        look_for_agents: Adds more kinds of agents to the host. It is begun when clients can connect.

    Raises:
        StorageUnreadable: The store cannot be opened.
        ConfigInvalid: The port cannot be used.
        StorageFailed: It is no longer known what was written: the host has to start again.
    """
    host = Host(
        store,
        harnesses,
        text_frame,
        settings=host_settings,
        home=home,
        redactor=redactor,
        settings_of=settings_of,
        is_trusted=is_trusted,
    )
    opening = await host.open()

    def can_connect(port: int) -> None:
        if look_for_agents is not None:
            host.look_for(look_for_agents(host))
        started(port)

    settle()
    try:
        port = asyncio.create_task(
            serve_port(
                port_settings,
                lambda connection: AhpPeer(host, connection),
                lambda: _readiness(host),
                started=can_connect,
            ),
            name="port",
        )
        stop = asyncio.create_task(_signalled(), name="signals")
        check = asyncio.create_task(_check(store, full=not opening.clean), name="check of the store")
        garbage = asyncio.create_task(collect_in_pauses(lambda: host.journal.last_seq), name="garbage")
        try:
            await asyncio.wait({port, stop, host.journal.ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (stop, port, check, garbage):
                task.cancel()
            await asyncio.wait({port, stop, check, garbage})
        if not port.cancelled():
            port.result()
        if host.journal.ended.done():
            _explain(host.journal.ended)
    finally:
        await host.close()


async def _check(store: Store, *, full: bool) -> None:
    """Look the database over while the host is at work: all of it after an unclean stop."""
    problems = await store.check(full=full)
    for problem in problems:
        _log.error("the database is damaged: %s; 'serai doctor' tells more", problem)


def _readiness(host: Host) -> tuple[bool, dict[str, Any]]:
    unavailable = host.journal.unavailable
    if unavailable is not None:
        return False, unavailable.to_wire()
    return True, {"sessions": host.sessions.count()}


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


def _explain(ended: asyncio.Future[None]) -> None:
    error = ended.exception()
    if isinstance(error, StorageFailed):
        raise error
    if error is not None:
        raise StorageFailed(f"the journal stopped: {error}") from error
