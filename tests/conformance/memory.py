"""Connections without a network: what a host says is there to be read when the client gets round to it."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncIterator
from typing import Any, cast

from serai.ahp.types import ROOT
from serai.contract import Role
from serai.host.host import Host
from serai.serve.ahp.commands import ahp_peer
from serai.serve.websocket import WebSocket


class Link:
    """A `Connection` whose client reads when it wants to."""

    def __init__(self, token: str = "") -> None:
        self.token_digest = token
        self.path = "/"
        self.role = Role.OWNER
        self.is_open = True
        self.inbox: deque[dict[str, Any]] = deque()
        """What has arrived and was not read."""
        self.code: int | None = None
        """With which code the host closed it."""

    def send(self, frames: bytes) -> None:
        while frames and self.is_open:
            assert frames[0] == 0x81, "one text frame per message"
            size, start = frames[1], 2
            if size == 126:
                size, start = int.from_bytes(frames[2:4]), 4
            elif size == 127:
                size, start = int.from_bytes(frames[2:10]), 10
            self.inbox.append(json.loads(frames[start : start + size]))
            frames = frames[start + size :]

    def admits(self, token_digest: str) -> bool:  # noqa: ARG002 - all tokens are good here
        return True

    def respond(self, frames: bytes) -> None:
        self.send(frames)

    async def respond_in_pieces(self, pieces: AsyncIterator[bytes]) -> None:
        self.inbox.append(json.loads(b"".join([piece async for piece in pieces])))

    def flush(self) -> None:
        pass

    def close(self, code: int, reason: str) -> None:
        del reason
        self.code = self.code or code
        self.is_open = False


class Wire:
    """A client's end of a connection to a host."""

    def __init__(self, host: Host, token: str = "") -> None:
        self.link = Link(token)
        self.peer = ahp_peer(host, cast("WebSocket", self.link))
        self._ids = 0

    def request(self, method: str, channel: str = ROOT, **params: Any) -> int:
        """Ask something; the id of the answer."""
        self._ids += 1
        self.send(id=self._ids, method=method, params={"channel": channel, **params})
        return self._ids

    def notify(self, method: str, **params: Any) -> None:
        self.send(method=method, params=params)

    def send(self, **message: Any) -> None:
        self.peer.received(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def drop(self) -> None:
        """The connection is gone, with all that was not read."""
        self.link.is_open = False
        self.link.inbox.clear()
        self.peer.disconnected()
