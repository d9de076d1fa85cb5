"""The relay from the host's own process: the same calls, without a socket."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import msgspec

from serai.contract import SubscribeParams, SubscribeResult, WorkspaceEvent
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
        self._caller = caller

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        """See `Link`."""
        read = read_params(method, msgspec.json.encode(params))
        return await self._workspace.call(self._caller, method, read)

    async def subscribe(
        self, params: SubscribeParams
    ) -> tuple[SubscribeResult, AsyncGenerator[WorkspaceEvent]]:
        """See `Link`."""
        return await self._workspace.subscribe(self._caller, params)

    async def close(self) -> None:
        """Nothing is open here."""
