"""The relay's tools over MCP, at `/mcp` (streamable HTTP).

Each request stands alone: its token names the caller, and nothing is kept for the next one. So no MCP session
outlives a token or a host. The SDK takes a second to import, so it is imported with the first request, on a
thread.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from serai.client.address import nearest_url
from serai.errors import MethodNotFound
from serai.host.session.core import RelayAccess
from serai.relay.links import refusal_of
from serai.relay.tokens import Caller
from serai.relay.tools import RelayTools
from serai.relay.workspace import Workspace
from serai.serve.relay import caller_of
from serai.version import __version__

if TYPE_CHECKING:
    import mcp_types
    from mcp.server.context import ServerRequestContext

_INSTRUCTIONS = (
    "Messages between agents and people of this workspace. list_agents tells who is there, and who you are."
    " Messages for you arrive by themselves as turns that begin with [relay]; those that wait until you look,"
    " check_inbox brings. Answer with reply, in the thread."
)


class McpEndpoint:
    """An ASGI application that answers `POST /mcp`, and gives agents its address.

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
        """Note the port, which listens now."""
        self._url.set_result(f"{nearest_url(self._host, port)}/mcp")

    async def access(self, session: str) -> RelayAccess:
        """Return the access to the tools for the agent of a session. Waits until the port listens."""
        url = await asyncio.shield(self._url)
        return RelayAccess(
            url, self._workspace.tokens.token_for(self._workspace.identities.of_session(session))
        )

    async def close(self) -> None:
        """Stop all notifications."""
        self._url.cancel()
        await self._tools.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        async with self._loading:
            if (app := self._app) is None:
                app = self._app = await asyncio.to_thread(_new_app, self._workspace, self._tools)
        await app(scope, receive, send)


def _new_app(workspace: Workspace, tools: RelayTools) -> ASGIApp:
    """Return the SDK's server, which lists the tools for each caller and runs them."""
    import mcp_types as types  # noqa: PLC0415 - see above
    from mcp.server.lowlevel import Server  # noqa: PLC0415 - the same
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415 - the same
    from mcp.shared.exceptions import MCPError  # noqa: PLC0415 - the same

    logging.getLogger("mcp").setLevel(logging.WARNING)  # it logs each request

    def caller(context: ServerRequestContext[Any, Any]) -> Caller:
        request: Any = context.request
        found = caller_of(workspace, request.state.token_digest, request.state.role)
        if found is None:  # it was revoked a moment ago
            raise MCPError(types.INVALID_REQUEST, "the token opens nothing any more")
        return found

    async def list_tools(context: ServerRequestContext[Any, Any], _: Any) -> mcp_types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(name=tool.name, description=tool.description, input_schema=tool.schema)
                for tool in await tools.tools(caller(context))
            ]
        )

    async def call_tool(
        context: ServerRequestContext[Any, Any], params: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult:
        who, problem = caller(context), None
        try:
            result = await tools.call(who, params.name, params.arguments or {})
        except MethodNotFound as error:
            raise MCPError(types.INVALID_PARAMS, error.message) from None
        except Exception as error:  # noqa: BLE001 - whatever it is, the agent gets an answer
            result = problem = refusal_of(error).data
        text = types.TextContent(type="text", text=msgspec.json.encode(result).decode())
        return types.CallToolResult(content=[text], is_error=problem is not None)

    server = Server(
        "serai",
        version=__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
        async with manager.run():
            await manager.handle_request(scope, receive, send)

    return answer
