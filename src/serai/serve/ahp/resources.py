"""Commands about resources: files below allowed folders, and kept content."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import unquote

from serai import jsonrpc
from serai.ahp import commands as c
from serai.changes.view import CONTENT_SCHEME
from serai.host.blobs import BLOB_SCHEME, read_blob, read_result
from serai.machine import files
from serai.machine.files import Roots
from serai.machine.files.content import content_type, guessed_type
from serai.serve.ahp.peer import AhpPeer

__all__ = [
    "copy",
    "delete",
    "list_entries",
    "make_directory",
    "move",
    "read",
    "request",
    "resolve",
    "watch",
    "write",
]

_MOST = 16 * 1024 * 1024
"""Largest file that is read, in bytes: there are no ranges, and clients take no longer messages."""

Serve = Callable[["AhpPeer", jsonrpc.Request], Coroutine[Any, Any, None]]


async def read(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """The content of a resource."""
    params: c.ResourceReadParams = request.params
    await peer.journal.committed(patient=False)  # all that happened before goes first; content need not wait
    if params.uri.startswith(BLOB_SCHEME):
        peer.respond(request, await read_blob(peer.journal.store, params))
        return
    if params.uri.startswith(CONTENT_SCHEME):
        data = await peer.host.changesets.read(params.uri)
        kind = content_type(unquote(params.uri.rpartition("/")[2])) or guessed_type(data)
        peer.respond(request, read_result(data, kind, params.encoding))
        return
    roots = await peer.host.files.for_client(peer.client_id)
    peer.respond(request, await peer.host.files.run(files.read, params, roots, most=_MOST))


def _serving(method: str, do: Callable[[Any, Roots], Any]) -> Serve:
    """Serve a command that needs the folders that a client may have, and waits for the disk."""

    async def serve(peer: AhpPeer, request: jsonrpc.Request) -> None:
        roots = await peer.host.files.for_client(peer.client_id)
        peer.respond(request, await peer.host.files.run(do, request.params, roots))

    serve.__doc__ = f"`{method}`."
    return serve


write = _serving("resourceWrite", files.write)
list_entries = _serving("resourceList", files.list_directory)
copy = _serving("resourceCopy", files.copy)
move = _serving("resourceMove", files.move)
delete = _serving("resourceDelete", files.delete)
resolve = _serving("resourceResolve", files.resolve)
make_directory = _serving("resourceMkdir", files.make_directory)


async def watch(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """Watch a folder or a file."""
    channel = await peer.host.resource_watches.create(request.params, peer.client_id)
    peer.respond(request, c.CreateResourceWatchResult(channel=channel))


async def request(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """Ask a person whether this client may have a file."""
    await peer.host.files.request(request.params, peer.client_id, peer)
    peer.respond(request, c.EmptyResult())
