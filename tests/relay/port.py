"""The relay of a host over its real port, in the test's own event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from weakref import WeakSet

from starlette.routing import BaseRoute

from hosts import TOKEN, WITHIN
from relay.workspaces import Inn, inn
from serai.config.settings import Settings
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
from serai.relay.tokens import digest
from serai.serve.port import serve_port
from serai.serve.relay import relay_routes
from serai.serve.run import peer_of

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
async def listening_port(house: Inn, *routes: BaseRoute) -> AsyncGenerator[int]:
    """The port of a host with its relay: `/relay`, AHP elsewhere, and what is added."""
    ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(
        serve_port(
            Settings(port=0),
            partial(peer_of, house.workspace, WeakSet()),
            lambda: (True, {}),
            started=ready.set_result,
            token_digests={digest(TOKEN)},
            roles=house.workspace.tokens.role_of,
            routes=[*relay_routes(house.workspace), *routes],
        )
    )
    try:
        async with asyncio.timeout(WITHIN):
            number = await ready
        yield number
    finally:
        house.workspace.runner.stop_waiting()
        serving.cancel()
        await asyncio.sleep(0)
        serving.cancel()  # a second time, so that it does not wait for those who are still there
        await asyncio.wait({serving}, timeout=WITHIN)


@asynccontextmanager
async def ports(**options: Any) -> AsyncGenerator[Port]:
    """Open a host with its relay, and its port."""
    async with inn(**options) as house, listening_port(house) as number:
        yield Port(house, number)


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
