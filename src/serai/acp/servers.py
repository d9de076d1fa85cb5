"""MCP servers for a session: read from settings, checked against the agent, written as ACP has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta, Struct

from serai.acp.capabilities import AgentCapabilities
from serai.acp.shapes import is_list, is_object, object_of
from serai.errors import CapabilityNotSupportedError, Mismatch

Word = Annotated[str, Meta(min_length=1)]


class StdioServer(Struct, frozen=True, kw_only=True, tag_field="type", tag="stdio"):
    """A server that the agent starts and talks to over its standard input and output."""

    name: Word
    command: Word
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}


class HttpServer(Struct, frozen=True, kw_only=True, tag_field="type", tag="http"):
    """A server that is reached over streamable HTTP."""

    name: Word
    url: Word
    headers: Mapping[str, str] = {}


class SseServer(HttpServer, frozen=True, kw_only=True, tag="sse"):
    """A server that is reached over HTTP with server-sent events, the older way."""


McpServer: TypeAlias = StdioServer | HttpServer | SseServer
_STREAMABLE = frozenset({"streamable-http", "streamable_http", "streamableHttp"})
"""Other names of the type `http`."""


def read_server(described: McpServer | Mapping[str, Any], field: str = "mcpServers") -> McpServer:
    """Read a server from settings: `name`, and `command`, `args`, `env` or `type`, `url`, `headers`.

    `env` and `headers` are objects, or lists of `name` and `value` as in ACP.

    Raises:
        Mismatch: Something is missing or has the wrong shape.
    """
    if isinstance(described, StdioServer | HttpServer):
        return described
    if not is_object(described):
        raise Mismatch("must be a server, or an object that describes one", field=field)
    kind = described.get("type") or ("http" if "url" in described and "command" not in described else "stdio")
    given = {
        name: {object_of(each).get("name"): object_of(each).get("value") for each in value}
        if name in ("env", "headers") and is_list(value)
        else value
        for name, value in described.items()
        if value is not None
    }
    try:
        return msgspec.convert({**given, "type": "http" if str(kind) in _STREAMABLE else kind}, McpServer)
    except msgspec.ValidationError as error:
        raise Mismatch(str(error), field=field) from None


def write_servers(
    servers: Iterable[McpServer | Mapping[str, Any]], capabilities: AgentCapabilities, agent: str
) -> list[dict[str, Any]]:
    """Return the servers as `mcpServers`, when the agent can reach all of them.

    Raises:
        CapabilityNotSupportedError: It cannot: `mcpCapabilities.http` or `mcpCapabilities.sse`.
        Mismatch: One of them is not described completely, or has the name of another.
    """
    written: dict[str, dict[str, Any]] = {}
    for number, described in enumerate(servers):
        server = read_server(described, f"mcpServers[{number}]")
        if server.name in written:
            raise Mismatch("is the name of another server, too", field=f"mcpServers[{number}].name")
        wire: dict[str, Any] = msgspec.to_builtins(server)
        if isinstance(server, StdioServer):  # it alone has no `type`
            del wire["type"]
            wire["args"] = list(server.args)
        elif not getattr(capabilities.mcp, wire["type"]):
            raise CapabilityNotSupportedError(f"mcpCapabilities.{wire['type']}", agent=agent)
        for pairs in wire.keys() & {"env", "headers"}:
            wire[pairs] = [{"name": name, "value": value} for name, value in wire[pairs].items()]
        written[server.name] = wire
    return list(written.values())
