"""Connects to an MCP server with the SDK. `serai.harness.model.tools.mcp` imports it when it is needed."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import subprocess
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import mcp_types as types
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from serai.acp.process.pipes import Pipes
from serai.config.keys import with_secret
from serai.errors import ConfigInvalid, ToolError
from serai.harness.model.tools.address_guard import allowed_addresses, guarded_client
from serai.harness.model.tools.mcp import McpServerSettings
from serai.host.seat import Seat
from serai.jsonrpc.lines import LineSplitter
from serai.version import __version__

logging.getLogger("mcp").setLevel(logging.WARNING)  # it logs each request

_SECONDS = 300.0
"""Longest time of one call, in seconds."""
_LONGEST_LINE = 16 << 20
_MOST_PAGES = 50
_LAST_WORDS = 400
"""Characters of a server's last output that an error contains."""
_EOF_GRACE, _TERM_GRACE = 1.0, 2.0


@asynccontextmanager
async def connect(
    name: str, settings: McpServerSettings, seat: Seat, folder: Path, allowed: Collection[str]
) -> AsyncGenerator[Client]:
    """Open a client of a server, for the time of the block. The server's process ends with the block.

    Raises:
        SeraiError: It cannot be started or reached, or may not be.
        Exception: The SDK has many, also in groups.
    """
    transport = _url(settings, seat, allowed) if settings.url else _stdio(name, settings, seat, folder)
    info = types.Implementation(name="serai", version=__version__)
    async with Client(transport, read_timeout_seconds=_SECONDS, client_info=info) as client:
        yield client


async def list_tools(client: Client) -> list[types.Tool]:
    """List all tools of a server."""
    tools: list[types.Tool] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    return tools


async def _resolved(values: Mapping[str, str], seat: Seat) -> dict[str, str]:
    """Return values with the secrets that they refer to. These are masked from now on."""
    found: dict[str, str] = {}
    for name, value in values.items():
        secret = await asyncio.to_thread(with_secret, value, os.environ)
        if secret is not None:
            seat.manage_secret(secret.label, secret.value)
        found[name] = value if secret is None else secret.text
    return found


@asynccontextmanager
async def _url(settings: McpServerSettings, seat: Seat, allowed: Collection[str]) -> AsyncGenerator[Any]:
    parts = urlsplit(settings.url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigInvalid(f"{settings.url!r} is no http: or https: address")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    await allowed_addresses(parts.hostname, port, allowed)  # before any secret is looked for
    headers = await _resolved(settings.headers, seat)
    async with (
        guarded_client(allowed, headers=headers, silence=_SECONDS) as http,
        streamable_http_client(settings.url, http_client=http) as streams,
    ):
        yield streams


@asynccontextmanager
async def _stdio(name: str, settings: McpServerSettings, seat: Seat, folder: Path) -> AsyncGenerator[Any]:
    child = await seat.processes.start(
        settings.argv,
        what=f"the MCP server {name}",
        cwd=folder / settings.cwd if settings.cwd else folder,
        environ=seat.environment() | await _resolved(settings.env, seat),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    talk = _Talk()
    try:
        pipes = await Pipes.connect(child, output=talk.hear, log=talk.log)
        pipes.output_ended.add_done_callback(lambda _: talk.heard.close())
        speaking = asyncio.create_task(talk.speak(pipes))
        try:
            yield talk.incoming, talk.outgoing
        finally:
            speaking.cancel()
            await pipes.close_input()
            await child.end(eof=_EOF_GRACE, grace=_TERM_GRACE)
            await asyncio.wait({pipes.log_ended}, timeout=_EOF_GRACE)
            await pipes.close()
    except Exception as error:
        if not talk.last_words:
            raise
        raise ToolError(f"{child.exit}. It printed: {talk.last_words}") from error
    finally:
        await child.end(grace=_TERM_GRACE)
        talk.close()


class _Talk:
    """The messages from and to a server, as streams of the SDK."""

    def __init__(self) -> None:
        self.heard, self.incoming = anyio.create_memory_object_stream[SessionMessage | Exception](math.inf)
        self.outgoing, self._said = anyio.create_memory_object_stream[SessionMessage](0)
        self._lines = LineSplitter()
        self._words = bytearray()

    @property
    def last_words(self) -> str:
        """The end of the server's error output."""
        return self._words.decode(errors="replace").strip()[-_LAST_WORDS:]

    def hear(self, data: bytes) -> None:
        """Take output. A server that writes an endless line is not read any more."""
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # nobody listens any more
            for line in self._lines.feed(data):
                if line.strip():
                    self.heard.send_nowait(_parsed(line))
        if self._lines.size > _LONGEST_LINE:
            self.heard.close()

    def log(self, data: bytes) -> None:
        """Take error output."""
        self._words.extend(data)
        del self._words[: -4 * _LAST_WORDS]

    async def speak(self, pipes: Pipes) -> None:
        """Send messages to the server."""
        async for message in self._said:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            pipes.write(f"{text}\n".encode())

    def close(self) -> None:
        """Close all streams."""
        for stream in (self.heard, self.incoming, self.outgoing, self._said):
            stream.close()


def _parsed(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error
