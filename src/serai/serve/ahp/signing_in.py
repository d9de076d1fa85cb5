"""Commands about signing in to agents. AHP 0.2 has none for that: they are Serai's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from serai import jsonrpc
from serai.ahp.extensions import SignInMethodsParams, SignInParams

if TYPE_CHECKING:
    from serai.serve.ahp.peer import AhpPeer

__all__ = ["begin", "list_methods"]


async def list_methods(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """How one signs in to an agent, and whether someone is. The agent may have to be asked."""
    params: SignInMethodsParams = request.params
    peer.respond(request, await peer.host.sign_ins.methods(params.provider))


async def begin(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """Begin to sign in: in a terminal, which the client then has, or by the agent itself."""
    params: SignInParams = request.params
    peer.respond(request, await peer.host.sign_ins.begin(params, peer.client_id))
