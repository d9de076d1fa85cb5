"""A host that is killed at random moments of streaming, again and again."""

from __future__ import annotations

import json
import random
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from conformance.client import Client, Refused, connecting, timeless
from conformance.conftest import ROOT
from hosts import KEY, HostProcess, host_process
from serai.ahp.client import ClientState
from serai.ahp.types import SessionState
from serai.store.sqlite.store import SqliteStore

ROUNDS = 8
SESSIONS = [f"ahp-session:/{name}" for name in ("writes", "works", "asks", "confirms")]
TEXTS = ["write 20000", "work 60 every 1", "write 50; ask", "think; write 300; tool ls"]


class Witness:
    """A client over all of its connections: what it has heard, by number."""

    def __init__(self, name: str) -> None:
        self.state = ClientState(name)
        self.heard: dict[int, dict[str, Any]] = {}
        self.highest = 0
        self.has_come = False

    def testify(self, client: Client) -> None:
        """Remember what came over a connection that is gone."""
        for envelope in client.envelopes:
            seq = envelope["serverSeq"]
            assert self.heard.setdefault(seq, envelope) == envelope, "a number was used twice"


async def come_back(stack: AsyncExitStack, host: HostProcess, witness: Witness) -> Client:
    client = await stack.enter_async_context(connecting(host.url, witness.state))
    if witness.has_come:  # also when it was killed before it heard anything
        result = await client.reconnect()
        assert result.get("missing", []) == []
    else:
        await client.initialize(ROOT)
        witness.has_come = True
    return client


async def start_turns(client: Client, number: int) -> None:
    for session, text in zip(SESSIONS, TEXTS, strict=True):
        message = {"text": text}
        await client.dispatch(session, "turnStarted", turnId=f"t{number}", userMessage=message)
        await client.dispatch(
            session, "pendingMessageSet", kind="queued", id=f"q{number}", userMessage={"text": "later"}
        )


def check_rest(state: SessionState) -> None:
    """Nothing runs after a restart, and what was running has said so."""
    assert state.active_turn is None
    assert state.input_requests is None
    assert state.steering_message is None
    for turn in state.turns:
        if turn.state == "error":
            assert turn.error is not None
            assert turn.error.error_type == "interrupted"
    if state.queued_messages:
        assert (state.meta or {}).get("serai.queueHeld") == "restart"


async def clear_queues(client: Client) -> None:
    for session in SESSIONS:
        for message in client.session(session).queued_messages or []:
            await client.dispatch(session, "pendingMessageRemoved", kind="queued", id=message.id)
    await client.until(lambda: not any(client.session(session).queued_messages for session in SESSIONS))


async def test_nothing_that_anyone_has_seen_is_lost(tmp_path: Path) -> None:
    chance = random.Random()
    seed = chance.randrange(1 << 32)
    print(f"seed {seed}")  # noqa: T201 - it is shown when the test fails
    chance.seed(seed)
    witnesses = [Witness("one"), Witness("other")]
    created: set[str] = set()
    async with host_process(tmp_path) as host:
        for number in range(ROUNDS):
            await one_round(host, witnesses, created, chance, number)
            if number < ROUNDS - 1:
                await host.start()
    assert sum(len(witness.heard) for witness in witnesses) > ROUNDS * 20
    await check_store(tmp_path / "history.db", witnesses)


async def one_round(
    host: HostProcess, witnesses: list[Witness], created: set[str], chance: random.Random, number: int
) -> None:
    async with AsyncExitStack() as stack:
        clients = [await come_back(stack, host, witness) for witness in witnesses]
        if number == 0:
            for session in SESSIONS:
                await clients[0].request("createSession", session)
                for client in clients:
                    await client.subscribe(session)
            await clients[0].until(
                lambda: all(clients[0].session(session).lifecycle == "ready" for session in SESSIONS)
            )
        else:
            await compare_with_fresh(stack, host, clients, created)
        await clear_queues(clients[0])
        begun = [len(client.envelopes) for client in clients]
        await start_turns(clients[0], number)
        extra = f"ahp-session:/extra-{number}"
        answer = await clients[1].ask("createSession", extra)
        watched = chance.randrange(2)
        wanted = begun[watched] + chance.randrange(60)
        await clients[watched].until(lambda: len(clients[watched].envelopes) >= wanted)
        await host.kill()
        for client, witness in zip(clients, witnesses, strict=True):
            await client.closed()
            witness.testify(client)
            first_new = min((e["serverSeq"] for e in client.envelopes), default=witness.highest + 1)
            assert first_new > witness.highest or client.envelopes[0]["serverSeq"] in witness.heard
            witness.highest = max(witness.heard, default=0)
        if answer.done() and not answer.cancelled() and not isinstance(answer.exception(), Refused):
            created.add(extra)


async def compare_with_fresh(
    stack: AsyncExitStack, host: HostProcess, clients: list[Client], created: set[str]
) -> None:
    """What is known after `reconnect` is what a newcomer is told."""
    fresh = await stack.enter_async_context(connecting(host.url, "fresh"))
    await fresh.initialize(ROOT, *SESSIONS)
    for client in clients:
        await client.ping()
    for session in SESSIONS:
        check_rest(fresh.session(session))
        for client in clients:
            assert timeless(client.session(session)) == timeless(fresh.session(session))
    for client in clients:
        assert client.root == fresh.root
    listed = {item["resource"] for item in (await fresh.request("listSessions"))["items"]}
    assert created <= listed


async def check_store(path: Path, witnesses: list[Witness]) -> None:
    """Every envelope that anyone received is a row with the same number."""
    store = SqliteStore(path, KEY)
    await store.open()
    try:
        rows = await store.replay(
            [ROOT, *SESSIONS], after=0, until=1 << 60, max_rows=1 << 30, max_bytes=1 << 40
        )
        assert rows is not None
        kept = {row.seq: row for row in rows}
        assert len(kept) == len(rows)
        for witness in witnesses:
            for seq, envelope in witness.heard.items():
                if "rejectionReason" in envelope:
                    assert seq not in kept
                    continue
                row = kept[seq]
                assert row.channel == envelope["channel"]
                assert json.loads(row.action) == envelope["action"]
                assert (json.loads(row.origin) if row.origin else None) == envelope.get("origin")
        assert await store.check(full=True) == []
    finally:
        await store.close()
    both = witnesses[0].heard.keys() & witnesses[1].heard.keys()
    assert all(witnesses[0].heard[seq] == witnesses[1].heard[seq] for seq in both)


async def test_a_stop_on_request_loses_nothing_either(tmp_path: Path) -> None:
    async with host_process(tmp_path) as host:
        async with connecting(host.url) as client:
            await client.initialize(ROOT)
            await client.request("createSession", SESSIONS[0])
            await client.subscribe(SESSIONS[0])
            await client.until(lambda: client.session(SESSIONS[0]).lifecycle == "ready")
            message = {"text": "write 20000"}
            await client.dispatch(SESSIONS[0], "turnStarted", turnId="t", userMessage=message)
            await client.hear("delta")
            assert await host.stop() == 0
            assert await client.closed() == 1001
        await host.start()
        async with connecting(host.url, client.state) as again:
            assert (await again.reconnect())["type"] == "replay"
            async with connecting(host.url, "fresh") as fresh:
                await fresh.initialize(SESSIONS[0])
                assert timeless(again.session(SESSIONS[0])) == timeless(fresh.session(SESSIONS[0]))
                check_rest(fresh.session(SESSIONS[0]))


async def test_a_message_that_steers_and_did_not_get_there_is_the_next_one(tmp_path: Path) -> None:
    session, text = SESSIONS[2], "after all"
    async with host_process(tmp_path) as host:
        async with connecting(host.url) as client:
            await client.initialize(ROOT)
            await client.request("createSession", session)
            await client.subscribe(session)
            await client.until(lambda: client.session(session).lifecycle == "ready")
            await client.dispatch(session, "turnStarted", turnId="t", userMessage={"text": "ask"})
            await client.until(lambda: client.session(session).input_requests)
            await client.dispatch(
                session, "pendingMessageSet", kind="steering", id="s", userMessage={"text": text}
            )
            await client.hear("pendingMessageSet", id="s")
            await host.kill()
            await client.closed()
        await host.start()
        async with connecting(host.url, client.state) as again:
            await again.reconnect()
            await again.ping()
            state = again.session(session)
            check_rest(state)
            assert [message.user_message.text for message in state.queued_messages or ()] == [text]
            await again.dispatch(session, "turnStarted", turnId="t2", userMessage={"text": "hello"})
            await again.until(lambda: len(again.session(session).turns) == 3)
            assert [turn.user_message.text for turn in again.session(session).turns] == ["ask", "hello", text]
