"""The tools of MCP servers: those of the agent's file, and of customisations that are switched on.

    servers = McpServers(seat, folder)
    tools, notices = await servers.tools(agent, customized.servers)  # before each turn
    await servers.close()                                            # with the session

A server is connected when it is first needed, and stays so until it is no longer wanted. The failure of a
server is a notice, and it is tried again with the next turn. The SDK takes a second to import, so the first
server does that on a thread.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import msgspec

from serai.ahp.types import ToolResultContent, ToolResultEmbeddedResourceContent
from serai.customizations.containers import Definition
from serai.errors import ConfigInvalid, SeraiError, ToolError
from serai.harness.model.tool import Asking, ForeignRequest, ModelTool, ToolAnswer
from serai.host.seat import Seat
from serai.session.agent_file import AgentFile

_START_SECONDS = 30.0
_END_SECONDS = 10.0
_MOST_TEXT = 1 << 20
"""Most characters of one answer."""
_NAME_LENGTH = 64
"""Longest name of a tool that all models take."""
_ODD = re.compile(r"[^A-Za-z0-9_-]")


class McpServerSettings(msgspec.Struct, frozen=True):
    """The settings of a server: its command or its URL. Values may be references to secrets."""

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str | None
    url: str
    headers: dict[str, str]


def _settings(name: str, fields: Mapping[str, Any]) -> McpServerSettings:
    """Read the settings from the fields of an agent's file, or of another tool's file.

    Raises:
        ConfigInvalid: Something in them is not what it should be.
    """
    command = fields.get("command") or ()
    words = [command] if isinstance(command, str) else command
    url = fields.get("url") or fields.get("httpUrl") or fields.get("serverUrl") or ""
    told: dict[str, Any] = {name: fields.get(name) or {} for name in ("env", "headers")}
    try:
        argv = [*words, *(fields.get("args") or ())] if words else []
        told |= {"argv": argv, "cwd": fields.get("cwd"), "url": url}
        settings = msgspec.convert(told, McpServerSettings)
    except (msgspec.ValidationError, TypeError) as error:
        raise ConfigInvalid(f"the MCP server {name!r} is not configured correctly: {error}") from None
    if bool(settings.argv) is bool(settings.url) or fields.get("type") == "sse":
        raise ConfigInvalid(f"the MCP server {name!r} needs a command, or the URL of streamable HTTP")
    return settings


class McpServers:
    """The MCP servers of one session.

    Args:
        seat: The session.
        folder: The working directory, where servers are started.
    """

    def __init__(self, seat: Seat, folder: Path) -> None:
        self._seat = seat
        self._folder = folder
        self._connections: dict[str, _Connection] = {}

    async def tools(
        self, agent: AgentFile, definitions: Iterable[Definition]
    ) -> tuple[list[ModelTool], list[str]]:
        """Return the tools of all servers, and notices about servers that have failed.

        The servers are those of the agent, and of customisations that may run. Servers that are no longer
        wanted, or have failed, are ended first. Cancelling leaves the servers that are being connected to the
        next call, or to `close`.
        """
        described = {one.name: one.fields for one in reversed(list(definitions))} | agent.mcp_servers
        wanted: dict[str, McpServerSettings] = {}
        notices: list[str] = []
        for name, fields in described.items():
            try:
                wanted[name] = _settings(name, fields)
            except ConfigInvalid as error:
                notices.append(str(error))
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
                kept[name] = _Connection(name, settings, self._seat, self._folder, agent.allowed_hosts)
        await asyncio.gather(*(connection.started() for connection in kept.values()))
        tools: dict[str, ModelTool] = {}
        for name, connection in kept.items():
            if connection.problem:
                notices.append(f"The MCP server {name!r} cannot be used: {connection.problem}")
            for told in connection.tools:
                tool = _tool(connection, told)
                if tools.setdefault(tool.name, tool) is not tool:
                    notices.append(f"The MCP server {name!r} has two tools that are called {tool.name}")
        return list(tools.values()), notices

    async def close(self) -> None:
        """End all servers. Ending them again does no harm."""
        connections, self._connections = self._connections, {}
        await asyncio.gather(*(connection.close() for connection in connections.values()))


class _Connection:
    """A server, held by a task of its own: the task that opens the SDK's connection also has to close it."""

    def __init__(
        self,
        name: str,
        settings: McpServerSettings,
        seat: Seat,
        folder: Path,
        allowed: tuple[str, ...],
    ) -> None:
        self.name = name
        self.settings = settings
        self.problem = ""
        """The reason why it cannot be used."""
        self.client: Any = None
        self.tools: list[Any] = []
        self.is_broken = False
        """True if it has to be connected again."""
        self._seat = seat
        self._leaving = asyncio.Event()
        self._ready = asyncio.Event()
        self._task = asyncio.create_task(self._hold(folder, allowed))

    async def _hold(self, folder: Path, allowed: tuple[str, ...]) -> None:
        try:
            sdk = await asyncio.to_thread(import_module, "serai.harness.model.tools.mcp_client")
            async with sdk.connect(self.name, self.settings, self._seat, folder, allowed) as client:
                self.tools = await sdk.list_tools(client)
                self.client = client
                self._ready.set()
                await self._leaving.wait()
        except Exception as error:  # noqa: BLE001 - any failure of a server is a notice, and ends no turn
            self.fail(error)
        finally:
            self._ready.set()

    async def started(self) -> None:
        """Wait until it is known whether the server can be used."""
        try:
            async with asyncio.timeout(_START_SECONDS):
                await self._ready.wait()
        except TimeoutError:
            self.fail(ToolError(f"it did not answer in {_START_SECONDS:g} s"))

    def fail(self, error: BaseException) -> str:
        """Mark the server as failed. Returns the reason."""
        while isinstance(error, BaseExceptionGroup):
            error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
        said = str(error) if isinstance(error, SeraiError) else f"{type(error).__name__}: {error}"
        self.problem = self._seat.mask(said)
        self.is_broken, self.tools = True, []
        return self.problem

    async def call(self, tool: str, given: dict[str, Any]) -> ToolAnswer:
        """Call a tool. Cancelling tells the server."""
        if self.is_broken or self.client is None:
            raise ToolError(f"the MCP server {self.name!r} is gone: {self.problem}")
        try:
            result = await self.client.call_tool(tool, given)
        except Exception as error:  # noqa: BLE001 - servers, and the SDK, raise anything
            # An error about the call is an answer. After any other error the connection is useless.
            if type(error).__name__ == "MCPError" and getattr(error, "code", -32000) != -32000:
                raise ToolError(f"the MCP server refused: {error}") from None
            raise ToolError(f"the MCP server failed: {self.fail(error)}") from None
        return _answer_of(result)

    async def close(self) -> None:
        """End the server, and its process."""
        self._leaving.set()
        if not self._ready.is_set():
            self._task.cancel()
        await asyncio.wait({self._task}, timeout=_END_SECONDS)
        self._task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await self._task


def _tool(connection: _Connection, told: Any) -> ModelTool:
    """Return a tool of a server. The server's word that a tool only reads is trusted, as the server is."""
    hints = told.annotations
    title = told.title or (hints.title if hints else None) or f"{connection.name}: {told.name}"
    only_reads = bool(hints and hints.read_only_hint)
    return ModelTool(
        name=_ODD.sub("_", f"mcp__{connection.name}__{told.name}")[:_NAME_LENGTH],
        title=title,
        description=told.description or title,
        schema=told.input_schema,
        read=lambda given: ForeignRequest(
            _description(title, given), partial(connection.call, told.name, dict(given))
        ),
        asking=Asking.NEVER if only_reads else Asking.UNLESS_GRANTED,
        is_idempotent=only_reads or bool(hints and hints.idempotent_hint),
    )


def _description(title: str, given: Mapping[str, Any]) -> str:
    """Return the description of a call, with the whole input."""
    shown = msgspec.json.format(msgspec.json.encode(given)).decode()
    return f"{title}\n\n```json\n{shown}\n```"


def _answer_of(result: Any) -> ToolAnswer:
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
    return ToolAnswer(text, is_error=result.is_error, content=shown)
