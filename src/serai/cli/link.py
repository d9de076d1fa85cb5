"""One-time links: how a browser of this machine, or a phone, gets in without a token in any address.

A link is `http://HOST:PORT/#link=CODE`. What stands behind the `#` is sent to no server; the page gives the
code for a token of its own, and then it opens nothing any more.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import os
import sys
import webbrowser
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from serai.cli.console.target import called_by, url_of
from serai.client.address import nearest_url
from serai.config.keys import find_token
from serai.config.load import load
from serai.config.paths import find_paths
from serai.config.settings import is_loopback
from serai.contract import DeviceLinkResult
from serai.errors import ConfigInvalid
from serai.relay.sdk import Relay
from serai.store.sqlite.lock import FileLock

__all__ = ["PHONES", "Codes", "address_for_phones", "enter", "link_of", "open_browser", "qr_code", "show"]

Codes: TypeAlias = tuple[str, str]
"""One for the browser of this machine, one for a phone."""

PHONES = """\
Phones cannot reach this address: the host listens to this machine alone. Two ways to let them in, with TLS:
  Tailscale       'tailscale serve {port}', then 'serai config set allowed_hosts NAME.TAILNET.ts.net'
  reverse proxy   one that passes WebSockets to 127.0.0.1:{port}, then 'serai config set allowed_hosts NAME'
Start the host again, and run 'serai pair' again. docs/running.md tells more."""


def link_of(address: str, code: str) -> str:
    """The link that opens the page once."""
    return f"{address.rstrip('/')}/#link={code}"


def address_for_phones(allowed_hosts: Sequence[str], host: str, port: int) -> str | None:
    """Where others than this machine reach a host that listens there; `None` if nowhere.

    A name that was allowed is a proxy's or a tunnel's, and those speak TLS.
    """
    if allowed_hosts:
        return f"https://{allowed_hosts[0]}"
    return next((url_of(name, port) for name in called_by(host) if not is_loopback(name)), None)


def qr_code(link: str, environ: Mapping[str, str]) -> str:
    """A link as a picture of characters: two rows of squares in a line, dark ones dark on every screen."""
    import segno  # noqa: PLC0415 - not every command shows one

    drawn = io.StringIO()
    segno.make(link, error="l", micro=False).terminal(drawn, border=2, compact=True)
    lines = drawn.getvalue().splitlines()
    if "NO_COLOR" not in environ:
        lines = [f"\x1b[97;40m{line}\x1b[0m" for line in lines]
    return "\n".join(lines)


def open_browser(link: str, environ: Mapping[str, str]) -> bool:
    """Open a link in the person's browser, if there is one before them. Returns whether it was tried.

    Not over SSH, where it would open far away, nor without a display. `BROWSER` names one, or `none`.
    """
    chosen = environ.get("BROWSER", "")
    if chosen.lower() == "none" or environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        return False
    has_display = sys.platform == "darwin" or environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    if not chosen and not has_display:
        return False
    return webbrowser.open(link)


def show(codes: Codes, local: str, far: str | None) -> None:
    """Print a picture for a phone, and open the browser.

    Args:
        codes: What is in the link of the browser here, and what is in the picture: each works once.
        local: Where this machine reaches the host.
        far: Where others do.
    """
    is_open = open_browser(link_of(local, codes[0]), os.environ)
    print(qr_code(link_of(far or local, codes[1]), os.environ))
    if far is None:
        print("The picture is of an address of this machine; 'serai pair' tells how a phone gets in.")
    if not is_open:
        print("Open the link above in a browser. It works once, for ten minutes.")
    sys.stdout.flush()


def enter(options: argparse.Namespace) -> int:
    """What `serai` alone does at a terminal: find the host of this machine, or start it; open the page."""
    paths = find_paths(options.home, os.environ)
    holder = FileLock(paths.database).holder()
    if holder is None:
        from serai.cli.serve import serve_and_open  # noqa: PLC0415 - a host is a lot to load

        return serve_and_open(options.home)
    if holder.address is None:
        raise ConfigInvalid("a host is just starting on this home", remedy="Try again in a moment")
    name, _, port = holder.address.rpartition(":")
    settings = load(paths, os.environ).settings
    local = nearest_url(name, int(port))
    codes = asyncio.run(_two_codes(local, find_token(paths) if settings.require_token else None))
    print(f"Serai runs already.\n  address  {local}/\n  open     {link_of(local, codes[0])}")
    show(codes, local, address_for_phones(settings.allowed_hosts, name, int(port)))
    return 0


async def _two_codes(local: str, token: str | None) -> Codes:
    async with await Relay.connect(local, token) as relay:
        first: DeviceLinkResult = await relay.call("devices.link")
        second: DeviceLinkResult = await relay.call("devices.link")
    return first.code, second.code
