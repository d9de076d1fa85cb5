"""Plugins that a session's active client publishes: fetched from it, kept by nonce, gone when it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from serai.ahp import wire
from serai.ahp.types import (
    ClientPluginCustomization,
    CustomizationDegradedState,
    CustomizationErrorState,
    CustomizationLoadingState,
    CustomizationLoadState,
    PluginCustomization,
    SessionActiveClient,
)
from serai.customizations import Found, read_client_plugin
from serai.errors import SeraiError
from serai.host.customizing.fetching import Fetched, fetch_files

if TYPE_CHECKING:
    from serai.host.session.session import Session

__all__ = ["Published"]

_MAX_PLUGINS = 64
"""So many plugins of a client are read."""
_AT_ONCE = 4
"""So many of them at the same time."""
_MAX_PROBLEMS = 5
"""So many files are named that are missing of one."""

Spawn = Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
"""Runs something that the session owns."""


class Published:
    """What the active client of one session publishes.

    Args:
        session: The session.
        spawn: Runs something that the session owns.
        changed: Is called when there is something else to show.
    """

    def __init__(self, session: Session, spawn: Spawn, changed: Callable[[], None]) -> None:
        self._session = session
        self._kept = session.host.client_plugins
        self._spawn = spawn
        self._changed = changed
        self._client_id: str | None = None
        self._shown: list[Found] = []
        self._fetching: asyncio.Task[Any] | None = None
        self._leaving: asyncio.Task[Any] | None = None

    @property
    def shown(self) -> list[Found]:
        """One container each, with what is in it as far as it is known."""
        return self._shown

    def publish(self, client: SessionActiveClient | None) -> None:
        """The client publishes this now, and nothing else; `None` takes all of it away."""
        for task in (self._fetching, self._leaving):
            if task is not None:
                task.cancel()
        self._fetching = self._leaving = None
        had_some = bool(self._shown)
        self._client_id = client.client_id if client else None
        self._shown = []
        missing: list[tuple[int, ClientPluginCustomization]] = []
        if client is not None:
            for place, plugin in enumerate(client.customizations or ()):
                known = self._kept.get(client.client_id, plugin)
                if known is None and place < _MAX_PLUGINS:
                    missing.append((place, plugin))
                    known = _shown(client.client_id, plugin, CustomizationLoadingState())
                elif known is None:
                    known = _failed(
                        client.client_id, plugin, f"only {_MAX_PLUGINS} plugins of a client are read"
                    )
                self._shown.append(known)
            if missing:
                self._fetching = self._spawn(self._fetch_all(client.client_id, missing))
        if had_some or self._shown:
            self._changed()

    def client_left(self, client_id: str) -> None:
        """The client is gone. It has some time to come back before its plugins go too."""
        if client_id == self._client_id and self._shown:
            if self._leaving is not None:
                self._leaving.cancel()
            self._leaving = self._spawn(self._leave(client_id))

    async def _leave(self, client_id: str) -> None:
        await asyncio.sleep(self._session.settings.client_grace)
        self._leaving = None
        active = self._session.live.head.active_client
        if active is None or active.client_id != client_id:
            self.publish(None)

    # -- fetching ------------------------------------------------------------------------------------------

    async def _fetch_all(self, client_id: str, missing: list[tuple[int, ClientPluginCustomization]]) -> None:
        limit = asyncio.Semaphore(_AT_ONCE)

        async def fetch(place: int, plugin: ClientPluginCustomization) -> None:
            async with limit:
                self._shown[place] = await self._fetch(client_id, plugin)
            self._changed()

        await asyncio.gather(*(fetch(place, plugin) for place, plugin in missing))

    async def _fetch(self, client_id: str, plugin: ClientPluginCustomization) -> Found:
        def ask(method: str, params: wire.Value) -> Coroutine[Any, Any, Any]:
            return self._session.host.clients.ask(client_id, method, params)

        try:
            fetched = await fetch_files(ask, plugin.uri)
        except SeraiError as error:
            return _failed(client_id, plugin, error.message)
        readers = self._session.host.customized_folders.readers
        return await readers.run(self._read, client_id, plugin, fetched)

    def _read(self, client_id: str, plugin: ClientPluginCustomization, fetched: Fetched) -> Found:
        if not fetched.problems:
            return self._kept.read(client_id, plugin, fetched.files)
        # Next time the rest may be there, so it is not kept.
        found = read_client_plugin(plugin, fetched.files, client_id)
        container = cast("PluginCustomization", found.customizations[0])
        load = _with_problems(container.load, fetched.problems)
        return Found([replace(container, load=load)], found.definitions, found.locked)


def _shown(client_id: str, plugin: ClientPluginCustomization, load: CustomizationLoadState) -> Found:
    container = PluginCustomization(
        id=plugin.id,
        uri=plugin.uri,
        name=plugin.name,
        icons=plugin.icons,
        enabled=plugin.enabled,
        client_id=client_id,
        load=load,
    )
    return Found([container])


def _failed(client_id: str, plugin: ClientPluginCustomization, message: str) -> Found:
    return _shown(client_id, plugin, CustomizationErrorState(message=message))


def _with_problems(load: CustomizationLoadState | None, problems: list[str]) -> CustomizationLoadState:
    lines = problems[:_MAX_PROBLEMS]
    if len(problems) > _MAX_PROBLEMS:
        lines.append(f"and {len(problems) - _MAX_PROBLEMS:,} more")
    if isinstance(load, CustomizationDegradedState | CustomizationErrorState):
        lines.insert(0, load.message)
    kind = (
        CustomizationErrorState if isinstance(load, CustomizationErrorState) else CustomizationDegradedState
    )
    return kind(message="\n".join(lines))
