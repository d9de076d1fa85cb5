"""The address of the host, and its token.

Arguments come first, then the environment (`SERAI_URL`, `SERAI_TOKEN`), then the host of this machine: the
address in its lock file, or else the default port, and the token in its state directory.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from serai.config.paths import Paths, find_paths
from serai.config.settings import is_loopback
from serai.errors import ConfigInvalid

DEFAULT_URL = "http://127.0.0.1:7777"

_HERE = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - nothing is bound to it
"""Loopback address for each address that stands for all addresses."""

_SCHEMES = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}


class HostAddress(NamedTuple):
    """A host and the token for it. The token is no part of the URL."""

    url: str
    """`ws://…` or `wss://…`."""
    token: str | None

    def __repr__(self) -> str:
        return f"HostAddress({self.url!r})"  # a token does not belong into a log

    @property
    def is_local(self) -> bool:
        """True when the host is on this machine."""
        return is_loopback(urlsplit(self.url).hostname or "")


def find_address(
    url: str | None = None,
    token: str | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    home: str | os.PathLike[str] | None = None,
) -> HostAddress:
    """Find the host to connect to.

    Args:
        url: `http://…` or `ws://…`, as `serai serve` prints it. A token in it (`?tkn=`) is taken out.
        token: The token; it comes before one in the URL.
        environ: The environment; by default that of the process.
        home: The folder of a host on this machine. It comes before the environment.

    Raises:
        ConfigInvalid: The URL is not the address of a host.
    """
    environ = os.environ if environ is None else environ
    paths = find_paths(home, environ)
    of_home = url is None and home is not None
    named = url or (None if of_home else environ.get("SERAI_URL"))
    found = _read(named or _own_host(paths) or DEFAULT_URL)
    token = token or found.token or (None if of_home else environ.get("SERAI_TOKEN")) or None
    if token is None and (found.is_local or not named):  # no other machine gets this machine's token
        token = _kept_token(paths)
    return HostAddress(found.url, token)


def _own_host(paths: Paths) -> str | None:
    """Return the present or last address of the host of a home, from its lock (`serai.store.sqlite.lock`)."""
    try:
        holder = json.loads(paths.database.with_name(f"{paths.database.name}.lock").read_bytes())
        address: str = holder["address"]
        name, _, port = address.rpartition(":")
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
    if not port.isdecimal() or int(port) == 0:
        return None  # it takes any free port, and has not written which
    return nearest_url(name, int(port))


def nearest_url(host: str, port: int) -> str:
    """Return the URL of a host that listens on an address or a name of this machine."""
    name = host.strip("[]")
    name = _HERE.get(name, name)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def _kept_token(paths: Paths) -> str | None:
    try:
        return paths.token.read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return None  # the host says whether it needs one


def _read(url: str) -> HostAddress:
    try:
        parts = urlsplit(url)
        name, _port = parts.hostname, parts.port  # a port that is none raises here
    except ValueError:
        parts, name = urlsplit(""), None
    scheme = _SCHEMES.get(parts.scheme)
    if scheme is None or not name:
        raise ConfigInvalid(
            f"{url.partition('?')[0]!r} is not the address of a host",
            remedy=f"Write it as {DEFAULT_URL}, or copy the line that `serai serve` prints",
        )
    query = parse_qsl(parts.query, keep_blank_values=True)
    token = next((value for key, value in query if key == "tkn" and value), None)
    rest = urlencode([(key, value) for key, value in query if key != "tkn"])
    return HostAddress(urlunsplit((scheme, parts.netloc, parts.path or "/", rest, "")), token)
