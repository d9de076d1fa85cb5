"""The relay's tools as a server of the MCP SDK. `serai.serve.mcp` imports it when it is needed."""

from __future__ import annotations

import logging
from typing import Any, cast

import mcp_types as types
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from serai.errors import MethodNotFound, SeraiError
from serai.relay.inbox import Caller
from serai.relay.tools import RelayTools
from serai.relay.workspace import Workspace
from serai.serve.relay import caller_of
from serai.version import __version__

_log = logging.getLogger(__name__)

_INSTRUCTIONS = (
    "Messages between agents and people of this workspace. list_agents tells who is there, and who you are."
    " Messages for you arrive by themselves as turns that begin with [relay]; those that wait until you look,"
    " check_inbox brings. Answer with reply, in the thread."
)

_Context = ServerRequestContext[Any, Any]


def create_mcp_app(workspace: Workspace, tools: RelayTools) -> ASGIApp:
    """An application that answers requests of MCP, each on its own, for whoever's token they carry."""

    def caller(context: _Context) -> Caller:
        state = cast("Request", context.request).state
        found = caller_of(workspace, state.token_digest, state.role)
        if found is None:  # it was revoked a moment ago
            raise MCPError(types.INVALID_REQUEST, "the token opens nothing any more")
        return found

    async def list_tools(
        context: _Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(name=tool.name, description=tool.description, input_schema=tool.schema)
                for tool in await tools.tools(caller(context))
            ]
        )

    async def call_tool(context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        who = caller(context)
        try:
            return _told(await tools.call(who, params.name, params.arguments or {}))
        except MethodNotFound as error:
            raise MCPError(types.INVALID_PARAMS, error.message) from None
        except SeraiError as error:
            return _told({"message": error.message, **error.to_wire()}, is_error=True)
        except Exception:  # noqa: BLE001 - whatever it is, the agent gets an answer
            _log.exception("the tool %s failed", params.name)
            problem = {"code": "error", "message": "the host could not answer; see its log"}
            return _told(problem, is_error=True)

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


def _told(what: Any, *, is_error: bool = False) -> types.CallToolResult:
    text = msgspec.json.encode(what).decode()
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)
