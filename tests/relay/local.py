"""The relay of a workspace for a program in the test's own event loop, without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from serai.errors import ConnectionLost
from serai.relay.inbox import Caller
from serai.relay.sdk import Relay, RemoteLink
from serai.relay.tokens import digest
from serai.relay.workspace import Workspace
from serai.serve.relay import RelayPeer


def relay_of(workspace: Workspace, caller: Caller) -> Relay:
    """The relay for a caller."""
    return Relay(RemoteLink(Pipe(workspace, caller)))


class Pipe:
    """A connection, as the program has it."""

    def __init__(self, workspace: Workspace, caller: Caller) -> None:
        token = workspace.tokens.lend(caller.participant) if caller.participant is not None else ""
        self._host_end = HostEnd(caller, digest(token))
        self._peer = RelayPeer(workspace, self._host_end)

    async def send(self, frame: bytes) -> None:
        if not self._host_end.is_open:
            raise ConnectionLost("the connection is over")
        self._peer.received(frame)

    async def receive(self) -> bytes:
        return await self._host_end.told.get()

    async def close(self) -> None:
        if self._host_end.is_open:
            self._host_end.is_open = False
            self._peer.disconnected()


class HostEnd:
    """The same, as the host has it."""

    remote, path = "here", "/relay"

    def __init__(self, caller: Caller, token_digest: str) -> None:
        self.role, self.token_digest, self.is_open = caller.role, token_digest, True
        self.told: asyncio.Queue[bytes] = asyncio.Queue()

    def admits(self, token_digest: str) -> bool:
        return token_digest == self.token_digest

    def send(self, frames: bytes, /) -> None:
        header = {126: 4, 127: 10}.get(frames[1], 2)
        self.told.put_nowait(frames[header:])

    def respond(self, frames: bytes) -> None:
        self.send(frames)

    async def respond_in_pieces(self, pieces: AsyncIterator[bytes]) -> None:
        raise NotImplementedError

    def flush(self) -> None:
        pass

    def close(self, code: int, reason: str) -> None:
        raise NotImplementedError
