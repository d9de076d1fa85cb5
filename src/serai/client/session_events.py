"""Reads the events of a session over HTTP, by their numbers, so that a lost connection loses no event."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from serai.client.address import HostAddress
from serai.client.connection import Delays, refusal
from serai.errors import ConnectionLost, InvalidParams, SeraiError, SessionGone
from serai.session.events import SessionEvent, SessionEventType, read_event

if TYPE_CHECKING:
    from httpx2 import Response

_SILENCE = 45.0
"""Seconds of silence after which the host is gone: it gives a sign of life every 15 seconds."""


async def session_events(
    address: HostAddress, uri: str, after: int, delays: Delays
) -> AsyncGenerator[SessionEvent, None]:
    """Yield the events of a session after a number, then each new one; see `SessionClient.events`."""
    waits: Iterator[float] | None = None
    while True:
        try:
            headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
            async with opened(address, uri, "events", headers) as response:
                async for event in _events(response, after):
                    after, waits = event.sequence_number, None
                    yield event
        except ConnectionLost as error:
            waits = waits or delays()
            delay = next(waits, None)
            if delay is None:
                raise ConnectionLost(f"gave up: {error}") from error
            await asyncio.sleep(delay)


@asynccontextmanager
async def opened(
    address: HostAddress, uri: str, what: str, headers: dict[str, str] | None = None
) -> AsyncGenerator[Response]:
    """Open the host's answer about a session. Its body is not read yet.

    Raises:
        SessionGone: There is no such session any more.
        ConnectionLost: The host cannot be reached, also while the body is read.
    """
    import httpx2  # noqa: PLC0415 - few clients need it

    parts = urlsplit(address.url)
    is_safe = parts.scheme == "wss"
    url = f"{'https' if is_safe else 'http'}://{parts.netloc}/sessions/{quote(uri, safe='')}/{what}"
    token = {"Authorization": f"Bearer {address.token}"} if address.token else {}
    # A host on this machine is not behind a proxy, whatever the environment says.
    asking = httpx2.AsyncClient(timeout=_SILENCE, verify=is_safe, trust_env=not address.is_local)
    try:
        async with asking, asking.stream("GET", url, headers={**(headers or {}), **token}) as response:
            if response.status_code != HTTPStatus.OK:
                raise _refused(address, response.status_code, await response.aread(), uri)
            yield response
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
        raise ConnectionLost(f"the host cannot be reached: {error or type(error).__name__}") from error


async def _events(response: Response, last: int) -> AsyncGenerator[SessionEvent, None]:
    """Yield the events of a body. Each is one line of data; other lines do not matter.

    Raises:
        ConnectionLost: The body has ended, or an event is missing and has to be requested again.
    """
    rest = b""
    async for piece in response.aiter_bytes():
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if line.startswith(b"data: "):
                event = read_event(line[6:])
                if event.sequence_number != last + 1 and event.type != SessionEventType.RESYNC:
                    raise ConnectionLost(f"event {last + 1} is missing")
                last = event.sequence_number
                yield event
    raise ConnectionLost("the host ended the stream")


def _refused(address: HostAddress, status: int, body: bytes, uri: str) -> SeraiError:
    if status == HTTPStatus.NOT_FOUND:
        return SessionGone(f"there is no session {uri}")
    error = refusal(address, status, body)
    return InvalidParams(error.message, field="after") if status == HTTPStatus.BAD_REQUEST else error
