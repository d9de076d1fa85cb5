"""An HTTP client whose connections all go through the address guard. Import it when it is needed."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import httpx2

from serai.harness.model.tools.address_guard import allowed_addresses

_SECONDS = 30.0
"""How long connecting, and sending, may take."""


def guarded_client(
    allowed: Collection[str],
    *,
    headers: Mapping[str, str] | None = None,
    silence: float,
    redirects: int = 0,
) -> httpx2.AsyncClient:
    """A client that reaches what the guard allows, directly: proxies of the environment are not used.

    Args:
        allowed: `host:port`s that may be reached wherever they are.
        headers: Are sent with each request.
        silence: How long a server may say nothing, in seconds.
        redirects: How many are followed.
    """
    return httpx2.AsyncClient(
        transport=_Guarded(allowed),
        headers=dict(headers or {}),
        timeout=httpx2.Timeout(_SECONDS, read=silence),
        follow_redirects=redirects > 0,
        max_redirects=redirects,
        trust_env=False,
    )


class _Guarded(httpx2.AsyncHTTPTransport):
    """Connects to the addresses that were judged. Certificates are checked for the name.

    A connection serves one request: kept ones are told apart by their address alone, and what was checked for
    one name must not serve another.
    """

    def __init__(self, allowed: Collection[str]) -> None:
        super().__init__(trust_env=False, limits=httpx2.Limits(max_keepalive_connections=0))
        self._allowed = allowed

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request, at the first address that can be connected to."""
        name = request.url.raw_host.decode("ascii")
        port = request.url.port or (443 if request.url.scheme == "https" else 80)
        problem: httpx2.TransportError | None = None
        for address in await allowed_addresses(name, port, self._allowed):
            pinned = httpx2.Request(
                request.method,
                request.url.copy_with(host=address),
                headers=request.headers,
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": name},
            )
            try:
                return await super().handle_async_request(pinned)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                problem = error
        raise problem or httpx2.ConnectError(f"{name} has no address")
