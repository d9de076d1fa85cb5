"""Commands about terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from serai import jsonrpc
from serai.ahp import commands as c
from serai.ahp.channels import ChannelKind, kind_of
from serai.errors import InvalidParams

if TYPE_CHECKING:
    from serai.serve.ahp.peer import AhpPeer

__all__ = ["create", "dispose"]


async def create(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """Start a shell in a terminal under the URI that the client chose."""
    params: c.CreateTerminalParams = request.params
    if kind_of(params.channel) is not ChannelKind.TERMINAL:
        raise InvalidParams("a terminal's URI begins with ahp-terminal:/", field="params.channel")
    await peer.host.terminals.create(params, peer.client_id)
    peer.respond(request)


async def dispose(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """End a terminal, with all that runs in it."""
    await peer.host.terminals.dispose(request.params.channel)
    peer.respond(request)
