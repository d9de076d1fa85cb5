"""The events of a session, read over HTTP: by their numbers, so that none is missed when a connection is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from urllib.parse import quote, urlsplit

import msgspec

from serai.client.address import HostAddress
from serai.client.reconnect import Delays
from serai.errors import AccessRefused, ConnectionLost, InvalidParams, SeraiError, SessionGone
from serai.session.events import SessionEvent, SessionEventType, read_event

_SILENCE = 45.0
"""The host says something every 15 seconds: one that is silent for so long is gone."""
_MAX_LINE = 256 * 1024 * 1024


async def session_events(
    address: HostAddress, uri: str, after: int, delays: Delays
) -> AsyncGenerator[SessionEvent, None]:
    """The events of a session after a number, and then each as it happens; see `SessionClient.events`."""
    waits: Iterator[float] | None = None
    while True:
        try:
            headers = ("Accept: text/event-stream", f"Last-Event-ID: {after}")
            async with opened(address, uri, "events", *headers) as reader:
                async for event in _events(reader, after):
                    after, waits = event.sequence_number, None
                    yield event
        except (OSError, TimeoutError, EOFError, ValueError, ConnectionLost) as error:
            waits = waits or delays()
            delay = next(waits, None)
            if delay is None:
                raise ConnectionLost(f"gave up: {error or type(error).__name__}") from error
            await asyncio.sleep(delay)


@asynccontextmanager
async def opened(
    address: HostAddress, uri: str, what: str, *headers: str
) -> AsyncGenerator[asyncio.StreamReader]:
    """The body of the host's answer about a session.

    It is asked for with HTTP/1.0: then the body has no framing of its own, and ends with the connection.
    """
    parts = urlsplit(address.url)
    is_safe = parts.scheme == "wss"
    lines = [
        f"GET /sessions/{quote(uri, safe='')}/{what} HTTP/1.0",
        f"Host: {parts.netloc.rpartition('@')[2]}",
        *headers,
        *([f"Authorization: Bearer {address.token}"] if address.token else ()),
    ]
    async with asyncio.timeout(_SILENCE):
        reader, writer = await asyncio.open_connection(
            parts.hostname, parts.port or (443 if is_safe else 80), ssl=is_safe or None, limit=_MAX_LINE
        )
    try:
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        async with asyncio.timeout(_SILENCE):
            head = (await reader.readuntil(b"\r\n\r\n")).split(maxsplit=2)
            if int(head[1]) != HTTPStatus.OK:
                raise _refused(int(head[1]), await reader.read(), uri)
        yield reader
    finally:
        writer.close()


async def _events(reader: asyncio.StreamReader, last: int) -> AsyncGenerator[SessionEvent, None]:
    """The events of a body. Each is one line of data; what else there is does not matter here.

    Raises:
        ConnectionLost: There are no more, or one is missing: it has to be asked for again.
    """
    while True:
        async with asyncio.timeout(_SILENCE):
            line = await reader.readline()
        if not line.endswith(b"\n"):
            raise ConnectionLost("the host ended the stream")
        if line.startswith(b"data: "):
            event = read_event(line[6:])
            if event.sequence_number != last + 1 and event.type != SessionEventType.RESYNC:
                raise ConnectionLost(f"event {last + 1} is missing")
            last = event.sequence_number
            yield event


def _refused(status: int, body: bytes, uri: str) -> SeraiError:
    try:
        told = msgspec.json.decode(body, type=dict[str, str | None])
    except msgspec.DecodeError:
        told = {}
    message, remedy = told.get("message") or f"the host answers {status}", told.get("remedy")
    if status == HTTPStatus.NOT_FOUND:
        return SessionGone(f"there is no session {uri}")
    if status == HTTPStatus.BAD_REQUEST:
        return InvalidParams(message, field="after")
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return AccessRefused(message, remedy=remedy)
    return ConnectionLost(message, remedy=remedy)
