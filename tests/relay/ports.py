"""A host with its relay on a real port, and the MCP SDK's own client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from starlette.routing import Route

from hosts import WITHIN
from relay.port import listening_port
from relay.workspaces import Inn, inn
from serai.serve.mcp import McpEndpoint


@dataclass
class OpenInn(Inn):
    """A host with its relay, on a port."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    async def token(self, name: str) -> str:
        """A token for a participant; a new one is a service."""
        return (await self.call("tokens.create", agent=name)).token


@asynccontextmanager
async def open_inn(**options: Any) -> AsyncGenerator[OpenInn]:
    """See `inn`; it listens, too."""
    async with inn(**options) as house:
        tools = McpEndpoint(house.workspace, "127.0.0.1")
        house.host.relay_access = tools.access
        try:
            async with listening_port(house, Route("/mcp", tools, methods=["POST"])) as port:
                tools.listening(port)
                yield OpenInn(house.host, house.workspace, house.store, port)
        finally:
            await tools.close()


class Tools:
    """The tools, for one holder of a token."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def names(self) -> set[str]:
        return {tool.name for tool in (await self.client.list_tools()).tools}

    async def __call__(self, tool: str, **arguments: Any) -> Any:
        """What a tool answers; an error as a string that begins with its code."""
        async with asyncio.timeout(WITHIN):
            result = await self.client.call_tool(tool, arguments)
        (content,) = result.content
        told = json.loads(content.text)  # type: ignore[union-attr]
        return f"{told['code']}: {told['message']}" if result.is_error else told


@asynccontextmanager
async def tools_over_http(url: str, token: str, mode: str = "auto") -> AsyncGenerator[Tools]:
    """The tools, by the SDK's client over HTTP."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=WITHIN) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield Tools(client)


@asynccontextmanager
async def tools_of(server: dict[str, Any]) -> AsyncGenerator[Tools]:
    """The tools of a server as ACP describes it to an agent."""
    if server.get("type") == "http":
        [header] = server["headers"]
        async with tools_over_http(server["url"], header["value"].removeprefix("Bearer ")) as tools:
            yield tools
        return
    env = {each["name"]: each["value"] for each in server["env"]}
    parameters = StdioServerParameters(command=server["command"], args=server["args"], env=env)
    async with Client(stdio_client(parameters)) as client:
        yield Tools(client)
