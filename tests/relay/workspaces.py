"""A host with its relay, in the test's own event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

import msgspec
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosedError

from hosts import WITHIN
from serai.ahp import actions as a
from serai.ahp.commands import CreateSessionParams
from serai.ahp.types import UserMessage
from serai.config.settings import RelayPolicy
from serai.contract import DeliveryRecord, Role, SendResult
from serai.contract.relay_calls import read_params
from serai.harness.demo import DemoHarness
from serai.host.agents import HostedHarness
from serai.host.host import Host
from serai.host.session.session import Session
from serai.redact import Redactor
from serai.relay.links import HostEnd
from serai.relay.sdk import Relay
from serai.relay.tokens import Caller
from serai.relay.workspace import Workspace
from serai.store.contract import Store
from serai.store.memory import MemoryStore


class Nobody:
    """A subscriber that is told nothing of interest."""

    def publish(self, frames: bytes) -> None:
        del frames


async def until(host: Host, holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(WITHIN):
        while not holds():
            await host.journal.committed()
            await asyncio.sleep(0)


@dataclass
class Inn:
    """A host and its relay, and those who call it."""

    host: Host
    workspace: Workspace
    store: Store

    async def call(self, method: str, caller: Caller | None = None, **params: Any) -> Any:
        """Call a method, by default as the owner."""
        read = read_params(method, msgspec.json.decode(msgspec.json.encode(params)))
        async with asyncio.timeout(WITHIN):
            return await self.workspace.call(caller or Caller(Role.OWNER), method, read)

    def agent(self, handle: str) -> Caller:
        """An agent as a caller."""
        return Caller(Role.AGENT, self.workspace.identities.get(handle))

    async def send(
        self, to: str | list[str], text: str, caller: Caller | None = None, **more: Any
    ) -> SendResult:
        """Send a message."""
        return await self.call("messages.send", caller, to=to, text=text, **more)

    async def delivery(self, delivery_id: str) -> DeliveryRecord:
        """How far a delivery has come."""
        return await self.call("deliveries.get", deliveryId=delivery_id)

    async def session(self, name: str, provider: str = "demo") -> Session:
        """A new session, ready."""
        params = CreateSessionParams(channel=f"ahp-session:/{name}", provider=provider)
        session = await self.host.create(params, "client")
        async with asyncio.timeout(WITHIN):
            await session.ready()
        return session

    def say(self, session: Session, text: str, turn_id: str = "said") -> None:
        """A person says something in a session, over AHP."""
        action = a.SessionTurnStartedAction(turn_id=turn_id, user_message=UserMessage(text=text))
        session.dispatch(action, a.ActionOrigin(client_id="client", client_seq=1), Nobody())

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait until something holds."""
        await until(self.host, holds)

    async def final(self, delivery_id: str) -> DeliveryRecord:
        """A delivery once it is final."""
        async with asyncio.timeout(WITHIN):
            while (record := await self.delivery(delivery_id)).is_open:  # noqa: ASYNC110 - each look is a read
                await asyncio.sleep(0)
        return record


@asynccontextmanager
async def inn(
    *,
    store: Store | None = None,
    harnesses: Iterable[HostedHarness] = (),
    policy: RelayPolicy | None = None,
    redactor: Redactor | None = None,
    now: Callable[[], int] | None = None,
) -> AsyncGenerator[Inn]:
    """Open a host with a demo agent and its relay, for a person called alice."""
    store = store or MemoryStore()
    clock: dict[str, Any] = {"now": now} if now else {}
    host = Host(
        store,
        [DemoHarness(pace="instant"), *harnesses],
        lambda frame: frame,
        redactor=redactor,
        **clock,
    )
    await host.open()
    workspace = Workspace(host, policy or RelayPolicy(me="alice"))
    await workspace.open()
    try:
        yield Inn(host, workspace, store)
    finally:
        await workspace.close()
        await host.close()


class LocalEnd(HostEnd):
    """The relay's end for a program in this process, and the WebSocket of the program."""

    def __init__(self, workspace: Workspace, caller: Caller) -> None:
        self._frames: asyncio.Queue[bytes | None] = asyncio.Queue()
        super().__init__(workspace, self._frames.put_nowait, self._frames.put_nowait)
        self._caller = caller._replace(link=self)

    def caller(self) -> Caller:
        return self._caller

    async def send(self, frame: bytes, *, text: bool) -> None:  # noqa: ARG002 - as a WebSocket has it
        if self.lost is not None:
            raise ConnectionClosedError(None, None)
        self.received(frame)

    async def recv(self, *, decode: bool) -> bytes:  # noqa: ARG002 - the same
        frame = await self._frames.get()
        if frame is None:
            raise ConnectionClosedError(None, None)
        return frame

    async def close(self) -> None:
        if self.lost is None:
            self.disconnected()
            self._frames.put_nowait(None)


def relay_of(workspace: Workspace, caller: Caller) -> Relay:
    """The relay for a program in this process."""
    return Relay(cast("ClientConnection", LocalEnd(workspace, caller)))
