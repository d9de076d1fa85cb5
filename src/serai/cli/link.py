"""One-time links, and `serai pair`: they let a browser or a phone in without a token in an address.

A link is `http://HOST:PORT/#link=CODE`. The part behind the `#` is sent to no server. The page exchanges the
code for a token of its own, and then the code is spent.
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
from urllib.parse import urlsplit

from serai.cli.console.target import add_command, add_relay_command, called_by
from serai.cli.relay import show as show_result
from serai.client.address import find_address, nearest_url
from serai.config.keys import find_token
from serai.config.load import load
from serai.config.paths import find_paths
from serai.config.settings import is_loopback
from serai.contract import DeviceLinkResult, Role, TokenInfo, TokensResult
from serai.errors import ConfigInvalid, InvalidParams
from serai.relay.sdk import Relay
from serai.store.sqlite.lock import FileLock

Codes: TypeAlias = tuple[str, str]
"""Codes for the browser of this machine, and for a phone."""

PHONES = """\
Phones cannot reach this address: the host listens to this machine alone. Two ways to let them in, with TLS:
  Tailscale       'tailscale serve {port}', then 'serai config set allowed_hosts NAME.TAILNET.ts.net'
  reverse proxy   one that passes WebSockets to 127.0.0.1:{port}, then 'serai config set allowed_hosts NAME'
Start the host again, and run 'serai pair' again. docs/running.md tells more."""


def link_of(address: str, code: str) -> str:
    """Return the link that opens the page once."""
    return f"{address.rstrip('/')}/#link={code}"


def address_for_phones(allowed_hosts: Sequence[str], host: str, port: int) -> str | None:
    """Return the address of a host for other machines; `None` if they cannot reach it.

    An allowed name is that of a proxy or a tunnel, which speak TLS.
    """
    if allowed_hosts:
        return f"https://{allowed_hosts[0]}"
    return next((nearest_url(name, port) for name in called_by(host) if not is_loopback(name)), None)


def qr_code(link: str, environ: Mapping[str, str]) -> str:
    """Return a link as a QR code of characters, two rows of squares in a line."""
    import segno  # noqa: PLC0415 - not every command shows one

    drawn = io.StringIO()
    segno.make(link, error="l", micro=False).terminal(drawn, border=2, compact=True)
    lines = drawn.getvalue().splitlines()
    if "NO_COLOR" not in environ:
        lines = [f"\x1b[97;40m{line}\x1b[0m" for line in lines]
    return "\n".join(lines)


def open_browser(link: str, environ: Mapping[str, str]) -> bool:
    """Open a link in the person's browser. Returns true if that was tried.

    It is not tried over SSH, where the browser would open far away, nor without a display. `BROWSER` names
    one, or `none`.
    """
    chosen = environ.get("BROWSER", "")
    if chosen.lower() == "none" or environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        return False
    has_display = sys.platform == "darwin" or environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    if not chosen and not has_display:
        return False
    return webbrowser.open(link)


def show(codes: Codes, local: str, far: str | None) -> None:
    """Print a QR code for a phone, and open the browser.

    Args:
        codes: The codes for the browser here and for the phone. Each works once.
        local: The host's address for this machine.
        far: Its address for others.
    """
    is_open = open_browser(link_of(local, codes[0]), os.environ)
    print(qr_code(link_of(far or local, codes[1]), os.environ))
    if far is None:
        print("The picture is of an address of this machine; 'serai pair' tells how a phone gets in.")
    if not is_open:
        print("Open the link above in a browser. It works once, for ten minutes.")
    sys.stdout.flush()


def enter(options: argparse.Namespace) -> int:
    """Run `serai` alone at a terminal: find the host of this machine, or start it, and open the page."""
    paths = find_paths(options.home, os.environ)
    holder = FileLock(paths.database).holder()
    if holder is None:
        from serai.cli import read_words  # noqa: PLC0415 - it imports this module

        serve = read_words(["serve"])
        serve.home, serve.opens_page = options.home, True
        return serve.run(serve)
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


# -- serai pair --------------------------------------------------------------------------------------------

_DEVICES = frozenset({Role.OWNER, Role.RESPONDER})


def configure_pair(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai pair`."""
    parser.add_argument("--name", default="", help="what the device is called")
    parser.add_argument(
        "--answer-only", action="store_true", help="it may read, and answer approvals and questions"
    )
    parser.add_argument("--address", metavar="URL", help="where the device reaches the host: https://NAME")
    add_relay_command(parser, _pair)
    verbs = parser.add_subparsers(title="what else to do", metavar="WHAT")
    add_command(verbs, "list", "show which devices there are", relay=_list)
    revoke = add_command(verbs, "revoke", "revoke a device, and close its connections", relay=_revoke)
    revoke.add_argument("device", metavar="ID|NAME")


async def _pair(relay: Relay, options: argparse.Namespace) -> int:
    address = options.address or _address(options)
    if urlsplit(address).scheme not in {"http", "https"} or not urlsplit(address).hostname:
        raise ConfigInvalid(f"{address!r} is not an address", remedy="Write it as https://NAME")
    role = Role.RESPONDER if options.answer_only else Role.OWNER
    made: DeviceLinkResult = await relay.call("devices.link", role=role, name=options.name or None)
    link = link_of(address, made.code)
    what = "may read and answer" if options.answer_only else "may do everything"
    lines = [qr_code(link, os.environ), link, f"Works once, for ten minutes. The device {what}."]
    if is_loopback(urlsplit(address).hostname or ""):
        lines.append(PHONES.format(port=urlsplit(address).port))
    show_result(made, options, lambda _made: lines)
    return 0


def _address(options: argparse.Namespace) -> str:
    """Return the address of the host for a device."""
    found = find_address(options.url, options.token, home=options.home)
    parts = urlsplit(found.url)
    here = f"{'https' if parts.scheme == 'wss' else 'http'}://{parts.netloc}"
    if not found.is_local:
        return here
    settings = load(find_paths(options.home, os.environ), os.environ).settings
    return address_for_phones(settings.allowed_hosts, settings.host, parts.port or 80) or here


async def _devices(relay: Relay) -> list[TokenInfo]:
    listed: TokensResult = await relay.call("tokens.list")
    return [one for one in listed.tokens if one.role in _DEVICES]


async def _list(relay: Relay, options: argparse.Namespace) -> int:
    devices = await _devices(relay)
    lines: list[str] = []
    for one in devices:
        may = "reads and answers" if one.role == Role.RESPONDER else "everything"
        lines.append(f"{one.id}  {one.created_at:%Y-%m-%d}  {may:<17}  {one.label}")
    lines = lines or ["There are no paired devices."]
    show_result(TokensResult(tokens=tuple(devices)), options, lambda _: lines)
    return 0


async def _revoke(relay: Relay, options: argparse.Namespace) -> int:
    devices = await _devices(relay)
    found = [one for one in devices if one.id == options.device] or [
        one for one in devices if one.label.casefold() == options.device.casefold()
    ]
    if len(found) != 1:
        many = "there are several devices" if found else "there is no device"
        raise InvalidParams(f"{many} {options.device!r}; 'serai pair list' shows their ids", field="device")
    await relay.call("tokens.revoke", id=found[0].id)
    print(f"{found[0].label} is revoked.")
    return 0
