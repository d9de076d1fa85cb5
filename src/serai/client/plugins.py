"""Plugins that a client publishes to a session: their files stay here, and the host asks for them.

Each is published with a nonce that its content makes. So a host that has read it does not ask again, and one
that has read another version does.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote, unquote

from msgspec import Struct

from serai.ahp import commands as c
from serai.ahp.errors import AhpErrorCode
from serai.ahp.types import URI, ClientPluginCustomization
from serai.client.connection import Handler
from serai.errors import MethodNotFound, ProtocolError

__all__ = ["ClientPlugin", "Shelf"]


class ClientPlugin(Struct, frozen=True):
    """A plugin of this client, in the layout of Open Plugins."""

    name: str
    """What people see. The plugins of a session have different names."""
    files: Mapping[str, str | bytes]
    """What is in it, by its path: `skills/polish/SKILL.md`, `agents/reviewer.md` and so on."""
    enabled: bool = True

    @property
    def nonce(self) -> str:
        """Another one for other content, and the same one for the same."""
        mark = hashlib.blake2b(digest_size=16)
        for path, content in sorted(self.files.items()):
            for piece in (path.encode(), _bytes(content)):
                mark.update(len(piece).to_bytes(8))
                mark.update(piece)
        return mark.hexdigest()


class Shelf:
    """The plugins that a client has published, for the host to read. Each has a URI of its own.

    Args:
        client_id: How the host knows the client.
    """

    def __init__(self, client_id: str) -> None:
        self._base = f"serai-plugin://{quote(client_id, safe='')}"
        self._plugins: dict[URI, dict[URI, ClientPlugin]] = {}

    def put(self, session: URI, plugins: Sequence[ClientPlugin]) -> list[ClientPluginCustomization]:
        """Have these for a session, and no others. Returns them as they are published.

        Raises:
            ValueError: Two of them have the same name.
        """
        placed = {self._uri(session, plugin): plugin for plugin in plugins}
        if len(placed) != len(plugins):
            raise ValueError("two plugins of a session have the same name")
        self._plugins.pop(session, None)
        if placed:
            self._plugins[session] = placed
        return [
            ClientPluginCustomization(
                id=uri, uri=uri, name=plugin.name, enabled=plugin.enabled, nonce=plugin.nonce
            )
            for uri, plugin in placed.items()
        ]

    def answering(self, method: str, otherwise: Handler | None = None) -> Handler:
        """Answers a kind of request from the plugins, and leaves what is about something else to another."""
        return partial(self._answer, method, otherwise)

    async def _answer(self, method: str, otherwise: Handler | None, params: Any) -> Any:
        match params:
            case c.ResourceReadParams(uri=uri) if found := self._find(uri):
                return _read(*found)
            case c.ResourceListParams(uri=uri) if found := self._find(uri):
                return _list(*found)
            case _ if otherwise is not None:
                return await otherwise(params)
            case _:
                raise MethodNotFound(f"this client does not serve {method!r}")

    def _uri(self, session: URI, plugin: ClientPlugin) -> URI:
        return f"{self._base}/{quote(session, safe='')}/{quote(plugin.name, safe='')}"

    def _find(self, uri: URI) -> tuple[ClientPlugin, str] | None:
        """The plugin that a URI leads into, and the path in it."""
        for plugins in self._plugins.values():
            for base, plugin in plugins.items():
                if uri == base or uri.startswith(f"{base}/"):
                    return plugin, unquote(uri.removeprefix(base)).strip("/")
        return None


def _read(plugin: ClientPlugin, path: str) -> c.ResourceReadResult:
    content = plugin.files.get(path)
    if content is None:
        raise ProtocolError(f"{plugin.name} has no file {path!r}", number=AhpErrorCode.NOT_FOUND)
    if isinstance(content, str):
        return c.ResourceReadResult(data=content, encoding=c.ContentEncoding.UTF8.value)
    data = base64.b64encode(content).decode()
    return c.ResourceReadResult(data=data, encoding=c.ContentEncoding.BASE64.value)


def _list(plugin: ClientPlugin, path: str) -> c.ResourceListResult:
    below = f"{path}/" if path else ""
    kinds: dict[str, c.ResourceType] = {}
    for file in plugin.files:
        if file.startswith(below):
            name, _, deeper = file.removeprefix(below).partition("/")
            kinds[name] = c.ResourceType.DIRECTORY if deeper else c.ResourceType.FILE
    if path and not kinds:
        raise ProtocolError(f"{plugin.name} has no folder {path!r}", number=AhpErrorCode.NOT_FOUND)
    entries = [c.DirectoryEntry(name=name, type=kind.value) for name, kind in sorted(kinds.items())]
    return c.ResourceListResult(entries=entries)


def _bytes(content: str | bytes) -> bytes:
    return content.encode(errors="surrogatepass") if isinstance(content, str) else content
