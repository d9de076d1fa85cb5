"""Commands about changesets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from serai import jsonrpc
from serai.ahp import commands as c
from serai.ahp.channels import ChannelKind, kind_of
from serai.errors import InvalidParams

if TYPE_CHECKING:
    from serai.serve.ahp.peer import AhpPeer

__all__ = ["invoke"]


async def invoke(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """Do something with a changeset: stage, discard, open."""
    params: c.InvokeChangesetOperationParams = request.params
    if kind_of(params.channel) is not ChannelKind.CHANGESET:
        raise InvalidParams("a changeset's URI begins with ahp-changeset:/", field="params.channel")
    peer.respond(
        request, await peer.host.changesets.invoke(params.channel, params.operation_id, params.target)
    )
