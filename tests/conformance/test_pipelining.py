"""Over the port: a client that sends much without waiting for any of it."""

from __future__ import annotations

import asyncio

import pytest

from conformance.client import Client, connecting
from conformance.conftest import say
from hosts import WITHIN, House

MB = 1_000_000


@pytest.mark.parametrize("size", [300, 14 * MB])
async def test_all_of_it_happens_also_when_the_client_leaves_at_once(
    house: House, client: Client, session: str, size: int
) -> None:
    await say(client, session, "ask text")
    await client.notify("unsubscribe", channel=session)
    count = min(1000, 42 * MB // size)
    async with connecting(house.url, "other") as other:
        await other.initialize()
        for number in range(1, count + 1):
            message = {"text": f"{number} {'x' * size}"}
            await other.dispatch(session, "pendingMessageSet", kind="queued", id="q", userMessage=message)
    one = house.host.sessions.get(session)
    assert one is not None
    async with asyncio.timeout(WITHIN):
        while not any(
            waits.user_message.text.startswith(f"{count} ") for waits in one.live.head.queued_messages or ()
        ):
            await house.host.journal.committed()
    assert await client.request("ping") is None
