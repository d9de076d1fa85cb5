"""Plugins that a client publishes: read from the files that were fetched from it, and kept by nonce."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from threading import Lock
from typing import cast

from msgspec import structs

from serai.ahp.types import ClientPluginCustomization, PluginCustomization
from serai.customizations.containers import MAX_SECONDS, MAX_SHOWN, Origin, fit, in_one_line, load_state
from serai.customizations.found import Found
from serai.customizations.plugins import has_what_runs, read_plugin
from serai.customizations.trees import FetchedTree

__all__ = ["ClientPlugins", "read_client_plugin"]

_MAX_KEPT = 64


def read_client_plugin(
    plugin: PluginCustomization, files: Mapping[str, bytes], client_id: str, *, trusted: bool = False
) -> Found:
    """Read a published plugin from its files.

    Args:
        plugin: What the client published. Its id, URI, name and switch are kept.
        files: The content of each file, by its path below the plugin's URI.
        client_id: Who published it.
        trusted: Whether its hooks and MCP servers may run on this machine. Nobody is asked for it here.
    """
    tree = FetchedTree(files, plugin.uri)
    until = time.thread_time() + MAX_SECONDS
    into = read_plugin(Origin(tree, plugin.id, client_id, trusted, plugin=plugin.name, until=until))
    into.problems += [f"{path} leads out of the plugin, so it is not read" for path in tree.refused]
    if not trusted and has_what_runs(into):
        into.warnings.insert(0, "A client published this plugin: its hooks and MCP servers do not run here")
    fit(into, MAX_SHOWN)
    customization = PluginCustomization(
        id=plugin.id,
        uri=plugin.uri,
        name=plugin.name or into.name or in_one_line(plugin.uri),
        icons=plugin.icons,
        enabled=plugin.enabled,
        client_id=client_id,
        load=load_state(into),
        children=into.children,
    )
    return Found([customization], tuple(into.definitions))


class ClientPlugins:
    """Published plugins that were read already. The least used go first. Threads may share it."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str, str], Found] = OrderedDict()
        self._lock = Lock()

    def get(self, client_id: str, plugin: PluginCustomization) -> Found | None:
        """What is known of a plugin under its nonce; `None` when its files must be fetched.

        Its switch is as it is published now.
        """
        key = _key(client_id, plugin)
        if key is None:
            return None
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
        known = cast("PluginCustomization", found.customizations[0])
        if known.id != plugin.id:
            return None  # the same files under another id: what is in them has other ids too
        return replace(found, customizations=[structs.replace(known, enabled=plugin.enabled)])

    def read(self, client_id: str, plugin: PluginCustomization, files: Mapping[str, bytes]) -> Found:
        """Read a plugin from its files, and keep it when it has a nonce. An older nonce's is dropped."""
        found = read_client_plugin(plugin, files, client_id)
        key = _key(client_id, plugin)
        with self._lock:
            for old in [old for old in self._kept if old[:2] == (client_id, plugin.uri)]:
                del self._kept[old]
            if key is not None:
                self._kept[key] = found
            while len(self._kept) > _MAX_KEPT:
                self._kept.popitem(last=False)
        return found

    def forget(self, client_id: str) -> None:
        """Drop what a client published."""
        with self._lock:
            for key in [key for key in self._kept if key[0] == client_id]:
                del self._kept[key]


def _key(client_id: str, plugin: PluginCustomization) -> tuple[str, str, str] | None:
    nonce = plugin.nonce if isinstance(plugin, ClientPluginCustomization) else None
    return None if nonce is None else (client_id, plugin.uri, nonce)
