"""The relay's tools over MCP, at `/mcp` (streamable HTTP).

Each request stands for itself: the token that it carries says who calls, and nothing is kept for the next. So
no session of MCP outlives a token, or a host. The SDK takes a second to import: that happens with the first
request, on a thread.
"""

from __future__ import annotations

import asyncio
import logging
from importlib import import_module

from starlette.types import ASGIApp, Receive, Scope, Send

from serai.client.address import nearest_url
from serai.host.seat import RelayAccess
from serai.relay.tools import RelayTools
from serai.relay.workspace import Workspace


class McpEndpoint:
    """An ASGI application that answers `POST /mcp`, and tells agents where that is.

    Args:
        workspace: The relay.
        host: The address or name that the port listens on.
    """

    def __init__(self, workspace: Workspace, host: str) -> None:
        self._workspace = workspace
        self._host = host
        self._tools = RelayTools(workspace)
        self._url: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._app: ASGIApp | None = None
        self._loading = asyncio.Lock()

    def listening(self, port: int) -> None:
        """Requests can be made from now on."""
        self._url.set_result(f"{nearest_url(self._host, port)}/mcp")

    async def access(self, session: str) -> RelayAccess:
        """How the agent of a session reaches the tools. Waits until the port listens."""
        url = await asyncio.shield(self._url)
        return RelayAccess(url, self._workspace.tokens.lend(self._workspace.identities.of_session(session)))

    async def close(self) -> None:
        """Notify nobody any more."""
        self._url.cancel()
        await self._tools.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        async with self._loading:
            if (app := self._app) is None:
                sdk = await asyncio.to_thread(import_module, "serai.serve.mcp_server")
                logging.getLogger("mcp").setLevel(logging.WARNING)  # it tells of each request
                self._app = app = sdk.create_mcp_app(self._workspace, self._tools)
        await app(scope, receive, send)
