"""An HTTP client whose connections all go through the address guard. Import it when it is needed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any, cast

import httpcore2
import httpx2

from serai.harness.model.tools.address_guard import AddressGuard

_SECONDS = 30.0
"""How long connecting, and sending, may take."""


def guarded_client(
    guard: AddressGuard, *, headers: Mapping[str, str] | None = None, silence: float, redirects: int = 0
) -> httpx2.AsyncClient:
    """A client that reaches what a guard allows, directly: proxies of the environment are not used.

    Args:
        guard: Judges each connection.
        headers: Are sent with each request.
        silence: How long a server may say nothing, in seconds.
        redirects: How many are followed.
    """
    return httpx2.AsyncClient(
        transport=_GuardedTransport(guard),
        headers=dict(headers or {}),
        timeout=httpx2.Timeout(_SECONDS, read=silence),
        follow_redirects=redirects > 0,
        max_redirects=redirects,
        trust_env=False,
    )


class _GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to what the guard says that a name stands for, and to nothing else."""

    def __init__(self, guard: AddressGuard) -> None:
        self._guard = guard
        self._network = cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - it is the library's
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to the first address that answers."""
        problem: httpcore2.ConnectError | httpcore2.ConnectTimeout | None = None
        for address in await self._guard.addresses(host, port):
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                problem = error
        raise problem or httpcore2.ConnectError(f"{host} has no address")

    async def sleep(self, seconds: float) -> None:
        """Wait before another attempt."""
        await self._network.sleep(seconds)


class _GuardedTransport(httpx2.AsyncBaseTransport):
    """Hands requests to a pool whose connections are guarded."""

    def __init__(self, guard: AddressGuard) -> None:
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpx2.create_ssl_context(trust_env=False), network_backend=_GuardedBackend(guard)
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request."""
        url = request.url
        asked = httpcore2.Request(
            method=request.method,
            url=httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=cast("Any", request.stream),
            extensions=request.extensions,
        )
        with _as_httpx():
            answer = await self._pool.handle_async_request(asked)
        return httpx2.Response(
            status_code=answer.status,
            headers=answer.headers,
            stream=_Body(answer),
            extensions=cast("dict[str, Any]", answer.extensions),
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()


class _Body(httpx2.AsyncByteStream):
    """What a server answers, piece by piece."""

    def __init__(self, answer: httpcore2.Response) -> None:
        self._stream = cast("Any", answer.stream)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _as_httpx():
            async for piece in self._stream:
                yield piece

    async def aclose(self) -> None:
        """Read no more of it."""
        await self._stream.aclose()


@contextmanager
def _as_httpx() -> Generator[None]:
    """Turns errors of the connection into those that users of the client know."""
    try:
        yield
    except httpcore2.TimeoutException as error:
        raise httpx2.TimeoutException(str(error) or "it took too long") from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.UnsupportedProtocol) as error:
        raise httpx2.TransportError(str(error) or type(error).__name__) from error
