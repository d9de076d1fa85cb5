"""What the workspace tells: in order, again from any event, to whom it may concern, and without secrets."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

import pytest

from hosts import WITHIN
from relay.port import able
from relay.workspaces import Inn, inn, relay_of
from requirements import proves
from serai.contract import (
    AgentIdentity,
    BasicSession,
    Deferred,
    Delivered,
    DeliveryMode,
    Failed,
    IdentityKind,
    MessageContext,
    MessageReceipt,
    RelayMessage,
    Role,
    SubscribeParams,
    WorkspaceEvent,
)
from serai.errors import ConnectionLost
from serai.relay.harness import define_harness
from serai.relay.predicates import events
from serai.relay.sdk import Relay
from serai.relay.tokens import Caller
from serai.store.memory import MemoryStore
from serai.store.sqlite.writer import Tuning

SECRET = "correct-horse-battery"


@pytest.fixture
async def relay(house: Inn) -> AsyncIterator[Relay]:
    """The relay in the process; what goes over a socket is in `test_adapters`."""
    await house.session("one")
    await house.call("rooms.create", name="ops")
    async with relay_of(house.workspace, Caller(Role.OWNER)) as opened:
        yield opened


async def first(count: int, told: AsyncGenerator[WorkspaceEvent]) -> list[WorkspaceEvent]:
    """So many events."""
    found: list[WorkspaceEvent] = []
    async with asyncio.timeout(WITHIN), aclosing(told):
        async for event in told:
            found.append(event)
            if len(found) == count:
                break
    return found


# -- order, replay, gaps -----------------------------------------------------------------------------------


async def test_what_changes_of_a_room_is_told_to_who_listens_to_it(house: Inn, relay: Relay) -> None:
    before = (await relay.call("hello")).last_event_id
    await house.call("rooms.create", name="other")
    await house.call("rooms.update", room="#ops", topic="what goes on")
    await house.call("rooms.join", room="#ops", agent="@demo")
    told = await first(2, relay.follow(room="#ops", after=before))
    assert [one.type for one in told] == ["room.updated", "room.joined"]


OF_EVENTS = {
    "created": ["message"],
    "accepted": [],
    "delivered": [],
    "deferred": ["availableAt", "reason"],
    "failed": ["reason", "retryable"],
}
"""What the five delivery events have beside `type`, `deliveryId` and `agent`."""


@proves("delivery:DeliveryEvent")
@proves(
    *(
        f"delivery:Delivery{kind.capitalize()}Event.{field}"
        for kind, own in OF_EVENTS.items()
        for field in ("type", "deliveryId", "agent", *own)
    )
)
async def test_each_delivery_event_has_the_fields_of_its_page(house: Inn, relay: Relay) -> None:
    """A delivery that is put off, tried in vain and taken; and one that is held, and cancelled."""

    def receipts(delivery_id: str) -> Iterator[MessageReceipt]:
        yield Deferred(delivery_id=delivery_id, available_at=house.workspace.ledger.now, reason="quiet time")
        yield Failed(delivery_id=delivery_id, reason="no luck", retryable=True)
        yield Delivered(delivery_id=delivery_id)

    tries: dict[str, Iterator[MessageReceipt]] = {}

    async def receive(_message: RelayMessage, context: MessageContext) -> MessageReceipt:
        return next(tries.setdefault(context.id, receipts(context.id)))

    before = (await relay.call("hello")).last_event_id
    await relay.register(define_harness("worker", receive))
    await relay.send("@worker", "do it", mode="immediate", wait_for="delivered")
    held = await relay.send("@worker", "later", mode="manual")
    await relay.call("deliveries.cancel", deliveryId=held.deliveries[0].id)
    told = await first(7, relay.follow("delivery.*", after=before))
    kinds = ["created", "deferred", "failed", "delivered", "created", "accepted", "failed"]
    assert [one.type for one in told] == [f"delivery.{kind}" for kind in kinds]
    for one, kind in zip(told, kinds, strict=True):
        is_final = one is told[-1]
        needed = {"deliveryId", "agent", *OF_EVENTS[kind]} - ({"retryable"} if is_final else set())
        assert needed <= set(one.data)
        assert ("retryable" in one.data) == (kind == "failed" and not is_final)
        assert one.data["agent"]["handle"] == "@worker"
        assert one.message is not None
        assert one.message.text == ("do it" if one in told[:4] else "later")


@proves("delivery:Event-Flow/created-emitted", "delivery:Event-Flow/outcome-emitted")
@proves("delivery:Delivery-Runner/emits-events", "delivery:Reliability-Rules/event-order-per-session")
@proves("delivery:Delivery-Runner/in-that-order", "delivery:Delivery-Context/id-is-delivery-id")
async def test_events_come_in_order_and_again_from_any_of_them(house: Inn, relay: Relay) -> None:
    before = (await relay.call("hello")).last_event_id
    held = await relay.send("@demo", "later", mode="manual")
    entered = await relay.send("@demo", "now")
    await relay.call("deliveries.cancel", deliveryId=held.deliveries[0].id)
    types = ("message.*", "delivery.*")
    told = await first(7, relay.follow(*types, after=before))
    ids = {held.deliveries[0].id: "held", entered.deliveries[0].id: "entered"}
    assert [(one.type, ids.get(one.data.get("deliveryId", ""))) for one in told] == [
        ("message.created", None),
        ("delivery.created", "held"),
        ("delivery.accepted", "held"),
        ("message.created", None),
        ("delivery.created", "entered"),
        ("delivery.delivered", "entered"),
        ("delivery.failed", "held"),
    ]
    numbers = [int(one.id) for one in told]
    assert numbers == sorted(set(numbers))
    for position in (0, 3, 5):
        again = await first(6 - position, relay.follow(*types, after=told[position].id))
        assert again == told[position + 1 :]
    record = await relay.delivery(held.deliveries[0].id)
    assert record.sequence == held.deliveries[0].sequence == int(told[1].id)
    assert record.agent == held.deliveries[0].agent == "@demo"
    assert [kept.receipt.status for kept in record.receipts] == ["accepted", "failed"]
    assert told[6].data["agent"]["handle"] == "@demo"
    assert told[6].data["message"]["text"] == "later"
    del house


async def test_events_are_there_again_after_a_restart() -> None:
    store = MemoryStore()
    async with inn(store=store) as house:
        await house.session("one")
        before = (await house.call("hello")).last_event_id
        sent = await house.send("@demo", "later", mode="manual")
    async with inn(store=store) as house, relay_of(house.workspace, Caller(Role.OWNER)) as relay:
        told = await first(3, relay.follow("message.*", "delivery.*", after=before))
        assert [one.type for one in told] == ["message.created", "delivery.created", "delivery.accepted"]
        assert told[2].data["deliveryId"] == sent.deliveries[0].id
        live = asyncio.create_task(first(4, relay.follow("message.*", "delivery.*", after=told[2].id)))
        await relay.send("@demo", "now", mode="manual")
        await relay.send("@demo", "now")
        assert [one.type for one in (await live)[:2]] == ["message.created", "delivery.created"]


async def test_a_gap_is_named() -> None:
    days = 86400.0
    now = 100 * days
    store = MemoryStore(Tuning(now=lambda: now))
    async with inn(store=store) as house:
        await house.session("one")
        start = (await house.call("hello")).last_event_id
        await house.send("@demo", "old", mode="manual")
        now += 40 * days
        last = (await house.send("@demo", "new", mode="manual")).deliveries[0].id
        await house.host.journal.committed()
        await store.prune(30, whole=["serai-relay"])
        owner = Caller(Role.OWNER)
        result, told = await house.workspace.subscribe(owner, SubscribeParams(after=start))
        assert result.source == "gap"
        assert int(result.first) > int(start) + 1
        await house.call("deliveries.cancel", deliveryId=last)
        [event] = await first(1, told)
        assert (event.type, int(event.id) >= int(result.first)) == ("delivery.failed", True)
        for unknown in ("99999999", "yesterday"):
            result, _ = await house.workspace.subscribe(owner, SubscribeParams(after=unknown))
            assert result.source == "gap"


async def test_what_is_taken_back_is_told_without_its_text(relay: Relay) -> None:
    before = (await relay.call("hello")).last_event_id
    sent = await relay.send("#ops", "a blunder")
    created = await first(1, relay.follow("message.created", after=before))
    assert created[0].data["message"]["text"] == "a blunder"
    await relay.call("messages.retract", messageId=sent.message.id)
    told = await first(2, relay.follow("message.*", after=before))
    assert [one.data["message"]["text"] for one in told] == ["(taken back)", "(taken back)"]


async def test_a_connection_that_closes_while_it_subscribes_leaves_nothing_behind(house: Inn) -> None:
    relay = relay_of(house.workspace, Caller(Role.OWNER))
    asking = asyncio.create_task(relay.subscribe(SubscribeParams()))
    await asyncio.sleep(0)
    await relay.close()
    with pytest.raises(ConnectionLost):
        await asking
    await house.until(lambda: "_respond" not in str(asyncio.all_tasks()))
    assert "_follow" not in str(asyncio.all_tasks())


# -- listeners ---------------------------------------------------------------------------------------------


@proves("delivery:Minimum-Contract/unsubscribe-stops-events")
async def test_after_unsubscribing_nothing_is_heard(relay: Relay) -> None:
    heard: list[str] = []
    others: list[str] = []
    second = asyncio.Event()

    def listen(event: WorkspaceEvent) -> None:
        others.append(event.data["message"]["text"])
        if len(others) == 2:
            second.set()

    came = asyncio.Event()
    unsubscribe = relay.on("message.created", lambda event: (heard.append(event.id), came.set())[0])
    relay.on(events.message.created().in_("#ops"), listen)
    await relay.send("#ops", "first")
    async with asyncio.timeout(WITHIN):
        await came.wait()
        unsubscribe()
        await relay.send("#ops", "second")
        await second.wait()
    assert (len(heard), others) == (1, ["first", "second"])


async def test_an_error_in_a_handler_disturbs_nobody(relay: Relay, caplog: pytest.LogCaptureFixture) -> None:
    calls: list[str] = []
    done = asyncio.Event()

    def fail(event: WorkspaceEvent) -> None:
        calls.append(event.id)
        if len(calls) == 2:
            done.set()
        raise ValueError("no")

    relay.on("message.*", fail)
    with caplog.at_level(logging.ERROR, "serai.relay.sdk"):
        await relay.send("#ops", "first")
        await relay.send("#ops", "second")
        async with asyncio.timeout(WITHIN):
            await done.wait()
    assert "a listener failed with the event" in caplog.text


async def test_predicates_are_put_together(house: Inn, relay: Relay) -> None:
    house.workspace.identities.enlist("robot", IdentityKind.SERVICE)
    heard: list[str] = []
    done = asyncio.Event()
    wanted = events.message.created().in_("#ops").mentions("@robot") & events.message.created().from_(
        "@alice"
    )

    def hear(event: WorkspaceEvent) -> None:
        heard.append(event.data["message"]["text"])
        if event.data["message"]["text"] == "the end":
            done.set()

    relay.on(
        wanted | events.message.created().where(lambda one: one.data["message"]["text"] == "the end"), hear
    )
    await relay.send("#ops", "for nobody")
    await relay.send("#ops", "for @robot")
    await relay.send("@demo", "not in the room, @robot")
    await relay.send("#ops", "the end")
    async with asyncio.timeout(WITHIN):
        await done.wait()
    assert heard == ["for @robot", "the end"]


async def test_an_agent_and_an_observer_hear_nothing_of_what_is_not_for_them(house: Inn) -> None:
    session = await house.session("one")
    await house.session("two")
    await house.call("rooms.create", name="ops")
    before = (await house.call("hello")).last_event_id
    await house.send(["@demo", "@demo-2"], "for us three")
    await house.send("@demo-2", "between us")
    await house.call("tokens.create", label="x")
    house.say(session, "over AHP")
    await house.until(lambda: session.live.head.turns)
    await house.send("#ops", "the end")
    heard: dict[str, set[str]] = {}
    for name, caller in {"demo": house.agent("@demo"), "nobody": Caller(Role.OBSERVER)}.items():
        _, told = await house.workspace.subscribe(caller, SubscribeParams(after=before))
        texts: set[str] = set()
        async with asyncio.timeout(WITHIN), aclosing(told):
            async for event in told:
                assert not event.type.startswith("token.")
                message: dict[str, Any] = event.data.get("message") or {}
                room = event.data.get("room")
                texts.add(
                    message.get("text")
                    or (room["name"] or "a conversation" if isinstance(room, dict) else "-")
                )
                if message.get("text") == "the end":
                    break
        heard[name] = texts - {"-"}
    assert heard == {"demo": {"for us three", "a conversation", "the end"}, "nobody": {"the end"}}


class Refusing(BasicSession):
    """A session elsewhere that takes nothing."""

    def __init__(self, name: str) -> None:
        capabilities = able(DeliveryMode.IMMEDIATE)
        super().__init__(AgentIdentity(id=name, name=name, handle=f"@{name}"), capabilities)

    async def receive_message(self, message: RelayMessage, context: MessageContext) -> MessageReceipt:
        del message
        return Failed(delivery_id=context.id, reason="not today")


@proves("delivery:Event-Flow/listener-by-predicate", "delivery:Event-Flow/listener-reads-message")
@proves("delivery:Event-Flow/listener-can-send", "delivery:WebSocket-Role/subscribe-and-filter")
@proves("delivery:WebSocket-Role/heard-at-once", "delivery:Receipts/failed-will-not")
async def test_the_page_s_listener_runs_as_written(house: Inn, relay: Relay) -> None:
    """What the page shows: say in a room that someone could not receive something, and why."""
    engineer = await relay.register(Refusing("engineer"))
    told: asyncio.Queue[str] = asyncio.Queue()

    async def tell(event: WorkspaceEvent) -> None:
        assert event.message is not None
        # This names the engineer, who cannot receive it either; a listener hears of nothing that it led to.
        await relay.messages.send(
            to="#ops",
            text=f"{engineer.identity.handle} could not receive {event.message.id}: {event.reason}",
        )
        told.put_nowait(event.message.id)

    await relay.on(relay.events.delivery.failed().for_agent(engineer), tell)
    sent: list[str] = []
    for text in ("look at this", "and at this"):
        sent.append((await relay.messages.send(to="@engineer", text=text)).message.id)
        async with asyncio.timeout(WITHIN):
            assert await told.get() == sent[-1]
    found = await house.call("messages.list", room="#ops")
    said = [f"@engineer could not receive {one}: not today" for one in sent]
    assert [message.text for message in found.messages] == said
