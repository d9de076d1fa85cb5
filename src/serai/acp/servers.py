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


class StdioServer(Struct, frozen=True, kw_only=True):
    """A server that the agent starts and talks to over its standard input and output."""

    name: Word
    command: Word
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}


class HttpServer(Struct, frozen=True, kw_only=True):
    """A server that is reached over streamable HTTP."""

    name: Word
    url: Word
    headers: Mapping[str, str] = {}


class SseServer(HttpServer, frozen=True, kw_only=True):
    """A server that is reached over HTTP with server-sent events, the older way."""


McpServer: TypeAlias = StdioServer | HttpServer | SseServer

_KINDS: dict[Any, type[McpServer]] = {
    "stdio": StdioServer,
    "http": HttpServer,
    "streamable-http": HttpServer,
    "streamable_http": HttpServer,
    "streamableHttp": HttpServer,
    "sse": SseServer,
}


def read_server(told: McpServer | Mapping[str, Any], field: str = "mcpServers") -> McpServer:
    """A server as settings describe it: `name`, and `command`, `args`, `env` or `type`, `url`, `headers`.

    `env` and `headers` are objects, or lists of `name` and `value` as in ACP.

    Raises:
        Mismatch: Something is missing or has the wrong shape.
    """
    if isinstance(told, StdioServer | HttpServer):
        return told
    if not is_object(told):
        raise Mismatch("must be a server, or an object that describes one", field=field)
    kind = told.get("type") or ("http" if "url" in told and "command" not in told else "stdio")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise Mismatch("must be 'stdio', 'http' or 'sse'", field=f"{field}.type")
    given = {
        name: {object_of(each).get("name"): object_of(each).get("value") for each in value}
        if name in ("env", "headers") and is_list(value)
        else value
        for name, value in told.items()
        if value is not None
    }
    try:
        return msgspec.convert(given, _KINDS[kind])
    except msgspec.ValidationError as error:
        raise Mismatch(str(error), field=field) from None


def write_servers(
    servers: Iterable[McpServer | Mapping[str, Any]], capabilities: AgentCapabilities, agent: str
) -> list[dict[str, Any]]:
    """The servers as `mcpServers`, when the agent can reach all of them.

    Raises:
        CapabilityNotSupportedError: It cannot: `mcpCapabilities.http` or `mcpCapabilities.sse`.
        Mismatch: One of them is not described completely, or has the name of another.
    """
    read = [read_server(server, f"mcpServers[{number}]") for number, server in enumerate(servers)]
    written: dict[str, dict[str, Any]] = {}
    for number, server in enumerate(read):
        if server.name in written:
            raise Mismatch("is the name of another server, too", field=f"mcpServers[{number}].name")
        if isinstance(server, StdioServer):  # it alone has no `type`
            kind: dict[str, Any] = {}
            more = {"command": server.command, "args": list(server.args), "env": _named_values(server.env)}
        else:
            kind = {"type": "sse" if isinstance(server, SseServer) else "http"}
            if not getattr(capabilities.mcp, kind["type"]):
                raise CapabilityNotSupportedError(f"mcpCapabilities.{kind['type']}", agent=agent)
            more = {"url": server.url, "headers": _named_values(server.headers)}
        written[server.name] = {**kind, "name": server.name, **more}
    return list(written.values())


def _named_values(pairs: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in pairs.items()]
