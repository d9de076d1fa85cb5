"""`serai token`: tokens for participants and observers."""

from __future__ import annotations

import argparse

from serai.cli.relay.target import add_relay_command, show
from serai.contract import IdentityKind, TokenInfo, TokenResult, TokensResult
from serai.relay.sdk import Relay

__all__ = ["configure"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai token`."""
    verbs = parser.add_subparsers(title="what to do", metavar="WHAT", required=True)
    create = verbs.add_parser("create", help="make a token; it is shown this once")
    whom = create.add_mutually_exclusive_group(required=True)
    whom.add_argument("--for", dest="agent", metavar="NAME", help="a participant, perhaps a new one")
    whom.add_argument("--observer", action="store_true", help="to look on, and nothing else")
    create.add_argument("--kind", choices=list(IdentityKind), help="what a new one is (default: agent)")
    create.add_argument("--label", default="", help="what it is for")
    add_relay_command(create, _create)
    add_relay_command(verbs.add_parser("list", help="show which tokens there are"), _list)
    revoke = verbs.add_parser("revoke", help="have a token open nothing any more")
    revoke.add_argument("id", metavar="ID")
    add_relay_command(revoke, _revoke)


def _line(info: TokenInfo) -> str:
    return (
        f"{info.id}  {info.role.value}  {info.agent or ''}  {info.created_at:%Y-%m-%d}  {info.label}".rstrip()
    )


async def _create(relay: Relay, options: argparse.Namespace) -> int:
    made: TokenResult = await relay.call(
        "tokens.create", agent=options.agent, kind=options.kind, label=options.label
    )
    show(made, options, lambda result: [result.token])
    return 0


async def _list(relay: Relay, options: argparse.Namespace) -> int:
    tokens: TokensResult = await relay.call("tokens.list")
    show(tokens, options, lambda result: [_line(one) for one in result.tokens] or ["There is none."])
    return 0


async def _revoke(relay: Relay, options: argparse.Namespace) -> int:
    await relay.call("tokens.revoke", id=options.id)
    print(f"{options.id} is revoked.")
    return 0
