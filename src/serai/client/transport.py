"""The wire under a client: whole frames, in order, both ways."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Protocol, TypeAlias

import msgspec
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as connect_websocket
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI

from serai.client.address import Address
from serai.errors import AccessRefused, ConfigInvalid, ConnectionLost

__all__ = ["Opener", "Transport", "websocket_opener"]

# A host may send a long session in one frame; more than this is a fault.
_MAX_FRAME = 256 * 1024 * 1024

# A host that does not say good-bye is not waited for.
_CLOSE_TIMEOUT = 3.0

_TOO_SLOW = 4408


class Transport(Protocol):
    """One connection. `send` and `receive` are each called by one task at a time."""

    async def send(self, frame: bytes) -> None:
        """Send one text frame.

        Raises:
            ConnectionLost: The connection is over.
        """
        ...

    async def receive(self) -> bytes:
        """The next text frame.

        Raises:
            ConnectionLost: The connection is over; the message says why.
        """
        ...

    async def close(self) -> None:
        """End the connection. It does not raise."""
        ...


Opener: TypeAlias = Callable[[], Awaitable[Transport]]
"""Makes a connection. Raises `ConnectionLost` when a later try may work, else `AccessRefused`."""


def websocket_opener(address: Address) -> Opener:
    """Makes WebSockets to a host.

    The token goes into a header, never into the address: addresses end up in logs.
    """
    headers = {"Authorization": f"Bearer {address.token}"} if address.token else None

    async def open_websocket() -> Transport:
        try:
            connection = await connect_websocket(
                address.url,
                additional_headers=headers,
                user_agent_header="serai",
                compression=None,
                max_size=_MAX_FRAME,
                close_timeout=_CLOSE_TIMEOUT,
                # What is on this machine is not behind a proxy, whatever the environment says.
                proxy=None if address.is_local else True,
            )
        except InvalidURI as error:
            raise ConfigInvalid(f"{address.url!r} is not the address of a host: {error}") from error
        except InvalidStatus as error:
            raise _refused(address, error) from error
        except (OSError, TimeoutError, InvalidHandshake, EOFError) as error:
            raise ConnectionLost(
                f"no host answers at {address.url} ({_why(error)})",
                remedy="Start one with `serai serve`, or name another address",
            ) from error
        return _WebSocket(connection)

    return open_websocket


class _WebSocket:
    """A `Transport` over websockets' own client."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def send(self, frame: bytes) -> None:
        try:
            await self._connection.send(frame, text=True)
        except ConnectionClosed as error:
            raise _closed(error) from error

    async def receive(self) -> bytes:
        try:
            return await self._connection.recv(decode=False)
        except ConnectionClosed as error:
            raise _closed(error) from error

    async def close(self) -> None:
        await self._connection.close()


def _why(error: BaseException) -> str:
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)  # asyncio's own words name the address once more
    return str(getattr(error, "strerror", None) or error or type(error).__name__).rstrip(".")


def _closed(error: ConnectionClosed) -> ConnectionLost:
    close = error.rcvd or error.sent
    if close is None:
        return ConnectionLost("the connection to the host broke")
    if close.code == _TOO_SLOW:
        return ConnectionLost("the host closed the connection: this client read too slowly")
    reason = f": {close.reason}" if close.reason else ""
    return ConnectionLost(f"the host closed the connection ({close.code}{reason})")


def _refused(address: Address, error: InvalidStatus) -> AccessRefused | ConnectionLost:
    """What the host's own answer says, if it is one of a Serai host; else its status."""
    response = error.response
    status = response.status_code
    message, remedy = f"{address.url} answers {status} {_phrase(status)}", None
    try:
        told = msgspec.json.decode(response.body or b"", type=dict[str, str])
        message, remedy = f"the host refused the connection: {told['message']}", told.get("remedy")
    except (msgspec.DecodeError, KeyError):
        pass
    if status == HTTPStatus.UNAUTHORIZED:
        remedy = "Give its token with `--token` or SERAI_TOKEN: `serai serve` prints it"
    if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ConnectionLost(message, remedy=remedy)
    return AccessRefused(message, remedy=remedy)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
