"""`serai pair`: let a phone or another browser in, and see which there are."""

from __future__ import annotations

import argparse
import os
from urllib.parse import urlsplit

from serai.cli.link import PHONES, address_for_phones, link_of, qr_code
from serai.cli.relay import add_relay_command, show
from serai.client.address import find_address
from serai.config.load import load
from serai.config.paths import find_paths
from serai.config.settings import is_loopback
from serai.contract import DeviceLinkResult, Role, TokenInfo, TokensResult
from serai.errors import ConfigInvalid, InvalidParams
from serai.relay.sdk import Relay

__all__ = ["configure"]

_DEVICES = frozenset({Role.OWNER, Role.RESPONDER})


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai pair`."""
    parser.add_argument("--name", default="", help="what the device is called")
    parser.add_argument(
        "--answer-only", action="store_true", help="it may read, and answer approvals and questions"
    )
    parser.add_argument("--address", metavar="URL", help="where the device reaches the host: https://NAME")
    add_relay_command(parser, _pair)
    verbs = parser.add_subparsers(title="what else to do", metavar="WHAT")
    add_relay_command(verbs.add_parser("list", help="show which devices there are"), _list, again=True)
    revoke = verbs.add_parser("revoke", help="let a device in no longer, and cut it off")
    revoke.add_argument("device", metavar="ID|NAME")
    add_relay_command(revoke, _revoke, again=True)


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
    show(made, options, lambda _made: lines)
    return 0


def _address(options: argparse.Namespace) -> str:
    """Where a device reaches the host that the options mean."""
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
    devices = TokensResult(tokens=tuple(await _devices(relay)))
    show(devices, options, lambda result: [_line(one) for one in result.tokens] or ["There is none."])
    return 0


def _line(device: TokenInfo) -> str:
    may = "reads and answers" if device.role == Role.RESPONDER else "everything"
    return f"{device.id}  {device.created_at:%Y-%m-%d}  {may:<17}  {device.label}"


async def _revoke(relay: Relay, options: argparse.Namespace) -> int:
    devices = await _devices(relay)
    found = [one for one in devices if one.id == options.device] or [
        one for one in devices if one.label.casefold() == options.device.casefold()
    ]
    if len(found) != 1:
        said = "there are several devices" if found else "there is no device"
        raise InvalidParams(f"{said} {options.device!r}; 'serai pair list' shows their ids", field="device")
    await relay.call("tokens.revoke", id=found[0].id)
    print(f"{found[0].label} is revoked.")
    return 0
