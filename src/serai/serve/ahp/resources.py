"""Commands about resources: files below allowed folders, kept content, and what clients publish."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any
from urllib.parse import unquote

import msgspec

from serai import jsonrpc
from serai.ahp import commands as c
from serai.changes.view import CONTENT_SCHEME
from serai.host.blobs import BLOB_SCHEME, read_blob, read_result
from serai.host.surroundings.files import named_in
from serai.host.surroundings.watches import create_watch
from serai.machine import files
from serai.machine.files import Content, Roots
from serai.machine.files.content import content_type, guessed_type
from serai.serve.ahp.peer import AhpPeer

_LONG = 1024 * 1024
"""Longer files are read and sent in pieces."""

Serve = Callable[["AhpPeer", jsonrpc.Request], Coroutine[Any, Any, None]]


async def read(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """The content of a resource, however long it is."""
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
    if not _is_file(params.uri):
        peer.respond(request, await _of_clients(peer, request))
        return
    with await _opened(peer, params) as content:
        if content.size <= _LONG:
            peer.respond(request, await asyncio.to_thread(content.whole))
            return
        await peer.link.respond_in_pieces(_answer_in_pieces(request, content))


async def _opened(peer: AhpPeer, params: c.ResourceReadParams) -> Content:
    roots = await peer.host.files.for_client(peer.client_id)
    opening = asyncio.ensure_future(peer.host.files.run(files.open_content, params, roots))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:  # the client is gone, and the file is opened all the same
        opening.add_done_callback(_close_again)
        raise


def _close_again(opening: asyncio.Future[Content]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


async def _answer_in_pieces(request: jsonrpc.Request, content: Content) -> AsyncIterator[bytes]:
    result = {"encoding": content.encoding.value, "contentType": content.content_type, "data": ""}
    answer = msgspec.json.encode({"jsonrpc": "2.0", "id": request.id, "result": result})
    yield answer.removesuffix(b'"}}')
    pieces = content.pieces()
    while (piece := await asyncio.to_thread(next, pieces, b"")) != b"":
        yield piece
    yield b'"}}'


def _serving(method: str, do: Callable[[Any, Roots], Any]) -> Serve:
    """Serve a command that needs the folders that a client may have, and waits for the disk."""

    async def serve(peer: AhpPeer, request: jsonrpc.Request) -> None:
        params = request.params
        if not any(map(_is_file, named_in(params))):
            peer.respond(request, await _of_clients(peer, request))
            return
        roots = await peer.host.files.for_client(peer.client_id)
        peer.respond(request, await peer.host.files.run(do, params, roots))

    serve.__doc__ = f"`{method}`."
    return serve


def _is_file(uri: str) -> bool:
    """Whether the files room is to judge it. What has no scheme is for it to refuse."""
    scheme, colon, _ = uri.partition(":")
    return not colon or scheme.lower() == "file" or "/" in scheme


async def _of_clients(peer: AhpPeer, request: jsonrpc.Request) -> Any:
    """A resource of another scheme is one that a client publishes."""
    return await peer.host.files.ask_clients(request.method, request.params, peer.client_id)


write = _serving("resourceWrite", files.write)
list_entries = _serving("resourceList", files.list_directory)
copy = _serving("resourceCopy", files.copy)
move = _serving("resourceMove", files.move)
delete = _serving("resourceDelete", files.delete)
resolve = _serving("resourceResolve", files.resolve)
make_directory = _serving("resourceMkdir", files.make_directory)


async def watch(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """Watch a folder or a file."""
    channel = await create_watch(peer.host, request.params, peer.client_id)
    peer.respond(request, c.CreateResourceWatchResult(channel=channel))


async def request(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """Ask a person whether this client may have a file."""
    await peer.host.files.request(request.params, peer.client_id, peer)
    peer.respond(request, c.EmptyResult())
