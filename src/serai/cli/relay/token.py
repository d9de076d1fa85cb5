"""`serai token`, `serai webhooks`, `serai secrets`: what the owner alone may do."""

from __future__ import annotations

import argparse
import sys

from serai.cli.relay.target import add_relay_command, calling
from serai.contract import IdentityKind, TokenInfo, Webhook
from serai.relay.sdk import Relay

__all__ = ["configure", "configure_secrets", "configure_webhooks"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai token`."""
    verbs = parser.add_subparsers(title="what to do", metavar="WHAT", required=True)
    create = verbs.add_parser("create", help="make a token; it is shown this once")
    whom = create.add_mutually_exclusive_group(required=True)
    whom.add_argument("--for", dest="agent", metavar="NAME", help="a participant, perhaps a new one")
    whom.add_argument("--observer", action="store_true", help="to look on, and nothing else")
    create.add_argument("--kind", choices=list(IdentityKind), help="what a new one is (default: agent)")
    create.add_argument("--label", default="", help="what it is for")
    add_relay_command(create, calling("tokens.create", lambda made: [made.token], "agent", "kind", "label"))
    listed = calling("tokens.list", lambda found: [*map(_token, found.tokens)] or ["There is none."])
    add_relay_command(verbs.add_parser("list", help="show which tokens there are"), listed)
    revoke = verbs.add_parser("revoke", help="have a token open nothing any more")
    revoke.add_argument("id", metavar="ID")
    add_relay_command(revoke, calling("tokens.revoke", lambda _: ["It is revoked."], "id"))


def _token(info: TokenInfo) -> str:
    made = f"{info.created_at:%Y-%m-%d}"
    return f"{info.id}  {info.role.value}  {info.agent or ''}  {made}  {info.label}".rstrip()


def configure_webhooks(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai webhooks`."""
    listed = calling("webhooks.list", lambda found: [*map(_webhook, found.webhooks)] or ["There is none."])
    add_relay_command(parser, listed)
    verbs = parser.add_subparsers(title="what to do", metavar="WHAT")
    create = verbs.add_parser("create", help="have events posted; what signs them is shown this once")
    create.add_argument("to", metavar="URL")
    create.add_argument("types", metavar="TYPE", nargs="*", help="such as 'delivery.*'; by default all")
    made = calling("webhooks.create", lambda made: [made.webhook.id, made.secret], "url=to", "types")
    add_relay_command(create, made, again=True)
    delete = verbs.add_parser("delete", help="have nothing posted there any more")
    delete.add_argument("id", metavar="ID")
    add_relay_command(delete, calling("webhooks.delete", lambda _: ["It is deleted."], "id"), again=True)


def _webhook(one: Webhook) -> str:
    problem = f"  not taken: {one.error}" if one.error else ""
    return f"{one.id}  {one.url}  {' '.join(one.types) or '*'}  until {one.delivered_until}{problem}"


def configure_secrets(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai secrets`."""
    parser.add_argument("name", metavar="NAME", help="how it is shown: [secret:NAME]")
    add_relay_command(parser, _register)


async def _register(relay: Relay, options: argparse.Namespace) -> int:
    await relay.call("secrets.register", name=options.name, value=sys.stdin.read().rstrip("\n"))
    print(f"[secret:{options.name}] is masked until the host stops.")
    return 0
