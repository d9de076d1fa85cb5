"""By which names this machine can be called, when a host listens on all of its addresses."""

from __future__ import annotations

import ipaddress
import re
import socket
from contextlib import suppress
from threading import Thread

__all__ = ["called_by", "is_everywhere", "url_of"]

_KINDS = {"0.0.0.0": socket.AF_INET, "::": socket.AF_INET6}  # noqa: S104 - nothing is bound to it here
_HERE = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}
# Addresses for examples: a datagram "to" one shows which way it would go, and none is sent.
_FAR_AWAY = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
_PATIENCE = 1.0
_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*", re.ASCII)


def is_everywhere(host: str) -> bool:
    """Whether it stands for all addresses of this machine."""
    return host.strip("[]") in _KINDS


def called_by(host: str) -> list[str]:
    """The names and addresses by which a host that listens there can be called, the nearest first.

    It takes up to a second where names are slow to be found.
    """
    kind = _KINDS.get(host.strip("[]"))
    if kind is None:
        return [host.strip("[]")]
    name = socket.gethostname().lower()
    found = _resolved(name, kind) if _NAME.fullmatch(name) else []
    names = [name] if found else []
    return list(dict.fromkeys([_HERE[kind], *names, *filter(_is_outer, [*_outgoing(kind), *found])]))


def url_of(name: str, port: int, token: str | None) -> str:
    """An address to open, with the token that it needs."""
    query = f"?tkn={token}" if token else ""
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/{query}"


def _resolved(name: str, kind: socket.AddressFamily) -> list[str]:
    found: list[str] = []

    def look() -> None:
        with suppress(OSError):  # nobody knows this machine by its own name
            found.extend(str(one[4][0]) for one in socket.getaddrinfo(name, None, kind, socket.SOCK_STREAM))

    # In a thread, since the system asks its name servers for as long as it likes.
    thread = Thread(target=look, daemon=True)
    thread.start()
    thread.join(_PATIENCE)
    return found.copy()


def _outgoing(kind: socket.AddressFamily) -> list[str]:
    """The address that others see."""
    try:
        with socket.socket(kind, socket.SOCK_DGRAM) as one:
            one.connect((_FAR_AWAY[kind], 9))
            return [str(one.getsockname()[0])]
    except OSError:
        return []  # there is no network


def _is_outer(address: str) -> bool:
    try:
        one = ipaddress.ip_address(address)
    except ValueError:
        return False
    return not (one.is_loopback or one.is_link_local or one.is_unspecified)
