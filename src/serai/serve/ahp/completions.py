"""The command that completes what a person is typing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from serai import jsonrpc
from serai.ahp import commands as c
from serai.errors import InvalidParams
from serai.serve.ahp.following import unknown

if TYPE_CHECKING:
    from serai.serve.ahp.peer import AhpPeer

__all__ = ["complete"]


async def complete(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """What could stand where the cursor is."""
    params: c.CompletionsParams = request.params
    if params.kind != c.CompletionItemKind.USER_MESSAGE:
        raise InvalidParams(f"there are no completions of kind {params.kind!r}", field="params.kind")
    session = await peer.host.sessions.bring(params.channel)
    if session is None:
        raise unknown(params.channel)
    items = await peer.host.completions.complete(session, params.text, params.offset)
    peer.respond(request, c.CompletionsResult(items=items))
