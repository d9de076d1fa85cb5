"""The events of a session whose host is killed at random moments: none is missing, none is another one."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import aclosing
from itertools import count
from pathlib import Path

from client.hosts import at_once
from hosts import TOKEN, WITHIN, HostProcess, host_process
from requirements import proves
from serai.client import connect
from serai.client.address import HostAddress
from serai.client.session_events import session_events
from serai.session.events import SessionEvent

ROUNDS = 4
SESSION = "ahp-session:/told"
TEXTS = ["write 20000", "think; tool ls; write 300; tool ls", "ask", "tool edit"]
"""The host is killed while the agent speaks, between calls, and while a question or an approval is open."""


async def read(
    host: HostProcess, heard: list[SessionEvent], is_enough: Callable[[SessionEvent], bool]
) -> None:
    """Take up the events where they ended."""
    after = heard[-1].sequence_number if heard else 0
    address = HostAddress(host.url, TOKEN)
    async with (
        asyncio.timeout(WITHIN),
        aclosing(session_events(address, SESSION, after, at_once)) as events,
    ):
        async for event in events:
            heard.append(event)
            if is_enough(event):
                return


def some(events: int, turn_id: str) -> Callable[[SessionEvent], bool]:
    """So many, or fewer when nothing more comes by itself."""
    left = count(events - 1, -1)

    def is_enough(event: SessionEvent) -> bool:
        is_end = event.type == "session:turn_completed" and event.data["turnId"] == turn_id
        return (
            next(left) <= 0
            or is_end
            or event.type in {"session:question_asked", "session:approval_requested"}
        )

    return is_enough


@proves("session:Lifecycle/gaps-detectable", "session:Events/sequence-numbers")
async def test_event_numbers_are_dense_over_kills(tmp_path: Path) -> None:
    chance = random.Random()
    seed = chance.randrange(1 << 32)
    print(f"seed {seed}")  # noqa: T201 - it is shown when the test fails
    chance.seed(seed)
    heard: list[SessionEvent] = []
    async with host_process(tmp_path) as host:
        for number in range(ROUNDS):
            async with connect(host.url, TOKEN) as client, asyncio.timeout(WITHIN):
                if number == 0:
                    session = await client.create_session("demo", uri=SESSION, config={"approve": "always"})
                else:
                    session = await client.open_session(SESSION)
                await session.begin_turn(TEXTS[number % len(TEXTS)], turn_id=f"t{number}")
                await read(host, heard, some(chance.randrange(1, 40), f"t{number}"))
                await host.kill()
            await host.start()
        last = heard[-1].sequence_number
        again: list[SessionEvent] = []
        await read(host, again, lambda event: event.sequence_number == last)
        assert again == heard
    assert [event.sequence_number for event in heard] == list(range(1, last + 1))
