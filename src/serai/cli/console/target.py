"""The options that name a host, the client that they mean, and which session or terminal a person means."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from serai.ahp.types import URI
from serai.client import Client, connect
from serai.client.address import find_address
from serai.errors import SessionGone

__all__ = [
    "add_connection_options",
    "client_of",
    "is_on_this_machine",
    "match_session",
    "match_terminal",
    "session_id",
]


def add_connection_options(parser: argparse.ArgumentParser, *, again: bool = False) -> None:
    """Add `--url` and `--token`; `again` for a subcommand, which must not undo what stood before it."""
    default = argparse.SUPPRESS if again else None
    parser.add_argument(
        "--url", default=default, help="the host's address (default: SERAI_URL, else this machine's host)"
    )
    parser.add_argument(
        "--token",
        default=default,
        help="its token (default: SERAI_TOKEN, else the one of this machine's host)",
    )


def client_of(options: argparse.Namespace) -> Client:
    """The client that the options mean, not yet connected.

    Raises:
        ConfigInvalid: The URL is not one of a host.
    """
    return connect(options.url, options.token, home=options.home)


def is_on_this_machine(options: argparse.Namespace) -> bool:
    """Whether the host that the options mean is on this machine."""
    return find_address(options.url, options.token, home=options.home).is_local


def session_id(uri: URI) -> str:
    """The last part of a session's URI, or of a terminal's."""
    return uri.rpartition("/")[2]


def match_session(name: str, uris: Sequence[URI], *, lists: str = "`serai sessions` lists them") -> URI:
    """Which of these sessions a person means. `lists` says where they stand.

    Raises:
        SessionGone: None of them, or more than one.
    """
    return _match("session", name, uris, lists)


def match_terminal(name: str, uris: Sequence[URI]) -> URI:
    """Which of these terminals a person means.

    Raises:
        SessionGone: None of them, or more than one.
    """
    return _match("terminal", name, uris, "`serai terminals` lists them")


def _match(kind: str, name: str, uris: Sequence[URI], lists: str) -> URI:
    if name.startswith(f"ahp-{kind}:"):
        return name
    found = [uri for uri in uris if session_id(uri) == name] or [
        uri for uri in uris if name and session_id(uri).startswith(name)
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        raise SessionGone(f"there is no {kind} {name!r}", remedy=lists)
    ids = ", ".join(session_id(uri) for uri in found[:5])
    raise SessionGone(f"{len(found)} {kind}s begin with {name!r}: {ids}", remedy="Write more of the id")
