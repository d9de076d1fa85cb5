"""MCP servers for a session: read from settings, checked against the agent, written as ACP has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from serai.acp.capabilities import AgentCapabilities
from serai.acp.shapes import is_list, is_object, object_of
from serai.errors import CapabilityNotSupportedError, Mismatch

__all__ = ["HttpServer", "McpServer", "SseServer", "StdioServer", "read_server", "write_servers"]


class StdioServer(Struct, frozen=True, kw_only=True):
    """A server that the agent starts and talks to over its standard input and output."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}


class HttpServer(Struct, frozen=True, kw_only=True):
    """A server that is reached over streamable HTTP."""

    name: str
    url: str
    headers: Mapping[str, str] = {}


class SseServer(Struct, frozen=True, kw_only=True):
    """A server that is reached over HTTP with server-sent events, the older way."""

    name: str
    url: str
    headers: Mapping[str, str] = {}


McpServer: TypeAlias = StdioServer | HttpServer | SseServer

_HTTP = frozenset({"http", "streamable-http", "streamable_http", "streamableHttp"})


def read_server(told: McpServer | Mapping[str, Any], field: str = "mcpServers") -> McpServer:
    """A server as settings describe it: `name`, and `command`, `args`, `env` or `type`, `url`, `headers`.

    `env` and `headers` are objects, or lists of `name` and `value` as in ACP.

    Raises:
        Mismatch: Something is missing or has the wrong shape; `field` says what.
    """
    if isinstance(told, StdioServer | HttpServer | SseServer):
        return told
    if not is_object(told):
        raise Mismatch("must be a server, or an object that describes one", field=field)
    name = _text(told, "name", field)
    kind = told.get("type") or ("http" if "url" in told and "command" not in told else "stdio")
    if kind == "stdio":
        args: Any = [] if told.get("args") is None else told["args"]
        if not is_list(args) or not all(isinstance(each, str) for each in args):
            raise Mismatch("must be a list of texts", field=f"{field}.args")
        return StdioServer(
            name=name, command=_text(told, "command", field), args=tuple(args), env=_pairs(told, "env", field)
        )
    server = HttpServer if kind in _HTTP else SseServer if kind == "sse" else None
    if server is None:
        raise Mismatch("must be 'stdio', 'http' or 'sse'", field=f"{field}.type")
    return server(name=name, url=_text(told, "url", field), headers=_pairs(told, "headers", field))


def write_servers(
    servers: Iterable[McpServer | Mapping[str, Any]], capabilities: AgentCapabilities, agent: str
) -> list[dict[str, Any]]:
    """The servers as `mcpServers`, when the agent can reach all of them.

    Raises:
        CapabilityNotSupportedError: It cannot: `mcpCapabilities.http` or `mcpCapabilities.sse`.
        Mismatch: One of them is not described completely, or has the name of another.
    """
    read = [read_server(server, f"mcpServers[{number}]") for number, server in enumerate(servers)]
    names: set[str] = set()
    for number, server in enumerate(read):
        if server.name in names:
            raise Mismatch("is the name of another server, too", field=f"mcpServers[{number}].name")
        names.add(server.name)
        if isinstance(server, HttpServer) and not capabilities.mcp.http:
            raise CapabilityNotSupportedError("mcpCapabilities.http", agent=agent)
        if isinstance(server, SseServer) and not capabilities.mcp.sse:
            raise CapabilityNotSupportedError("mcpCapabilities.sse", agent=agent)
    return [_write(server) for server in read]


def _write(server: McpServer) -> dict[str, Any]:
    if isinstance(server, StdioServer):  # it alone has no `type`
        return {
            "name": server.name,
            "command": server.command,
            "args": list(server.args),
            "env": _named_values(server.env),
        }
    return {
        "type": "http" if isinstance(server, HttpServer) else "sse",
        "name": server.name,
        "url": server.url,
        "headers": _named_values(server.headers),
    }


def _named_values(pairs: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in pairs.items()]


def _text(told: Mapping[str, Any], name: str, field: str) -> str:
    value = told.get(name)
    if not isinstance(value, str) or not value:
        raise Mismatch("is required, as text", field=f"{field}.{name}")
    return value


def _pairs(told: Mapping[str, Any], name: str, field: str) -> dict[str, str]:
    value: Any = {} if told.get(name) is None else told[name]
    if is_object(value):
        pairs: list[tuple[Any, Any]] = list(value.items())
    else:  # what is neither has no name that is text
        entries: list[Any] = value if is_list(value) else [value]
        pairs = [(object_of(each).get("name"), object_of(each).get("value")) for each in entries]
    if not all(isinstance(key, str) and key and isinstance(each, str) for key, each in pairs):
        raise Mismatch(
            "must be an object of texts, or a list of objects with name and value", field=f"{field}.{name}"
        )
    return dict(pairs)
