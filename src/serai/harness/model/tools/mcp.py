"""The tools of MCP servers: those of the agent's file, and of customisations that are switched on.

    servers = McpServers(seat, folder)
    offer = await servers.tools(agent, customized.servers)           # before each turn
    await servers.close()                                            # with the session

A server is connected when it is first needed, and stays so until it is no longer wanted. One that fails is a
notice, and is tried again with the next turn. The SDK takes a second to import: that happens with the first
server, on a thread.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from serai.ahp.types import ToolResultContent, ToolResultEmbeddedResourceContent
from serai.customizations.containers import Definition
from serai.errors import ConfigInvalid, SeraiError, ToolFailed
from serai.harness.model.tool import Asking, ForeignTool, ToolContext, ToolOutput
from serai.harness.model.tools.address_guard import AddressGuard, Resolve
from serai.host.seat import Seat
from serai.session.agent_file import AgentFile

_START_SECONDS = 30.0
_END_SECONDS = 10.0
_MOST_TEXT = 1 << 20
"""Most characters of one answer."""
_NAME_LENGTH = 64
"""Longest name of a tool that all models take."""
_ODD = re.compile(r"[^A-Za-z0-9_-]")


class McpServerSettings(NamedTuple):
    """How a server is reached: by a command, or at a URL. Values may be references to secrets."""

    name: str
    argv: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    cwd: str | None = None
    url: str = ""
    headers: Mapping[str, str] = {}
    allowed: tuple[str, ...] = ()
    """The private `host:port`s that may be reached."""

    @classmethod
    def of(cls, name: str, fields: Mapping[str, Any], allowed: tuple[str, ...] = ()) -> McpServerSettings:
        """Read them as agents' files, and those of other tools, have them.

        Raises:
            ConfigInvalid: Something in them is not what it should be.
        """
        url = fields.get("url") or fields.get("httpUrl") or fields.get("serverUrl") or ""
        command = fields.get("command") or ()
        try:
            words = [command] if isinstance(command, str) else command
            settings = msgspec.convert(
                {
                    "argv": [*words, *(fields.get("args") or ())] if words else [],
                    "env": fields.get("env") or {},
                    "cwd": fields.get("cwd"),
                    "url": url,
                    "headers": fields.get("headers") or {},
                },
                _Fields,
            )
        except (msgspec.ValidationError, TypeError) as error:
            raise ConfigInvalid(f"the MCP server {name!r} is not described well: {error}") from None
        if bool(settings.argv) is bool(settings.url) or fields.get("type") == "sse":
            raise ConfigInvalid(f"the MCP server {name!r} needs a command, or the URL of streamable HTTP")
        return cls(name, settings.argv, settings.env, settings.cwd, settings.url, settings.headers, allowed)


class _Fields(msgspec.Struct):
    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str | None
    url: str
    headers: dict[str, str]


class McpOffer(NamedTuple):
    """What servers offer for a turn."""

    tools: list[McpTool]
    notices: list[str]
    """Why some do not, for the person."""


def servers_of(
    agent: AgentFile, definitions: Iterable[Definition]
) -> tuple[dict[str, McpServerSettings], list[str]]:
    """The servers of an agent, and of customisations that may run, by name; and what is wrong with others.

    The agent's own come first.
    """
    described = {one.name: one.fields for one in reversed(list(definitions))}
    servers: dict[str, McpServerSettings] = {}
    problems: list[str] = []
    for name, fields in {**described, **agent.mcp_servers}.items():
        try:
            servers[name] = McpServerSettings.of(name, fields, agent.allowed_hosts)
        except ConfigInvalid as error:
            problems.append(str(error))
    return servers, problems


class McpServers:
    """The servers of one session.

    Args:
        seat: The session.
        folder: The working directory, where servers are started.
        resolve: Finds the addresses of a name; by default as the system does.
    """

    def __init__(self, seat: Seat, folder: Path, resolve: Resolve | None = None) -> None:
        self._seat = seat
        self._folder = folder
        self._resolve = resolve
        self._connections: dict[str, _Connection] = {}

    async def tools(self, agent: AgentFile, definitions: Iterable[Definition]) -> McpOffer:
        """What the servers offer now. Servers that are no longer wanted, or have failed, are ended first.

        Cancelling leaves the servers that are being connected to the next call, or to `close`.
        """
        wanted, notices = servers_of(agent, definitions)
        kept = self._connections
        await asyncio.gather(
            *(
                kept.pop(name).close()
                for name, connection in list(kept.items())
                if connection.is_broken or connection.settings != wanted.get(name)
            )
        )
        for name, settings in wanted.items():
            if name not in kept:
                guard = AddressGuard(settings.allowed, self._resolve)
                kept[name] = _Connection(settings, self._seat, self._folder, guard)
        await asyncio.gather(*(connection.started() for connection in kept.values()))
        tools: dict[str, McpTool] = {}
        for name, connection in kept.items():
            if connection.problem:
                notices.append(f"The MCP server {name!r} cannot be used: {connection.problem}")
            for tool in connection.tools:
                made = McpTool(connection, tool)
                if tools.setdefault(made.name, made) is not made:
                    notices.append(f"The MCP server {name!r} has two tools that are called {made.name}")
        return McpOffer(list(tools.values()), notices)

    async def close(self) -> None:
        """End all servers. To do it again does no harm."""
        connections, self._connections = self._connections, {}
        await asyncio.gather(*(connection.close() for connection in connections.values()))


class _Connection:
    """A server, held by a task of its own: what the SDK opens, the same task has to close."""

    def __init__(self, settings: McpServerSettings, seat: Seat, folder: Path, guard: AddressGuard) -> None:
        self.settings = settings
        self.problem = ""
        """Why it cannot be used."""
        self.client: Any = None
        self.tools: list[Any] = []
        self.is_broken = False
        """Whether it is to be connected anew."""
        self._seat = seat
        self._leaving = asyncio.Event()
        self._ready = asyncio.Event()
        self._task = asyncio.create_task(self._hold(folder, guard))

    async def _hold(self, folder: Path, guard: AddressGuard) -> None:
        try:
            sdk = await asyncio.to_thread(import_module, "serai.harness.model.tools.mcp_client")
            async with sdk.connect(self.settings, self._seat, folder, guard) as client:
                self.tools = await sdk.list_tools(client)
                self.client = client
                self._ready.set()
                await self._leaving.wait()
        except Exception as error:  # noqa: BLE001 - whatever a server does is told, and ends no turn
            self.fail(error)
        finally:
            self._ready.set()

    async def started(self) -> None:
        """Wait until it is known whether the server can be used."""
        try:
            async with asyncio.timeout(_START_SECONDS):
                await self._ready.wait()
        except TimeoutError:
            self.fail(ToolFailed(f"it did not answer in {_START_SECONDS:g} s"))

    def fail(self, error: BaseException) -> str:
        """The server has failed. Returns why."""
        while isinstance(error, BaseExceptionGroup):
            error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
        said = str(error) if isinstance(error, SeraiError) else f"{type(error).__name__}: {error}"
        self.problem = self._seat.mask(said)
        self.is_broken, self.tools = True, []
        return self.problem

    async def close(self) -> None:
        """End the server, and its process."""
        self._leaving.set()
        if not self._ready.is_set():
            self._task.cancel()
        await asyncio.wait({self._task}, timeout=_END_SECONDS)
        self._task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await self._task


class McpTool(ForeignTool):
    """A tool of a server. Whoever trusts the server trusts its word that a tool only reads."""

    def __init__(self, connection: _Connection, tool: Any) -> None:
        server = connection.settings.name
        hints = tool.annotations
        self.name = _ODD.sub("_", f"mcp__{server}__{tool.name}")[:_NAME_LENGTH]
        self.title = tool.title or (hints.title if hints else None) or f"{server}: {tool.name}"
        self.description = tool.description or self.title
        only_reads = bool(hints and hints.read_only_hint)
        self.asking = Asking.NEVER if only_reads else Asking.UNLESS_GRANTED
        self.is_idempotent = only_reads or bool(hints and hints.idempotent_hint)
        self.schema = tool.input_schema
        self._connection = connection
        self._tool = tool

    def summary(self, given: Mapping[str, Any]) -> str:
        """See `Tool`."""
        shown = msgspec.json.format(msgspec.json.encode(given)).decode()
        return f"{self.title}\n\n```json\n{shown}\n```"

    async def run(self, given: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """See `Tool`. Cancelling tells the server."""
        del context
        connection = self._connection
        if connection.is_broken or connection.client is None:
            raise ToolFailed(f"the MCP server {connection.settings.name!r} is gone: {connection.problem}")
        try:
            result = await connection.client.call_tool(self._tool.name, dict(given))
        except Exception as error:  # noqa: BLE001 - servers, and the SDK, raise what they like
            # What it says about the call is an answer. Anything else, and the connection is of no use.
            if type(error).__name__ == "MCPError" and getattr(error, "code", -32000) != -32000:
                raise ToolFailed(f"the MCP server refused: {error}") from None
            raise ToolFailed(f"the MCP server failed: {connection.fail(error)}") from None
        return _told(result)


def _told(result: Any) -> ToolOutput:
    texts: list[str] = []
    shown: list[ToolResultContent] = []
    for block in result.content:
        match block.type:
            case "text":
                texts.append(block.text)
            case "image" | "audio":
                shown.append(ToolResultEmbeddedResourceContent(data=block.data, content_type=block.mime_type))
                texts.append(f"[{block.type}: {block.mime_type}, shown to the person]")
            case "resource_link":
                texts.append(f"[{block.name}: {block.uri}]")
            case _:
                texts.append(getattr(block.resource, "text", f"[{block.resource.uri}]"))
    if not texts and result.structured_content is not None:
        texts.append(msgspec.json.encode(result.structured_content).decode())
    text = "\n".join(texts)
    if len(text) > _MOST_TEXT:
        text = f"{text[:_MOST_TEXT]}\n[cut off: {len(text):,} characters in all]"
    return ToolOutput(text, is_error=result.is_error, content=shown)
