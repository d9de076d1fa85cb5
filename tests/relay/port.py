"""The relay of a host over its real port, in the test's own event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from hosts import TOKEN, WITHIN
from relay.workspaces import Inn, inn
from serai.contract import (
    AgentSessionCapabilities,
    DeliveryCapabilities,
    DeliveryMode,
    EventCapabilities,
    LifecycleCapabilities,
    MessageContext,
    MessagingCapabilities,
    RelayMessage,
)
from serai.relay.sdk import Relay
from serai.serve.guard import digest
from serai.serve.port import PortSettings, serve_port
from serai.serve.relay import RelayPeer, relay_routes

ON_IDLE, IMMEDIATE = DeliveryMode.ON_IDLE, DeliveryMode.IMMEDIATE


class Port:
    """A host with its relay, and where it listens."""

    def __init__(self, house: Inn, number: int) -> None:
        self.house = house
        self.url = f"ws://127.0.0.1:{number}"
        self.http = f"http://127.0.0.1:{number}/relay"

    async def connect(self, token: str = TOKEN) -> Relay:
        """A connection, by default the owner's."""
        return await Relay.connect(self.url, token)

    async def token(self, name: str) -> str:
        """A token for a participant."""
        return (await self.house.call("tokens.create", agent=name)).token


@asynccontextmanager
async def ports(**options: Any) -> AsyncGenerator[Port]:
    """Open a host with its relay, and its port."""
    async with inn(**options) as house:
        ready = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(
            serve_port(
                PortSettings(port=0, token_digests=frozenset({digest(TOKEN)})),
                lambda link: RelayPeer(house.workspace, link),
                lambda: (True, {}),
                started=ready.set_result,
                roles=house.workspace.tokens.role_of,
                routes=relay_routes(house.workspace),
            )
        )
        try:
            async with asyncio.timeout(WITHIN):
                yield Port(house, await ready)
        finally:
            serving.cancel()
            await asyncio.sleep(0)
            serving.cancel()
            await asyncio.wait({serving}, timeout=WITHIN)


def able(
    *modes: DeliveryMode, emits: tuple[Any, ...] = (), queue: bool = False, **lifecycle: bool
) -> AgentSessionCapabilities:
    """Capabilities of a session that receives."""
    return AgentSessionCapabilities(
        messaging=MessagingCapabilities(receive=True),
        delivery=DeliveryCapabilities(modes=modes or (IMMEDIATE,), queue=queue),
        events=EventCapabilities(emits=emits),
        lifecycle=LifecycleCapabilities(**{"release": False, **lifecycle}),
    )


class Heard:
    """What a session was given, for a test to wait on."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.contexts: list[MessageContext] = []
        self._came = asyncio.Event()

    async def __call__(self, message: RelayMessage, context: MessageContext) -> None:
        self.texts.append(message.text)
        self.contexts.append(context)
        self._came.set()

    async def until(self, count: int) -> list[str]:
        """What was heard, once it is so many."""
        async with asyncio.timeout(WITHIN):
            while len(self.texts) < count:
                self._came.clear()
                await self._came.wait()
        return self.texts
