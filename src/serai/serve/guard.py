"""Access to the port, decided from path, query and headers alone.

A local port is a remote shell for whoever reaches it, and every page in a browser does. Three checks protect
it, in this order:

1. `Host` must be a name of this host. A page that made its own name point to this machine (DNS rebinding)
   still sends its own name.
2. `Origin`, which a browser sends and a page cannot choose, must be ours. Without it, a program is asking.
3. The token: `Authorization: Bearer …`. Pages cannot set that on a WebSocket: ours offers the protocols
   `serai` and `serai.tkn.TOKEN`, which no log or console shows. Clients that can do neither use `?tkn=…`. The
   page itself needs no token: it is the same for everyone. It gets one for a code (`POST /link`).

Only digests of tokens are kept and compared, in a time that does not depend on where they differ.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl

from serai.config.settings import is_loopback
from serai.contract import Role
from serai.errors import ConfigInvalid
from serai.relay.tokens import digest

Headers = Iterable[tuple[str, str]]
"""Names and values as received, repeated ones included. The case of names does not matter."""

RELAY_PATHS = frozenset({"/relay", "/mcp"})
"""Paths for which tokens of participants are accepted, too."""

UPGRADE_PATHS = frozenset({"/", "/ahp", "/relay"})
"""Paths at which a WebSocket may be opened."""

OPEN_PATHS = frozenset({"/healthz", "/", "/link", "/manifest.webmanifest", "/service-worker.js"})
"""Paths that need no token: they show nothing but that a host is here."""
OPEN_FOLDER = "/assets/"
"""Folder that needs no token: its files are the same for everyone."""

_READING_METHODS = frozenset({"GET", "HEAD"})
_DEVICES = frozenset({Role.OWNER, Role.RESPONDER})

_PROTOCOLS = "sec-websocket-protocol"
PROTOCOL = "serai"
"""Protocol that the page offers for its WebSockets, and gets as the answer."""
TOKEN_PROTOCOL = "serai.tkn."  # noqa: S105 - what stands before one
"""Prefix of a second protocol that the page offers: its token follows."""

_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

_MAX_PARAMETERS = 64
"""Largest number of query parameters that are searched for a token."""

# A name or an IPv4 address, with at most one dot at its end; or an IPv6 address in brackets; then a port.
_AUTHORITY = re.compile(
    r"(?:\[(?P<six>[0-9a-f:.]{2,45})\]|(?P<name>[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)\.?)(?::(?P<port>[0-9]{1,5}))?",
    re.ASCII,
)
_ORIGIN = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<authority>[^/?#@\s]+)", re.ASCII)
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Admission(NamedTuple):
    """A request that is let in."""

    token_digest: str
    """Digest of the token; empty where no token is needed."""
    role: Role = Role.OWNER
    """Role of the token."""


class Refusal(NamedTuple):
    """The answer to a request that is refused."""

    status: int
    code: str
    message: str
    remedy: str


class _Authority(NamedTuple):
    """A host and its port, normalised."""

    host: str
    port: int | None


def refuse_open_bind(host: str, digests: Iterable[str]) -> None:
    """Check, before binding, that a port which others can reach needs a token.

    Raises:
        ConfigInvalid: It needs none.
    """
    if not is_loopback(host) and not any(digests):
        raise ConfigInvalid(
            f"the port would be open to everyone who reaches {host or 'any address of this machine'!r}:"
            " no token is set",
            remedy="Leave require_token on, or listen on 127.0.0.1",
        )


class Guard:
    """Decides on the requests to one port. It keeps no state: the same request always gets the same answer.

    Args:
        digests: Digests of the host's own tokens (`digest`). Without any, no token is needed.
        port: The port.
        host: The address of the port. It is a name of ours, except for `0.0.0.0` and `::`.
        allowed_hosts: More names of ours, as of a tunnel: `name`, or `name:port` for a single port.
        allowed_origins: Other pages that may connect: `http://localhost:3000`.
        roles: Returns the role of a stored token by its digest; `None` if the token is unknown.

    Raises:
        ConfigInvalid: A name or an origin is invalid.
    """

    def __init__(
        self,
        *,
        digests: Iterable[str],
        port: int,
        host: str = "127.0.0.1",
        allowed_hosts: Sequence[str] = (),
        allowed_origins: Sequence[str] = (),
        roles: Callable[[str], Role | None] = lambda _digest: None,
    ) -> None:
        self._roles = roles
        self._digests = tuple(digests)
        self._port = port
        self._hosts: list[_Authority] = []
        for entry in allowed_hosts:
            if (authority := _authority(entry)) is None:
                remedy = "Write `name` or `name:port`, without `http://`"
                raise ConfigInvalid(f"{entry!r} is not the name of a host", remedy=remedy)
            self._hosts.append(authority)
        self._origins = frozenset(entry.lower().rstrip("/") for entry in allowed_origins)
        for origin in self._origins:
            if _ORIGIN.fullmatch(origin) is None:
                remedy = "Write it as `https://name` or `https://name:port`"
                raise ConfigInvalid(f"{origin!r} is not an origin", remedy=remedy)
        host = host.strip("[]")
        own = _authority(f"[{host}]" if ":" in host else host)
        if own is not None and own.host not in {"0.0.0.0", "::"}:  # noqa: S104 - it is refused as a name here
            self._hosts.append(_Authority(own.host, None))

    def upgrade(self, path: str, query: str, headers: Headers) -> Admission | Refusal:
        """Decide whether a WebSocket may be opened. `path` is as received, not decoded."""
        decision = self._decide(path, query, headers, needs_token=True)
        if isinstance(decision, Admission) and path not in UPGRADE_PATHS:
            return Refusal(404, "not_found", "no WebSocket is here", "Connect to / or /ahp")
        return decision

    def request(self, path: str, query: str, headers: Headers, method: str = "GET") -> Admission | Refusal:
        """Decide on an HTTP request. `path` is the path by which it will be routed."""
        is_open = path in OPEN_PATHS or path.startswith(OPEN_FOLDER)
        decision = self._decide(path, query, headers, needs_token=not is_open)
        # The body of a POST to the relay names the method, so the relay decides.
        if isinstance(decision, Refusal) or method in _READING_METHODS or path == "/relay":
            return decision
        if decision.role == Role.RESPONDER:
            remedy = "Use a device that was paired without --answer-only"
            return Refusal(403, "forbidden", "this device may read and answer, and nothing else", remedy)
        return decision

    def _decide(self, path: str, query: str, headers: Headers, *, needs_token: bool) -> Admission | Refusal:
        found: dict[str, list[str]] = {"host": [], "origin": [], "authorization": [], _PROTOCOLS: []}
        for name, value in headers:
            values = found.get(name.lower())
            if values is not None:
                values.append(value.strip(" \t"))
        hosts, origins = found["host"], found["origin"]
        host = _authority(hosts[0]) if len(hosts) == 1 else None
        if host is None or not self._is_ours(host):
            problem = "one Host is needed"
            if len(hosts) == 1:
                problem = f"the name {hosts[0][:100]!r} is not one of this host"
            remedy = "Use localhost, or add the name to the allowed hosts"
            return Refusal(403, "host_refused", problem, remedy)
        if not all(self._is_welcome(origin, host) for origin in origins) or len(origins) > 1:
            problem = "one Origin is allowed"
            if len(origins) == 1:
                problem = f"pages of {origins[0][:100]!r} may not connect"
            remedy = "Use the host's own page, or add the page to the allowed origins"
            return Refusal(403, "origin_refused", problem, remedy)
        if not needs_token:
            return Admission("")
        tokens = _tokens(found["authorization"], found[_PROTOCOLS], query)
        return self._admit(tokens, for_relay=path in RELAY_PATHS)

    def _is_ours(self, host: _Authority) -> bool:
        """Tell whether a host is ours: configured, or a loopback name (ports are forwarded, so any port)."""
        if host.host in _LOOPBACK_NAMES:
            return True
        # Without a port it is the port of http or https: the request does not tell which.
        ports = {host.port} if host.port is not None else {80, 443}
        return any(host.host == own.host and (own.port is None or own.port in ports) for own in self._hosts)

    def _is_welcome(self, origin: str, host: _Authority) -> bool:
        """Tell whether a page of this origin may connect: it is ours, by any of our names."""
        origin = origin.lower()
        if origin in self._origins:
            return True
        match = _ORIGIN.fullmatch(origin)
        default = _DEFAULT_PORTS.get(match["scheme"]) if match else None
        authority = _authority(match["authority"]) if match else None
        if default is None or authority is None:
            return False  # also `null`: a sandboxed page, or a file
        name, port = authority.host, authority.port or default
        if name == host.host and port == (host.port or default):
            return True
        if name in _LOOPBACK_NAMES:
            return port == self._port
        # A tunnel may have put another name into `Host`. Another port of that machine is another page.
        return any(
            name == own.host and (port == own.port if own.port else port in {default, self._port})
            for own in self._hosts
        )

    def admits(self, token_digest: str) -> bool:
        """Tell whether a token is accepted, by its digest."""
        return token_digest in self._digests or self._roles(token_digest) is not None

    def _admit(self, tokens: list[str], *, for_relay: bool) -> Admission | Refusal:
        offered = digest(tokens[0]) if len(tokens) == 1 and tokens[0] else ""
        matches = [hmac.compare_digest(offered, own) for own in self._digests]
        if any(matches):
            return Admission(offered)
        role = self._roles(offered)
        if role is not None and (for_relay or role in _DEVICES):
            return Admission(offered, role)
        if not self._digests:
            return Admission("")  # the door is open
        remedy = "Open the link that 'serai' prints, or send the header 'Authorization: Bearer TOKEN'"
        if not tokens:
            return Refusal(401, "token_missing", "a token is needed", remedy)
        return Refusal(401, "token_wrong", "the token is not the right one", remedy)


def _authority(text: str) -> _Authority | None:
    """Read a host with an optional port; `None` if it is invalid. Case and a final dot do not matter."""
    match = _AUTHORITY.fullmatch(text.lower())
    if match is None:
        return None
    port = int(match["port"]) if match["port"] else None
    if port is not None and not 0 < port <= 0xFFFF:
        return None
    if match["six"] is None:
        return _Authority(match["name"], port)
    try:
        return _Authority(str(ipaddress.IPv6Address(match["six"])), port)
    except ValueError:
        return None


def _tokens(authorization: list[str], protocols: list[str], query: str) -> list[str]:
    """Return all tokens of a request. Those in headers come before those in the address."""
    schemes = [value.partition(" ") for value in authorization]
    bearer = [rest.strip() for scheme, _, rest in schemes if scheme.lower() == "bearer"]
    offered = [one.strip() for value in protocols for one in value.split(",")]
    bearer += [one.removeprefix(TOKEN_PROTOCOL) for one in offered if one.startswith(TOKEN_PROTOCOL)]
    if bearer:
        return bearer
    try:
        parameters = parse_qsl(query, keep_blank_values=True, max_num_fields=_MAX_PARAMETERS)
    except ValueError:
        return []
    return [value for name, value in parameters if name == "tkn"]
