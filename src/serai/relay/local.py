"""The relay from the host's own process: the same calls, without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import msgspec

from serai.contract import Record, SubscribeParams, SubscribeResult, WorkspaceEvent, encode
from serai.contract.relay_calls import read_params
from serai.errors import ConnectionLost, MethodNotFound, ProtocolError
from serai.relay.inbox import Caller
from serai.relay.sdk import Answer, Relay, told_as_error
from serai.relay.workspace import Workspace

__all__ = ["LocalLink", "relay_of"]


def relay_of(workspace: Workspace, caller: Caller) -> Relay:
    """The relay for a program in the host's own process."""
    return Relay(LocalLink(workspace, caller))


class LocalLink:
    """Calls straight into a workspace."""

    def __init__(self, workspace: Workspace, caller: Caller) -> None:
        self._workspace = workspace
        self._caller = caller._replace(link=self)
        self._answers: dict[str, Answer] = {}
        self._closed = asyncio.Event()
        self._when_closed: list[Callable[[], None]] = []

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        """See `Link`."""
        read = read_params(method, msgspec.json.encode(params))
        return await self._workspace.call(self._caller, method, read)

    async def subscribe(
        self, params: SubscribeParams
    ) -> tuple[SubscribeResult, AsyncGenerator[WorkspaceEvent]]:
        """See `Link`."""
        return await self._workspace.subscribe(self._caller, params)

    def answer(self, method: str, answer: Answer) -> None:
        """See `Link`."""
        self._answers[method] = answer

    async def closed(self) -> None:
        """See `Link`."""
        await self._closed.wait()

    async def close(self) -> None:
        """See `Link`."""
        if not self._closed.is_set():
            self._closed.set()
            for call in self._when_closed:
                call()

    # -- what the relay asks -------------------------------------------------------------------------------

    async def request(self, method: str, params: Record) -> bytes:
        """See `CallerLink`."""
        if self._closed.is_set():
            raise ConnectionLost("the connection is over")
        answer = self._answers.get(method)
        if answer is None:
            raise MethodNotFound(f"nobody here answers {method!r}")
        try:
            return msgspec.json.encode(await answer(encode(params)))
        except Exception as error:
            told = told_as_error(error)
            raise ProtocolError(told["message"], number=told["code"], data=told.get("data")) from error

    def when_closed(self, call: Callable[[], None]) -> None:
        """See `CallerLink`."""
        self._when_closed.append(call)
