"""Signing in to an agent of the host, as a client does it. Hosts other than Serai do not have this."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from msgspec import Struct

from serai.ahp.extensions import (
    SIGN_IN,
    SIGN_IN_METHODS,
    SignInMethod,
    SignInMethodsParams,
    SignInMethodsResult,
    SignInParams,
    SignInResult,
)
from serai.ahp.types import ROOT
from serai.client.terminal import TerminalClient

if TYPE_CHECKING:
    from serai.client.client import Client

__all__ = ["SignIn", "begin_sign_in", "list_sign_in_methods"]


class SignIn(Struct, frozen=True):
    """What came of a wish to sign in."""

    method: SignInMethod
    """How it is done."""
    terminal: TerminalClient | None = None
    """Where the person goes on. When it has ended, `sign_in_methods` tells whether someone is signed in."""
    signed_in: bool | None = None
    """Whether someone is, where it is over already; `None` when nobody knows."""
    message: str | None = None
    """What the person has to do now."""


async def list_sign_in_methods(client: Client, agent: str) -> SignInMethodsResult:
    """See `Client.sign_in_methods`."""
    return await client.request(SIGN_IN_METHODS, SignInMethodsParams(channel=ROOT, provider=agent))


async def begin_sign_in(
    client: Client, agent: str, method: str | None, size: tuple[int, int] | None
) -> SignIn:
    """See `Client.sign_in`."""
    cols, rows = size or (None, None)
    params = SignInParams(
        channel=ROOT,
        provider=agent,
        method_id=method,
        terminal=f"ahp-terminal:/{uuid.uuid4()}",
        cols=cols,
        rows=rows,
    )
    result: SignInResult = await client.request(SIGN_IN, params)
    terminal = await client.open_terminal(result.terminal) if result.terminal else None
    return SignIn(result.method, terminal, result.signed_in, result.message)
