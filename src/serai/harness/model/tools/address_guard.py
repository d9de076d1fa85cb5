"""The guard of addresses: a model reaches the public network, and the hosts that the agent's file names.

A name is resolved here, all its addresses are checked, and the connection is made to a checked address. So it
makes no difference how an address is written, where a redirect leads, or what a name resolves to a moment
later: every connection goes through `allowed_addresses`.

The library for HTTP is slow to load: import this when it is needed.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Collection, Iterable, Mapping
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

import httpx2

from serai.errors import AddressRefused, ToolError

_SECONDS = 30.0
"""Longest time for connecting, and for sending, in seconds."""
_TRANSLATED = IPv6Network("64:ff9b::/96")
"""The range in which IPv6 networks write IPv4 addresses (NAT64)."""
_METADATA = frozenset({IPv4Address("168.63.129.16")})
"""Addresses that are public by their number, but belong to the machine: Azure's."""


async def allowed_addresses(host: str, port: int, allowed: Iterable[str] = ()) -> list[str]:
    """Return the addresses of a host that may be reached. Connect to these: a second look may differ.

    Args:
        host: A name or an address.
        port: The port.
        allowed: `host:port`s that may be reached wherever they are.

    Raises:
        AddressRefused: One of them is not on the public network.
        ToolError: There are none.
    """
    name = host.strip("[]").rstrip(".").lower()
    try:
        found = await resolved(name, port)
    except OSError as error:
        raise ToolError(f"{name} cannot be found: {error.strerror or error}") from None
    named = f"{name}:{port}" in map(str.lower, allowed)
    if not named and not all(is_public(ip_address(one)) for one in found):
        raise AddressRefused(
            f"{name}:{port} is refused: it belongs to this machine, or to a private network",
            remedy=f"The agent's file may name it: allowed_hosts: [{name}:{port}]",
        )
    return found


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Tell whether an address, or the one that is written in it, is on the public network."""
    if isinstance(address, IPv6Address):
        teredo = address.teredo
        inner = address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None)
        if address in _TRANSLATED:
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
    return address.is_global and not address.is_multicast and address not in _METADATA


async def resolved(host: str, port: int) -> list[str]:
    """Resolve a name with the system's resolver.

    Raises:
        OSError: Nothing.
    """
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:
        raise OSError(f"{host!r} is no name") from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def guarded_client(
    allowed: Collection[str],
    *,
    headers: Mapping[str, str] | None = None,
    silence: float,
    redirects: int = 0,
) -> httpx2.AsyncClient:
    """Return a client that reaches only allowed addresses, and uses no proxy of the environment.

    Args:
        allowed: `host:port`s that may be reached wherever they are.
        headers: Headers of each request.
        silence: Longest silence of a server, in seconds.
        redirects: Most redirects that are followed.
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
    """Connects to the checked addresses. Certificates are checked for the name.

    A connection serves one request: kept ones are distinguished by their address alone, and what was checked
    for one name must not serve another.
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
