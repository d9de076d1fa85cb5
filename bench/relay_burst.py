"""50,000 messages to four sessions at once, for `bench_relay`: prints how much memory they took at the most.

Usage: relay_burst.py FOLDER
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from bench_relay import IN_FLIGHT, house
from serai.contract import WaitFor
from serai.serve.run import settle

MESSAGES = 50_000


async def main(folder: Path) -> None:
    """Send, wait until all is delivered, and compare."""
    async with house(folder) as built:
        await built.talk(IN_FLIGHT)
        built.store.batches.clear()
        settle()
        before = _most()
        built.store.records = False
        await built.talk(MESSAGES, 1_000, WaitFor.ACCEPTED)
        while await built.store.relay("counts_of_waiting"):  # noqa: ASYNC110 - a benchmark looks from outside, now and then
            await asyncio.sleep(0.1)
        most = _most()
        found = len(await built.store.relay("list_deliveries", None, "delivered", 1 << 62, 1 << 62))
        if found != MESSAGES + IN_FLIGHT:
            raise RuntimeError(f"{found} were delivered")
        print(json.dumps({"mb": (most - before) / 1e6}))


def _most() -> int:
    """The most memory that this process had, in bytes. What `getrusage` says is partly its parent's."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


asyncio.run(main(Path(sys.argv[1])))
