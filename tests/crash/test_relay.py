"""A host that is killed while messages are on their way: each gets there once, in order, and is told of."""

from __future__ import annotations

import asyncio
import os
import random
import re
from collections import defaultdict
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from conformance.client import Client, connecting
from conformance.conftest import ROOT
from hosts import TOKEN, WITHIN, HostProcess, host_process
from requirements import proves
from serai.ahp.types import MarkdownResponsePart, SessionState, SystemNotificationResponsePart
from serai.contract import DeliveryMode, DeliveryRecord, DeliveryState
from serai.errors import SeraiError
from serai.relay.sdk import Relay

ROUNDS = 20 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 3
MESSAGES = 200
NAMES = ["one", "two", "three", "four"]
SESSIONS = [f"ahp-session:/{name}" for name in NAMES]
AGENTS = ["@demo", "@demo-2", "@demo-3", "@demo-4"]
ID = re.compile(r"\bmsg_\w+")


def letter(number: int, chance: random.Random) -> dict[str, Any]:
    """A message, in any mode; sent again it is the same one."""
    return {
        "to": AGENTS[number % 4],
        "text": chance.choice([f"note {number}", "write 300", "work 0.05 every 5"]),
        "mode": chance.choice([*DeliveryMode]).value,
        "priority": chance.choice(["normal", "normal", "urgent"]),
        "idempotencyKey": f"letter-{number}",
    }


@proves("delivery:Delivery/record-first", "delivery:WebSocket-Role/record-is-the-truth")
@proves(
    "delivery:Delivery-Runner/ack-fail-defer-durable", "delivery:Delivery-Context/duplicate-id-idempotent"
)
async def test_a_killed_host_loses_no_message_and_delivers_none_twice(tmp_path: Path) -> None:
    chance = random.Random()
    seed = chance.randrange(1 << 32)
    print(f"seed {seed}")  # noqa: T201 - it is shown when the test fails
    chance.seed(seed)
    letters = [letter(number, chance) for number in range(MESSAGES)]
    told: dict[str, str] = {}
    async with host_process(tmp_path) as host:
        async with connecting(host.url) as client:
            await client.initialize(ROOT)
            for session in SESSIONS:
                await client.request("createSession", session)
                await client.subscribe(session)
            await client.until(lambda: all(client.session(one).lifecycle == "ready" for one in SESSIONS))
        for number in range(ROUNDS):
            begins, ends = number * MESSAGES // ROUNDS, (number + 1) * MESSAGES // ROUNDS
            await send_and_kill(host, letters[begins:ends], told, chance)
            await host.start()
        async with AsyncExitStack() as stack:
            relay = await stack.enter_async_context(await Relay.connect(host.url, TOKEN))
            client = await stack.enter_async_context(connecting(host.url, "reader"))
            await client.initialize(ROOT)
            # Also those that were answered: nothing becomes of it.
            sent = await asyncio.gather(*(relay.call("messages.send", **one) for one in letters))
            for one, result in zip(letters, sent, strict=True):
                assert told.setdefault(one["idempotencyKey"], result.message.id) == result.message.id
            records = await come_to_an_end(relay, client)
            assert {one.message_id for one in records} == set(told.values())
            assert len(records) == MESSAGES
            for session, agent in zip(SESSIONS, AGENTS, strict=True):
                await client.subscribe(session)
                await client.until(lambda: client.session(session).active_turn is None)  # noqa: B023 - at once
                check(client.session(session), [one for one in records if one.agent == agent])


async def send_and_kill(
    host: HostProcess, letters: list[dict[str, Any]], told: dict[str, str], chance: random.Random
) -> None:
    """Send all at once, and kill the host when some of them, or none, were answered."""
    until = chance.randrange(len(letters))
    enough = asyncio.Event()
    answered = 0

    async def send(relay: Relay, one: dict[str, Any]) -> None:
        nonlocal answered
        try:
            sent = await relay.call("messages.send", **one)
        except SeraiError:
            return  # it was killed before it could answer
        told[one["idempotencyKey"]] = sent.message.id
        answered += 1
        if answered > until:
            enough.set()

    async with asyncio.timeout(WITHIN), await Relay.connect(host.url, TOKEN) as relay:
        sending = [asyncio.create_task(send(relay, one)) for one in letters]
        await enough.wait()
        await host.kill()
        await asyncio.gather(*sending)


async def come_to_an_end(relay: Relay, client: Client) -> list[DeliveryRecord]:
    """Flush what waits for someone until all is final."""
    async with asyncio.timeout(WITHIN):
        while True:
            listed = (await relay.call("deliveries.list", limit=500)).deliveries
            records = [one for one in listed if one.id.startswith("dlv_")]
            if not any(one.is_open for one in records):
                return records
            if all(one.state == DeliveryState.ACCEPTED for one in records if one.is_open):
                for agent in AGENTS:
                    await relay.call("deliveries.flush", agent=agent)
            await client.ping()


def entries(session: SessionState) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """In which turns each message was said, and in which answers one was heard that steers."""
    entered: defaultdict[str, list[str]] = defaultdict(list)
    steered: defaultdict[str, list[str]] = defaultdict(list)
    for turn in session.turns:
        parts = turn.response_parts
        notices = [str(one.content) for one in parts if isinstance(one, SystemNotificationResponsePart)]
        for line in "\n".join([turn.user_message.text, *notices]).splitlines():
            if line.startswith("[relay]"):
                entered[ID.findall(line)[0]].append(turn.id)
        said = "\n".join(one.content for one in parts if isinstance(one, MarkdownResponsePart))
        for found in ID.findall(said):
            steered[found].append(turn.id)
    return entered, steered


def check(session: SessionState, records: list[DeliveryRecord]) -> None:
    """Each message has entered the session once, where its record says, and in order."""
    assert len(records) == MESSAGES // 4
    entered, steered = entries(session)
    for record in records:
        assert record.state == DeliveryState.DELIVERED, record
        where = entered.get(record.message_id) or steered.get(record.message_id, [])
        assert where in ([record.evidence["turnId"]], []), "it entered twice, or elsewhere"
        # Of one that steered, the demo agent may have been stopped before it told.
        assert where or record.mode == DeliveryMode.NEXT_TOOL_CALL, "it entered nowhere"
    by_message = {record.message_id: record for record in records}
    for priority in ("normal", "urgent"):
        came = [by_message[one] for one in entered if by_message[one].priority == priority]
        in_order = [one.sequence for one in came if is_plain(one)]
        assert in_order == sorted(in_order)


def is_plain(record: DeliveryRecord) -> bool:
    """Whether a message has waited for idle from the beginning, and nobody has called for it."""
    is_on_idle = record.mode == DeliveryMode.ON_IDLE and record.requested_mode is None
    return is_on_idle and "flushed" not in record.metadata
