"""Who is let in at all, and what a host says over HTTP."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from conformance.client import Client, connecting
from conformance.conftest import new_session, over, say
from hosts import WITHIN, House, deliveries, housing, outcome, statuses
from requirements import proves
from serai.harness.callback import CallbackHarness
from serai.host.turn import Turn

# -- the one door into a session ---------------------------------------------------------------------------


async def test_every_message_that_enters_has_its_record(house: House, client: Client, session: str) -> None:
    await say(client, session, "hello")
    await client.dispatch(
        session, "pendingMessageSet", kind="queued", id="q", userMessage={"text": "work 600 every 1"}
    )
    await client.hear("delta")
    await client.dispatch(session, "pendingMessageSet", kind="steering", id="s", userMessage={"text": "stop"})
    await client.until(lambda: len(client.session(session).turns) == 2)
    found = await deliveries(house.host, session)
    assert [statuses(record) for record in found] == [
        ["delivered"],
        ["accepted", "delivered"],
        ["accepted", "delivered"],
    ]
    assert [record.receipts[0].receipt.metadata for record in found[1:]] == [
        {"heldBy": "host", "waitsFor": "idle"},
        {"heldBy": "host", "waitsFor": "next-tool-call"},
    ]
    assert [record.mode for record in found] == ["immediate", "on-idle", "next-tool-call"]
    assert all(record.evidence["evidence"] for record in found)
    hello, work = client.session(session).turns
    answers = [record.answer for record in found if record.answer is not None]
    assert [answer.turn_id for answer in answers] == [hello.id, work.id, work.id]


async def test_a_message_that_waits_is_accepted_and_ends_with_a_receipt_whatever_becomes_of_it(
    house: House, client: Client, session: str
) -> None:
    await client.dispatch(session, "turnStarted", turnId="t", userMessage={"text": "work 600 every 1"})
    await client.hear("turnStarted")
    for number, text in enumerate(["first", "second"]):
        await client.dispatch(
            session, "pendingMessageSet", kind="queued", id=f"q{number}", userMessage={"text": text}
        )
    await client.dispatch(
        session, "pendingMessageSet", kind="queued", id="q0", userMessage={"text": "changed"}
    )
    await client.dispatch(session, "pendingMessageRemoved", kind="queued", id="q1")
    await client.hear("pendingMessageRemoved")
    ends = [outcome(record) for record in await deliveries(house.host, session)]
    assert ends == ["delivered", "replaced", "cancelled", "accepted"]
    await client.request("disposeSession", channel=session)
    assert outcome((await deliveries(house.host, session))[-1]) == "session_disposed"


class Stuck(CallbackHarness):
    """An agent in another process that is handed a message and never says whether it has it."""

    def __init__(self) -> None:
        async def answer(turn: Turn) -> None:
            await turn.say("never")

        super().__init__("stuck", answer)
        self.in_process = False
        self.reached = asyncio.Event()

    async def create(self, settings: Any, context: Any) -> Any:
        session = await super().create(settings, context)

        async def never(message: Any, context: Any) -> Any:
            del message, context
            self.reached.set()
            await asyncio.Event().wait()

        session.receive_message = never
        return session


@pytest.mark.parametrize("when", ["at once", "while it is handed over", "after the turn was cancelled"])
async def test_a_message_on_its_way_has_a_receipt_when_its_session_is_disposed_of(when: str) -> None:
    stuck = Stuck()
    async with housing(harnesses=[stuck]) as house, connecting(house.url) as client:
        await client.initialize()
        session = await new_session(client, provider="stuck")
        await client.dispatch(session, "turnStarted", turnId="t1", userMessage={"text": "hello"})
        if when != "at once":
            async with asyncio.timeout(WITHIN):
                await stuck.reached.wait()
        if when == "after the turn was cancelled":
            await client.dispatch(session, "turnCancelled", turnId="t1")
            await over(client, session)
        await client.request("disposeSession", session)
        [record] = await deliveries(house.host, session)
        assert (record.attempts, outcome(record)) == (1, "session_disposed")


async def test_a_turn_that_runs_ends_with_its_session_and_its_message_keeps_its_one_receipt(
    house: House, client: Client, session: str
) -> None:
    await client.dispatch(session, "turnStarted", turnId="t1", userMessage={"text": "work 600 every 1"})
    await client.hear("delta")
    await client.request("disposeSession", session)
    assert [statuses(record) for record in await deliveries(house.host, session)] == [["delivered"]]
    last = json.loads((await house.store.rows(session, 0))[-1].action)
    assert (last["type"], last["turnId"]) == ("session/error", "t1")
    assert last["error"]["errorType"] == "session_disposed"
    assert client.heard("error") == [], "who follows it hears that the session is gone"
    await client.note("root/sessionRemoved")
    await client.ping()
    assert client.notes[-1]["method"] == "root/sessionRemoved", "nothing is told of it afterwards"


@proves(
    "session:Tools-and-secrets/history-encrypted",
    "session:Validation-and-persistence/global-encrypted-database",
)
async def test_what_is_kept_is_encrypted_on_the_disk(house: House, client: Client, session: str) -> None:
    await say(client, session, "a very recognisable sentence")
    await client.close()
    path = house.store.path  # type: ignore[attr-defined]
    for file in path.parent.glob("history.db*"):
        data = file.read_bytes()
        for text in (b"recognisable", b"session/turnStarted", b"SQLite format", b"ahp-session"):
            assert text not in data
    async with connecting(house.url, "again") as again:
        await again.initialize()
        page = await again.request("fetchTurns", session)
        assert page["turns"][0]["userMessage"]["text"] == "a very recognisable sentence"
