"""Two sessions elsewhere, each on a socket of its own: one sends, one receives, for `bench_relay`.

Usage: relay_pair.py URL TOKEN TOKEN MESSAGES IN_FLIGHT
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

from serai.contract import DeliveryState, MessageContext, RelayMessage
from serai.relay.harness import define_harness
from serai.relay.sdk import Relay


async def main(url: str, left: str, right: str, count: int, in_flight: int) -> None:
    """Print how many seconds all of them took."""

    async def take(message: RelayMessage, context: MessageContext) -> None:
        """It has it."""

    async with await Relay.connect(url, left) as sender, await Relay.connect(url, right) as receiver:
        await sender.register(define_harness("left", take))
        await receiver.register(define_harness("right", take))

        async def speak(numbers: list[int]) -> None:
            for number in numbers:
                sent = await sender.send("@right", f"Please look at {number}.", wait_for="delivered")
                if sent.deliveries[0].state != DeliveryState.DELIVERED:
                    raise RuntimeError(f"not delivered: {sent.deliveries[0]}")

        await speak([0])
        start = time.perf_counter()
        await asyncio.gather(*(speak(list(range(n, count, in_flight))) for n in range(in_flight)))
        print(json.dumps({"seconds": time.perf_counter() - start}))


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])))
