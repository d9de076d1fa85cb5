"""A loss of power: what was not synced is gone, all else is there."""

from __future__ import annotations

import asyncio
import json
import random
from functools import partial
from pathlib import Path
from typing import Any

from conformance.client import Client, connecting, timeless
from conformance.conftest import ROOT
from crash.disks import SESSION, house_on, new_disk, ready_session
from hosts import KEY, housing
from serai.ahp.client import ClientState
from serai.host.ledger import RELAY
from serai.store.contract import StoredRow
from serai.store.sqlite.store import SqliteStore

CHEAP = {"session/delta", "session/reasoning", "session/toolCallDelta"}
"""What may be committed without a sync, where nothing else is."""


async def kept_rows(path: Path) -> list[StoredRow]:
    store = SqliteStore(path, KEY)
    await store.open()
    try:
        channels = [ROOT, SESSION, RELAY]
        rows = await store.replay(channels, after=0, until=1 << 60, max_rows=1 << 30, max_bytes=1 << 40)
    finally:
        await store.close()
    assert rows is not None
    return rows


def check(rows: list[StoredRow], heard: list[dict[str, Any]]) -> None:
    """All up to the last durable envelope is there, as it was heard; of the rest there is a beginning."""
    kept = {row.seq: row for row in rows}
    durable = max((e["serverSeq"] for e in heard if e["action"]["type"] not in CHEAP), default=0)
    last = rows[-1].seq if rows else 0
    assert last >= durable
    for envelope in heard:
        if envelope["serverSeq"] <= last:
            row = kept[envelope["serverSeq"]]
            assert json.loads(row.action) == envelope["action"]
            assert row.channel == envelope["channel"]


async def talk(client: Client, number: int) -> None:
    """A turn with text, a confirmation and an answer."""
    turn = f"t{number}"
    message = {"text": "write 200; tool ls; think; ask text; write 200"}
    await client.dispatch(SESSION, "turnStarted", turnId=turn, userMessage=message)
    call = (await client.hear("toolCallReady", turnId=turn))["action"]["toolCallId"]
    await client.dispatch(
        SESSION,
        "toolCallConfirmed",
        turnId=turn,
        toolCallId=call,
        approved=True,
        confirmed="user-action",
    )
    request = (await client.hear("inputRequested"))["action"]["request"]["id"]
    answers = {"name": {"state": "submitted", "value": {"kind": "text", "value": "Nour"}}}
    await client.dispatch(SESSION, "inputCompleted", requestId=request, response="accept", answers=answers)
    await client.hear("turnComplete", turnId=turn)


def has_come(client: Client, wanted: int, talking: asyncio.Task[None]) -> bool:
    return len(client.envelopes) >= wanted or talking.done()


async def test_what_was_durable_is_there_after_a_loss_of_power(tmp_path: Path) -> None:
    disk, chance = new_disk(), random.Random()
    seed = chance.randrange(1 << 32)
    print(f"seed {seed}")  # noqa: T201 - it is shown when the test fails
    chance.seed(seed)
    path = tmp_path / "history.db"
    losses: list[tuple[Path, list[dict[str, Any]], ClientState, int]] = []
    async with house_on(disk, path) as house, connecting(house.url) as client:
        await client.initialize(ROOT)
        await ready_session(client)
        for number in range(4):
            talking = asyncio.create_task(talk(client, number))
            talking.add_done_callback(lambda _: client._news.set())
            for _ in range(4):
                wanted = len(client.envelopes) + chance.randrange(1, 25)
                await client.until(partial(has_come, client, wanted, talking))
                # Whatever the client has now, it had when the power went.
                heard = list(client.envelopes)
                after = tmp_path / f"after-{len(losses)}.db"
                disk.pull_the_plug(path, after, chance)
                losses.append((after, heard, client.state, client.state.last_seen_server_seq))
            await talking
    assert any(any(e["action"]["type"] in CHEAP for e in heard) for _, heard, _, _ in losses)
    for after, heard, _, _ in losses:
        check(await kept_rows(after), heard)
    for after, heard, _, last_seen in losses[::4]:
        await recover(after, heard, last_seen)


async def recover(path: Path, heard: list[dict[str, Any]], last_seen: int) -> None:
    """A host on what the loss left: whoever comes back is told what there is, and no number comes twice."""
    async with (
        housing(lambda: SqliteStore(path, KEY)) as house,
        connecting(house.url, "one") as again,
        connecting(house.url, "fresh") as fresh,
    ):
        await fresh.initialize(SESSION)
        result = await again.reconnect(lastSeenServerSeq=last_seen, subscriptions=[SESSION])
        if result["type"] == "snapshot":
            [snapshot] = result["snapshots"]
            known = {**snapshot["state"], "summary": {**snapshot["state"]["summary"]}}
            known["summary"].pop("modifiedAt")
            assert known == timeless(fresh.session(SESSION))
        state = fresh.session(SESSION)
        assert state.active_turn is None
        assert all(turn.error is None or turn.error.error_type == "interrupted" for turn in state.turns)
        seq = await fresh.dispatch(SESSION, "titleChanged", title="after the loss")
        echo = await fresh.hear("titleChanged", origin={"clientId": "fresh", "clientSeq": seq})
        assert echo["serverSeq"] > max((e["serverSeq"] for e in heard), default=0)
        new = [e["serverSeq"] for e in again.envelopes]
        assert not {e["serverSeq"] for e in heard if e["serverSeq"] > last_seen} & set(new)


async def test_text_that_was_not_synced_may_be_lost_and_the_client_is_told(tmp_path: Path) -> None:
    disk = new_disk()
    path, after = tmp_path / "history.db", tmp_path / "after.db"

    class Worst(random.Random):
        """All that was not synced is lost."""

        def random(self) -> float:
            return 1.0

    async with house_on(disk, path) as house, connecting(house.url) as client:
        await client.initialize(ROOT)
        await ready_session(client)
        message = {"text": "work 60 every 2"}
        await client.dispatch(SESSION, "turnStarted", turnId="t", userMessage=message)
        while True:
            await client.hear("delta")
            heard = list(client.envelopes)
            disk.pull_the_plug(path, after, Worst())
            rows = await kept_rows(after)
            if rows[-1].seq < heard[-1]["serverSeq"]:
                break
        last_seen = heard[-1]["serverSeq"]
    check(rows, heard)
    async with housing(lambda: SqliteStore(after, KEY)) as house, connecting(house.url) as again:
        result = await again.reconnect(lastSeenServerSeq=last_seen, subscriptions=[SESSION])
        assert result["type"] == "snapshot", "what the client has seen is lost, so that a replay would not do"
