"""Hosts and adapters that are killed between handing over and the receipt: nothing lost, nothing twice."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

from hosts import TOKEN, WITHIN, HostProcess, host_process
from requirements import proves
from serai.contract import DeliveryState, MessageContext, RelayMessage
from serai.relay.harness import (
    FunctionSession,
    Registration,
    define_harness,
    stay_registered,
)
from serai.relay.sdk import Relay

MESSAGES, ROUNDS = 200, 5


class Ledger:
    """A session that writes down what it has shown, as an idempotent adapter does."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.ids: set[str] = set()
        self.repeats = 0
        self.began = asyncio.Event()
        self.dice = random.Random(5)
        self.sticks = 0.05

    def session(self) -> FunctionSession:
        return define_harness("worker", self.take)

    async def take(self, message: RelayMessage, context: MessageContext) -> None:
        if context.id in self.ids:
            self.repeats += 1
            return
        self.ids.add(context.id)
        self.shown.append(message.text)
        is_first = not self.began.is_set()
        self.began.set()
        if is_first or self.dice.random() < self.sticks:
            await asyncio.Event().wait()  # it is shown, and there is no receipt until someone is killed


class Staying:
    """An adapter that stays registered until it is killed, and then knows only what is written down."""

    def __init__(self, ledger: Ledger, host: HostProcess) -> None:
        self._ledger, self._host = ledger, host
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self.registered: asyncio.Queue[Registration] = asyncio.Queue()
        session = self._ledger.session()
        self._task = asyncio.create_task(
            stay_registered(session, self._host.url, TOKEN, registered=self.registered.put_nowait)
        )

    async def kill(self) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.wait({self._task})


async def all_delivered(relay: Relay, ids: list[str]) -> None:
    async with asyncio.timeout(WITHIN):
        for delivery_id in ids:
            while (record := await relay.delivery(delivery_id)).state != DeliveryState.DELIVERED:
                assert record.is_open, record
                await asyncio.sleep(0.01)


@proves(
    "delivery:Reliability-Rules/ids-are-idempotency-keys",
    "delivery:WebSocket-Role/record-is-the-truth",
)
async def test_a_killed_host_and_a_killed_adapter_lose_nothing_and_show_nothing_twice(tmp_path: Path) -> None:
    ledger = Ledger()
    ids: list[str] = []
    async with host_process(tmp_path) as host:
        adapter = Staying(ledger, host)
        adapter.start()
        sent = 0
        for _round in range(ROUNDS):
            relay = await Relay.connect(host.url, TOKEN)
            if not sent:
                await adapter.registered.get()
            until = min(MESSAGES, sent + MESSAGES // ROUNDS)
            while sent < until:
                key = f"key-{sent}"
                result = await relay.send("@worker", f"note {sent}", idempotency_key=key)
                ids.append(result.deliveries[0].id)
                sent += 1
                await asyncio.wait_for(ledger.began.wait(), WITHIN)
                if ledger.dice.random() < 0.05:
                    await adapter.kill()
                    adapter.start()
            await host.kill()
            await adapter.kill()
            await relay.close()
            await host.start()
            adapter = Staying(ledger, host)
            adapter.start()
        ledger.sticks = 0
        await adapter.kill()
        adapter.start()
        async with await Relay.connect(host.url, TOKEN) as relay:
            await all_delivered(relay, ids)
        await adapter.kill()
    assert ledger.repeats > 0
    assert ledger.shown == [f"note {n}" for n in range(MESSAGES)]


async def test_what_was_done_while_the_host_was_down_is_not_done_again(tmp_path: Path) -> None:
    working, going = asyncio.Event(), asyncio.Event()
    calls: list[str] = []

    async def slow(message: RelayMessage, context: MessageContext) -> None:
        calls.append(f"{message.text} {context.id}")
        working.set()
        await going.wait()

    registration = Registration(define_harness("worker", slow), stays=True)
    async with host_process(tmp_path) as host:
        first = await Relay.connect(host.url, TOKEN)
        await registration.begin(first)
        [record] = (await first.send("@worker", "hello")).deliveries
        await working.wait()
        await host.kill()
        await first.close()
        going.set()
        await host.start()
        async with await Relay.connect(host.url, TOKEN) as again:
            kept = await again.delivery(record.id)
            assert (kept.state, kept.error) == (DeliveryState.DEFERRED, "the host was stopped")
            await registration.begin(again)
            await all_delivered(again, [record.id])
    assert calls == [f"hello {record.id}"]
