"""Commands about resources: files below allowed folders, kept content, and resources that clients publish."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any
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

if TYPE_CHECKING:
    from serai.serve.ahp.peer import AhpPeer

_LONG = 1024 * 1024
"""Size above which files are read and sent in pieces, in bytes."""


async def read(peer: AhpPeer, request: jsonrpc.Request) -> None:
    """Answer with the content of a resource, however long it is."""
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


def serving(
    operation: Callable[[Any, Roots], Any],
) -> Callable[[AhpPeer, jsonrpc.Request], Awaitable[Any]]:
    """Return the function of a command that runs a file operation in the folders of its client."""

    async def serve(peer: AhpPeer, request: jsonrpc.Request) -> Any:
        if not any(map(_is_file, named_in(request.params))):
            return await _of_clients(peer, request)
        roots = await peer.host.files.for_client(peer.client_id)
        return await peer.host.files.run(operation, request.params, roots)

    return serve


def _is_file(uri: str) -> bool:
    """Tell whether the files room judges a URI. It refuses those without a scheme."""
    scheme, colon, _ = uri.partition(":")
    return not colon or scheme.lower() == "file" or "/" in scheme


async def _of_clients(peer: AhpPeer, request: jsonrpc.Request) -> Any:
    """Have the client that publishes a resource of another scheme answer."""
    return await peer.host.files.ask_clients(request.method, request.params, peer.client_id)


async def watch(peer: AhpPeer, request: jsonrpc.Request) -> c.CreateResourceWatchResult:
    """Watch a folder or a file."""
    channel = await create_watch(peer.host.files, request.params, peer.client_id)
    return c.CreateResourceWatchResult(channel=channel)


async def request(peer: AhpPeer, request: jsonrpc.Request) -> c.EmptyResult:
    """Ask a person whether this client may have a file."""
    await peer.host.files.request(request.params, peer.client_id, peer)
    return c.EmptyResult()
