"""Several clients, cut off and put through at random: all settle, and all end with what the host has."""

from __future__ import annotations

import asyncio
import contextlib
from random import Random
from typing import Any

import pytest

from client.hosts import House, soon
from serai.ahp.types import SessionState
from serai.ahp.wire import to_json
from serai.client import Rejected, SessionClient
from serai.host.turn import Turn


async def agent(turn: Turn) -> None:
    for word in turn.message.text.split():
        await turn.say(word + " ")
        await asyncio.sleep(0)
    call = await turn.tool("bash", "Run", message="ls")
    if call.approved:
        await call.done("Ran")
    await turn.say("done")


async def something(session: SessionClient, random: Random, number: int) -> None:
    """One thing that a client does; whether the host allows it is the host's affair."""
    turn_id = session.active_turn_id
    match random.randrange(7):
        case 0:
            await session.set_title(f"title {number}")
        case 1:
            await session.queue(f"message {number}")
        case 2:
            turn = await session.prompt(f"some words {number}")
            turn.close()
        case 3:
            await session.approve(f"{turn_id}-call-1")
        case 4:
            await session.deny(f"{turn_id}-call-1")
        case 5:
            await session.cancel()
        case _:
            await session.archive(archived=bool(number % 2))


async def disturb(house: House, sessions: list[SessionClient], random: Random) -> None:
    """Let clients do things while connections break and the host is restarted, until all has settled."""
    tasks: list[asyncio.Task[None]] = []
    for number in range(60):
        which = random.random()
        if which < 0.15 and house.links:
            random.choice(house.links).transport.cut()
        elif which < 0.18:
            await soon(house.restart())
        else:
            tasks.append(asyncio.ensure_future(something(random.choice(sessions), random, number)))
        for _ in range(random.randrange(4)):
            await asyncio.sleep(0)
    for outcome in await soon(asyncio.gather(*tasks, return_exceptions=True)):
        assert outcome is None or isinstance(outcome, Rejected), outcome


@pytest.mark.parametrize("seed", range(4))
async def test_all_clients_end_with_the_hosts_state(seed: int) -> None:
    random = Random(seed)
    async with House(agent=agent) as house, house.client() as one, house.client() as two:
        session = await soon(one.create_session())
        sessions = [session, await soon(two.open_session(session.uri))]
        await disturb(house, sessions, random)
        with contextlib.suppress(Rejected):
            await soon(session.cancel())
        await soon(session.set_title("the end"))
        for each in sessions:
            await soon(each.until(lambda state: state.summary.title == "the end"))
        kept = await soon(house.host.sessions.bring(session.uri))
        assert kept is not None
        for each in sessions:
            # A turn that the queue has begun meanwhile may go on for a moment, until it asks.
            await soon(each.until(lambda state: shown(state) == shown(kept.live.snapshot())))


def shown(state: SessionState) -> dict[str, Any]:
    """A state without its time: clients and host have clocks of their own."""
    told: dict[str, Any] = to_json(state)
    return {**told, "summary": {**told["summary"], "modifiedAt": 0}}
