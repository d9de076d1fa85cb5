"""Commands about resources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from serai.ahp import commands as c
from serai.ahp import jsonrpc
from serai.ahp.errors import AhpErrorCode
from serai.errors import ProtocolError
from serai.host.content import BLOB_SCHEME, read_blob

if TYPE_CHECKING:
    from serai.serve.ahp.peer import AhpPeer

__all__ = ["read"]


async def read(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """The content of a resource."""
    params: c.ResourceReadParams = request.params
    if not params.uri.startswith(BLOB_SCHEME):
        raise ProtocolError(f"this host serves no resource {params.uri} yet", number=AhpErrorCode.NOT_FOUND)
    peer.respond(request, await read_blob(peer.journal.store, params))
