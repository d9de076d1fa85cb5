"""The relay from the host's own process: the same calls, without a socket."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import msgspec

from serai.contract import SubscribeParams, SubscribeResult, WorkspaceEvent
from serai.errors import MethodNotFound
from serai.relay.inbox import Caller
from serai.relay.params import read_params
from serai.relay.sdk import Relay
from serai.relay.workspace import Workspace

__all__ = ["LocalLink", "relay_of"]


def relay_of(workspace: Workspace, caller: Caller) -> Relay:
    """The relay for a program in the host's own process."""
    return Relay(LocalLink(workspace, caller))


class LocalLink:
    """Calls straight into a workspace."""

    def __init__(self, workspace: Workspace, caller: Caller) -> None:
        self._workspace = workspace
        self._caller = caller._replace(ask=self._ask)
        self.asked: Callable[[str, dict[str, Any]], Awaitable[Any]] = self._nobody

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        """See `Link`."""
        read = read_params(method, msgspec.json.encode(params))
        return await self._workspace.call(self._caller, method, read)

    async def subscribe(
        self, params: SubscribeParams
    ) -> tuple[SubscribeResult, AsyncGenerator[WorkspaceEvent]]:
        """See `Link`."""
        return await self._workspace.subscribe(self._caller, params)

    async def _ask(self, method: str, params: dict[str, Any]) -> Any:
        return await self.asked(method, params)

    async def _nobody(self, method: str, _params: dict[str, Any]) -> Any:
        raise MethodNotFound(f"there is no method {method!r}")

    async def close(self) -> None:
        """What was registered here is there no longer."""
        self._workspace.actions.left(self._ask)
