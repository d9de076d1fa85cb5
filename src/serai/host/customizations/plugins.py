"""Plugins that a session's active client publishes: fetched from it, kept by nonce, removed with it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import quote

from serai.ahp import commands as c, wire
from serai.ahp.types import (
    ROOT,
    ClientPluginCustomization,
    CustomizationErrorState,
    CustomizationLoadingState,
    SessionActiveClient,
)
from serai.customizations.containers import Customizations
from serai.customizations.plugins import published, read_client_plugin
from serai.errors import FileUnreadable, ProtocolError, SeraiError
from serai.host.clients import Clients
from serai.host.customizations.folders import CustomizedFolders
from serai.host.session.core import SessionCore

_MAX_FILES = 1_000
_MAX_DEPTH = 8
_MAX_BYTES = 4 * 1024 * 1024
_WITHIN = 30.0
"""Longest time for the files of one plugin, in seconds."""
_READ = (".md", ".mdc", ".json")
"""Endings of the files that describe a plugin. Other files are not fetched."""
_PASSED_OVER = {".git", "node_modules"}

Ask: TypeAlias = Callable[[str, wire.Value], Awaitable[Any]]
"""A request to the client, with its method and parameters. It raises a `SeraiError` when it fails."""


class PublishedPlugins:
    """The plugins that the active client of one session publishes.

    Args:
        session: The session.
        changed: Called when the plugins have changed.
    """

    def __init__(
        self, session: SessionCore, clients: Clients, folders: CustomizedFolders, changed: Callable[[], None]
    ) -> None:
        self._session = session
        self._clients = clients
        self._kept = folders.client_plugins
        self._folders = folders
        self._changed = changed
        self._client_id = ""
        self.shown: list[Customizations] = []
        """One container for each plugin, as far as it is known."""
        self._fetching: asyncio.Task[Any] | None = None
        self._leaving: asyncio.Task[Any] | None = None

    def publish(self, client: SessionActiveClient | None) -> None:
        """Replace the plugins by those that a client publishes now; `None` removes all."""
        for task in (self._fetching, self._leaving):
            if task is not None:
                task.cancel()
        self._fetching = self._leaving = None
        had_some = bool(self.shown)
        self._client_id = client_id = client.client_id if client else ""
        self.shown = []
        missing: list[tuple[int, ClientPluginCustomization]] = []
        for place, plugin in enumerate((client.customizations if client else None) or ()):
            known = self._kept.get(client_id, plugin)
            if known is None:
                missing.append((place, plugin))
            unread = published(plugin, client_id, CustomizationLoadingState())
            self.shown.append(known or Customizations([unread]))
        if missing:
            self._fetching = self._session.spawn(self._fetch_all(client_id, missing))
        if had_some or self.shown:
            self._changed()

    def client_left(self, client_id: str) -> None:
        """Remove the plugins of a client that is gone, unless it comes back soon."""
        if client_id == self._client_id and self.shown:
            if self._leaving is not None:
                self._leaving.cancel()
            self._leaving = self._session.spawn(self._leave(client_id))

    async def _leave(self, client_id: str) -> None:
        await asyncio.sleep(self._session.settings.client_grace_seconds)
        self._leaving = None
        active = self._session.live.head.active_client
        if active is None or active.client_id != client_id:
            self.publish(None)

    async def _fetch_all(self, client_id: str, missing: list[tuple[int, ClientPluginCustomization]]) -> None:
        async def fetch(place: int, plugin: ClientPluginCustomization) -> None:
            self.shown[place] = await self._fetch(client_id, plugin)
            self._changed()

        await asyncio.gather(*(fetch(place, plugin) for place, plugin in missing))

    async def _fetch(self, client_id: str, plugin: ClientPluginCustomization) -> Customizations:
        fetch = PluginFetch(partial(self._clients.ask, client_id), plugin.uri)
        try:
            await fetch.run()
        except SeraiError as error:
            state = CustomizationErrorState(message=error.message)
            return Customizations([published(plugin, client_id, state)])
        found = await self._folders.read(
            lambda: read_client_plugin(plugin, fetch.files, client_id, fetch.problems)
        )
        if not fetch.problems:  # otherwise the rest may be there next time
            self._kept.keep(client_id, plugin, found)
        return found


class PluginFetch:
    """Fetches the files that describe a plugin from a client.

    Args:
        ask: Sends a request to the client.
        uri: The URI of the plugin.
    """

    def __init__(self, ask: Ask, uri: str) -> None:
        self._ask = ask
        self._base = uri.rstrip("/")
        self.files: dict[str, bytes] = {}
        """The fetched files, by the path below the plugin's URI."""
        self.problems: list[str] = []
        """Problems with files that are missing, in sentences."""

    async def run(self) -> None:
        """Fetch the files. Cancelling is safe.

        Raises:
            SeraiError: The client is gone, does not list the plugin, or takes too long; or the plugin is too
                large.
        """
        try:
            async with asyncio.timeout(_WITHIN):
                await self._fetch("", await self._list(""))
        except TimeoutError:
            raise FileUnreadable(f"the client did not send it within {_WITHIN:g} s") from None

    async def _fetch(self, folder: str, entries: list[c.DirectoryEntry], depth: int = 0) -> None:
        if depth > _MAX_DEPTH:
            self.problems.append(f"what is more than {_MAX_DEPTH} folders deep is not read")
            return
        if len(self.files) + sum(map(_is_read, entries)) > _MAX_FILES:
            raise FileUnreadable(f"it has more than {_MAX_FILES:,} files")
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.name in {"", ".", ".."} or "/" in entry.name:
                self.problems.append(f"{path} is no name of a file")
                continue
            try:
                if entry.type == c.ResourceType.DIRECTORY and entry.name not in _PASSED_OVER:
                    await self._fetch(path, await self._list(path), depth + 1)
                elif _is_read(entry):
                    await self._fetch_file(path)
            except ProtocolError as error:
                self.problems.append(f"{path} cannot be read ({error.message})")

    async def _list(self, path: str) -> list[c.DirectoryEntry]:
        params = c.ResourceListParams(channel=ROOT, uri=self._uri(path))
        result: c.ResourceListResult = await self._ask("resourceList", params)
        return result.entries

    async def _fetch_file(self, path: str) -> None:
        params = c.ResourceReadParams(
            channel=ROOT, uri=self._uri(path), encoding=c.ContentEncoding.UTF8.value
        )
        result: c.ResourceReadResult = await self._ask("resourceRead", params)
        try:
            is_base64 = result.encoding == c.ContentEncoding.BASE64
            data = base64.b64decode(result.data, validate=True) if is_base64 else result.data.encode()
        except ValueError:
            self.problems.append(f"{path} cannot be read (the client sent what cannot be decoded)")
            return
        self.files[path] = data
        if sum(map(len, self.files.values())) > _MAX_BYTES:
            raise FileUnreadable(f"its texts have more than {_MAX_BYTES // 1024 // 1024} MiB")

    def _uri(self, path: str) -> str:
        return f"{self._base}/{quote(path, errors='replace')}" if path else self._base


def _is_read(entry: c.DirectoryEntry) -> bool:
    return entry.type == c.ResourceType.FILE and entry.name.lower().endswith(_READ)
