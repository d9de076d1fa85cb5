"""Someone who listens to a workspace, and what they have heard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from serai.contract import Role, SubscribeParams, WorkspaceEvent
from serai.relay.tokens import Caller
from serai.relay.workspace import Workspace


class Heard:
    """What a listener has heard so far."""

    def __init__(self) -> None:
        self.events: list[WorkspaceEvent] = []

    def __call__(self, event: WorkspaceEvent) -> None:
        self.events.append(event)

    @property
    def types(self) -> list[str]:
        """The types of what was heard; of a wrapped event its own, after a slash."""
        wrapped = [
            event.data["event"]["type"] if event.type == "session.event" else "" for event in self.events
        ]
        return [
            event.type + (f"/{own}" if own else "") for event, own in zip(self.events, wrapped, strict=True)
        ]

    @property
    def statuses(self) -> list[str]:
        """The statuses that were told, in order."""
        return [event.data["status"] for event in self.events if event.type == "agent.status.changed"]

    def own(self, kind: str) -> list[dict[str, Any]]:
        """The events of sessions of one type."""
        wrapped = [event.data["event"] for event in self.events if event.type == "session.event"]
        return [event for event in wrapped if event["type"] == kind]


@asynccontextmanager
async def listening(
    workspace: Workspace, *types: str, agent: str | None = None, caller: Caller | None = None
) -> AsyncGenerator[Heard]:
    """Listen as the owner, or as someone else."""
    heard = Heard()
    params = SubscribeParams(types=types, agent=agent)
    _, stream = await workspace.subscribe(caller or Caller(Role.OWNER), params)

    async def hear() -> None:
        async for event in stream:
            heard(event)

    task = asyncio.create_task(hear())
    await asyncio.sleep(0)
    try:
        yield heard
    finally:
        task.cancel()
        await asyncio.wait({task})
