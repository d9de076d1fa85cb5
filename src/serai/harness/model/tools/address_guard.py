"""Which addresses a model may reach: those of the public network, and what the agent's file names.

A name is resolved here, all that it stands for is judged, and the connection is made to what was judged. So
it makes no difference how an address is written, where a redirect leads, or what a name stands for a moment
later: every connection goes through `AddressGuard.addresses`.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias

from serai.errors import AddressRefused, ToolFailed

Resolve: TypeAlias = Callable[[str, int], Awaitable[list[str]]]
"""Finds the addresses of a name.

Raises:
    OSError: There are none.
"""

_TRANSLATED = IPv6Network("64:ff9b::/96")
"""IPv4 addresses as IPv6 networks write them (NAT64)."""
_METADATA = frozenset({IPv4Address("168.63.129.16")})
"""Public by their number, and yet the machine's own: Azure's."""


class AddressGuard:
    """Judges where connections may go.

    Args:
        allowed: `host:port`s that may be reached wherever they are.
        resolve: Finds the addresses of a name; by default as the system does.
    """

    def __init__(self, allowed: Iterable[str] = (), resolve: Resolve | None = None) -> None:
        self._allowed = frozenset(entry.lower() for entry in allowed)
        self._resolve = resolve or _resolve

    async def addresses(self, host: str, port: int) -> list[str]:
        """The addresses that a host may be reached at. Connect to these, and do not look again.

        Raises:
            AddressRefused: One of them is not on the public network.
            ToolFailed: There are none.
        """
        name = host.strip("[]").rstrip(".").lower()
        try:
            found = await self._resolve(name, port)
        except OSError as error:
            raise ToolFailed(f"{name} cannot be found: {error.strerror or error}") from None
        if f"{name}:{port}" not in self._allowed and not all(is_public(ip_address(one)) for one in found):
            raise AddressRefused(
                f"{name}:{port} is refused: it is this machine's, or of a private network",
                remedy=f"The agent's file may name it: allowed_hosts: [{name}:{port}]",
            )
        return found


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address, or the one that is written in it, is on the public network."""
    if isinstance(address, IPv6Address):
        teredo = address.teredo
        inner = address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None)
        if address in _TRANSLATED:
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
    return address.is_global and not address.is_multicast and address not in _METADATA


async def _resolve(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:
        raise OSError(f"{host!r} is no name") from None
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
