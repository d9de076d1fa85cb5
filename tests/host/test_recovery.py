"""What a host does with what it finds after it was killed."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from serai.ahp import actions as a
from serai.ahp.commands import CreateSessionParams
from serai.ahp.types import ModelSelection, UserMessage
from serai.harness.callback import STEERABLE, CallbackHarness
from serai.host.host import Host
from serai.host.session.deliveries import deliveries_channel
from serai.host.session.recovery import unsettled
from serai.host.session.turns import HELD
from serai.host.settings import HostSettings
from serai.host.turn import Turn
from serai.journal.subscriptions import Subscriber
from serai.store.contract import StoredRow
from serai.store.memory import MemoryStore

SESSION = "ahp-session:/1"
WITHIN = 30.0


class Nobody(Subscriber):
    def publish(self, frames: bytes) -> None:
        del frames


def record(kind: str, delivery: str) -> StoredRow:
    return StoredRow(1, "c", msgspec.json.encode({"type": kind, "deliveryId": delivery}), None)


def test_a_delivery_without_a_receipt_is_unsettled() -> None:
    rows = [
        record("delivery.created", "a"),
        record("delivery.created", "b"),
        record("delivery.handing", "a"),
        record("delivery.delivered", "b"),
    ]
    assert unsettled(rows).deliveries == ["a"]


async def test_a_message_being_handed_over_gets_its_receipt_and_a_deferred_choice_holds() -> None:
    store = MemoryStore()
    reached = asyncio.Event()

    class Stuck(CallbackHarness):
        async def create(self, settings: Any, context: Any) -> Any:
            session = await super().create(settings, context)

            async def never(message: Any, context: Any) -> Any:
                del message, context
                reached.set()
                await asyncio.Event().wait()

            session.receive_message = never
            return session

    async def answer(turn: Turn) -> None:
        await turn.say("never")

    host = Host(store, [Stuck("stuck", answer)], lambda message: message)
    await host.open()
    session = await host.create(CreateSessionParams(channel=SESSION, provider="stuck"), "c")
    async with asyncio.timeout(WITHIN):
        while session.live.head.lifecycle != "ready":
            await host.journal.committed()
        start = a.SessionTurnStartedAction(turn_id="t", user_message=UserMessage(text="hello"))
        session.dispatch(start, a.ActionOrigin(client_id="c", client_seq=1), Nobody())
        await reached.wait()
        other = a.SessionModelChangedAction(model=ModelSelection(id="large"))
        session.dispatch(other, a.ActionOrigin(client_id="c", client_seq=2), Nobody())
        await host.journal.committed()
        assert session.live.head.summary.model is None
    store.crash()

    again = Host(store, [Stuck("stuck", answer)], lambda message: message)
    await again.open()
    recovered = await again.sessions.bring(SESSION)
    async with asyncio.timeout(WITHIN):
        await again.journal.committed()
    records = [msgspec.json.decode(row.action) for row in await store.rows(deliveries_channel(SESSION), 0)]
    by_kind = {told["type"]: told for told in records}
    assert list(by_kind) == [
        "delivery.created",
        "delivery.handing",
        "action.deferred",
        "delivery.failed",
        "action.applied",
    ]
    assert by_kind["delivery.failed"]["receipt"]["reason"] == "outcome_unknown"
    assert recovered is not None
    assert recovered.live.head.summary.model == ModelSelection(id="large")
    await again.close()
    for task in list(session.core.tasks):
        task.cancel()
    await asyncio.gather(*session.core.tasks, return_exceptions=True)
    host.journal.ended.cancel()
    await asyncio.gather(host.journal.ended, return_exceptions=True)


async def test_a_message_that_waited_keeps_its_delivery_over_a_restart() -> None:
    store = MemoryStore()
    answered: list[str] = []

    async def answer(turn: Turn) -> None:
        answered.append(turn.message.text)
        if turn.message.text == "hello":
            await asyncio.Event().wait()

    async def opened() -> Host:
        host = Host(store, [CallbackHarness("waits", answer)], lambda message: message)
        await host.open()
        return host

    def say(text: str) -> a.SessionPendingMessageSetAction:
        return a.SessionPendingMessageSetAction(kind="queued", id=text, user_message=UserMessage(text=text))

    host = await opened()
    session = await host.create(CreateSessionParams(channel=SESSION, provider="waits"), "c")
    async with asyncio.timeout(WITHIN):
        while session.live.head.lifecycle != "ready":
            await host.journal.committed()
        for number, text in enumerate(["hello", "later"]):
            session.dispatch(say(text), a.ActionOrigin(client_id="c", client_seq=number), Nobody())
        while not answered:
            await host.journal.committed()
    store.crash()

    again = await opened()
    recovered = await again.sessions.bring(SESSION)
    assert recovered is not None
    async with asyncio.timeout(WITHIN):
        recovered.dispatch(say("last"), a.ActionOrigin(client_id="c", client_seq=9), Nobody())
        while answered != ["hello", "later", "last"]:
            await again.journal.committed()
    await again.close()
    rows = [msgspec.json.decode(row.action) for row in await store.rows(deliveries_channel(SESSION), 0)]
    told: dict[str, list[str]] = {}
    for row in rows:
        told.setdefault(row["deliveryId"], []).append(row["type"].removeprefix("delivery."))
    assert list(told.values())[:2] == [
        ["created", "accepted", "handing", "delivered"],
        ["created", "accepted", "handing", "delivered"],
    ]


@pytest.mark.parametrize("first", ["work", "hello"])
async def test_a_message_that_steered_and_was_not_taken_is_the_next_one_once_someone_goes_on(
    first: str,
) -> None:
    store = MemoryStore()
    answered: list[str] = []

    async def answer(turn: Turn) -> None:
        answered.append(turn.message.text)
        if turn.message.text == "work":
            await asyncio.Event().wait()

    async def opened() -> Host:
        host = Host(store, [CallbackHarness("works", answer, capabilities=STEERABLE)], lambda frame: frame)
        await host.open()
        return host

    def say(kind: str, text: str) -> a.SessionPendingMessageSetAction:
        return a.SessionPendingMessageSetAction(kind=kind, id=text, user_message=UserMessage(text=text))

    origin = a.ActionOrigin(client_id="c", client_seq=0)
    host = await opened()
    session = await host.create(CreateSessionParams(channel=SESSION, provider="works"), "c")
    async with asyncio.timeout(WITHIN):
        await session.ready()
        session.dispatch(say("queued", first), origin, Nobody())
        while not answered:
            await host.journal.committed()
        if first == "work":
            session.dispatch(say("queued", "later"), origin, Nobody())
        session.dispatch(say("steering", "steer"), origin, Nobody())
        await host.journal.committed()
    store.crash()

    again = await opened()
    recovered = await again.sessions.bring(SESSION)
    assert recovered is not None
    head = recovered.live.head
    later = ["later"] if first == "work" else []
    assert head.steering_message is None
    assert [waits.user_message.text for waits in head.queued_messages or ()] == ["steer", *later]
    assert (head.meta or {})[HELD] == "restart"
    async with asyncio.timeout(WITHIN):
        recovered.dispatch(say("queued", "last"), origin, Nobody())
        while answered != [first, "steer", *later, "last"] or recovered.live.turn is not None:
            await again.journal.committed()
    assert not recovered.mailbox
    await again.close()
    rows = [msgspec.json.decode(row.action) for row in await store.rows(deliveries_channel(SESSION), 0)]
    [steered, queued] = [row["deliveryId"] for row in rows if row.get("message", {}).get("text") == "steer"]
    ends = {row["deliveryId"]: row.get("receipt", {}) for row in rows}
    assert (ends[steered]["reason"], ends[queued]["status"]) == ("requeued", "delivered")


async def test_an_agent_whose_turn_was_taken_away_cannot_speak_in_one_of_the_same_name() -> None:
    going = asyncio.Event()
    turns: list[Turn] = []

    async def answer(turn: Turn) -> None:
        turns.append(turn)
        going.set()
        await asyncio.Event().wait()

    host = Host(MemoryStore(), [CallbackHarness("slow", answer)], lambda message: message)
    await host.open()
    session = await host.create(CreateSessionParams(channel=SESSION, provider="slow"), "c")
    origin = a.ActionOrigin(client_id="c", client_seq=0)
    start = a.SessionTurnStartedAction(turn_id="t", user_message=UserMessage(text="hello"))
    async with asyncio.timeout(WITHIN):
        while session.live.head.lifecycle != "ready":
            await host.journal.committed()
        session.dispatch(start, origin, Nobody())
        await going.wait()
        session.dispatch(a.SessionTruncatedAction(), origin, Nobody())
        session.dispatch(start, origin, Nobody())
        assert session.live.turn is not None
        await turns[0].say("from before")
        assert session.live.turn.snapshot().response_parts == []
    await host.close()


async def test_a_session_that_cannot_be_brought_back_stops_no_start_and_comes_back_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = MemoryStore()
    reached = asyncio.Event()

    async def answer(turn: Turn) -> None:
        del turn
        reached.set()
        await asyncio.Event().wait()

    def make(settings_of: Any = None) -> Host:
        return Host(store, [CallbackHarness("one", answer)], lambda frame: frame, settings_of=settings_of)

    host = make()
    await host.open()
    uris = [f"ahp-session:/{number}" for number in range(3)]
    async with asyncio.timeout(WITHIN):
        for uri in uris:
            params = CreateSessionParams(channel=uri, provider="one", working_directory=f"file:///{uri[-1]}")
            session = await host.create(params, "c")
            await session.ready()
            reached.clear()
            start = a.SessionTurnStartedAction(turn_id="t", user_message=UserMessage(text="hello"))
            session.dispatch(start, a.ActionOrigin(client_id="c", client_seq=1), Nobody())
            await reached.wait()
            await host.journal.committed()
    store.crash()

    is_bad = True

    def settings_of(directory: str | None) -> HostSettings:
        if is_bad and directory == "file:///1":
            raise RuntimeError("nobody has thought of this")
        return HostSettings()

    again = make(settings_of)
    await again.open()
    assert {session.uri for session in again.sessions.in_memory()} == {uris[0], uris[2]}
    assert {summary.resource for summary in again.sessions.summaries()} == set(uris)
    assert f"{uris[1]} could not be brought back" in caplog.text
    is_bad = False
    recovered = await again.sessions.bring(uris[1])
    assert recovered is not None
    assert recovered.live.turn is None
    assert recovered.live.head.turns[-1].state == "error"
    await again.close()
