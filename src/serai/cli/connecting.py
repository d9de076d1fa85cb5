"""Which host a command talks to: the options for it, and the client that they mean."""

from __future__ import annotations

import argparse

from serai.client import Client, connect
from serai.client.address import find_address

__all__ = ["add_connection_options", "client_of", "is_on_this_machine"]


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
