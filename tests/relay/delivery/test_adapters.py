"""Sessions elsewhere, over the real port: how messages get to them, and what becomes of those that do not."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from typing import Any
from unittest.mock import AsyncMock

import pytest

from hosts import WITHIN
from relay.port import IMMEDIATE, ON_IDLE, Heard, Port, able, ports
from requirements import proves
from serai.config.settings import RelayPolicy
from serai.contract import (
    Accepted,
    AgentDeliveryAdapter,
    AgentIdentity,
    AgentSessionEventType,
    AgentStatus,
    BasicSession,
    Delivered,
    DeliveryAnswer,
    DeliveryMode,
    DeliveryRecord,
    DeliveryState,
    Failed,
    LogWritten,
    MessageContext,
    MessageReceipt,
    RelayMessage,
    StatusChanged,
    TerminalOutput,
    ToolCalled,
    WorkspaceEvent,
    to_wire,
)
from serai.errors import (
    CapabilityUnsupported,
    ConnectionLost,
    DeliveryFinal,
    Forbidden,
    LeaseLost,
    NameTaken,
)
from serai.relay.harness import FunctionSession, define_harness
from serai.relay.predicates import events

STATUS = AgentSessionEventType.STATUS_CHANGED
TOOL, TERMINAL = AgentSessionEventType.TOOL_CALLED, AgentSessionEventType.TERMINAL_OUTPUT


async def became(port: Port, delivery_id: str, *states: DeliveryState) -> DeliveryRecord:
    """A delivery once it is in one of some states."""
    async with asyncio.timeout(WITHIN):
        while (record := await port.house.delivery(delivery_id)).state not in states:  # noqa: ASYNC110 - each look is a read
            await asyncio.sleep(0)
    return record


async def sent(port: Port, text: str = "hello", **more: Any) -> DeliveryRecord:
    """The delivery of a message to the worker."""
    return (await port.house.send("@worker", text, **more)).deliveries[0]


async def status(port: Port) -> AgentStatus | None:
    return (await port.house.call("agents.get", agent="@worker")).status


async def until_status(port: Port, wanted: AgentStatus) -> None:
    """Wait until the worker's status is this."""
    async with asyncio.timeout(WITHIN):
        while await status(port) != wanted:  # noqa: ASYNC110 - each look is a call
            await asyncio.sleep(0)


# -- over the connection -----------------------------------------------------------------------------------


@proves(
    "delivery:Minimum-Contract/minimum-hook",
    "delivery:WebSocket-Role/heard-at-once",
    "delivery:Adapter-Responsibilities/callback-adapter",
    "delivery:Adapter-Responsibilities/receipts-and-events-suffice",
    "delivery:Delivery/transport-does-not-matter",
)
async def test_a_function_elsewhere_is_an_agent_and_its_receipt_is_the_evidence() -> None:
    heard = Heard()
    async with ports() as port, await port.connect() as relay:
        await relay.register(define_harness("worker", heard))
        record = await sent(port)
        assert await heard.until(1) == ["hello"]
        record = await became(port, record.id, DeliveryState.DELIVERED)
        assert (record.attempts, record.evidence["via"]) == (1, "connection")
        assert heard.contexts[0].id == record.id


async def test_text_that_a_function_returns_is_its_answer_in_the_thread() -> None:
    async def answer(message: RelayMessage, context: MessageContext) -> str:
        return f"{message.text} ({context.reason.value})"

    async with ports() as port:
        relay = await port.connect(await port.token("worker"))
        await relay.register(define_harness("worker", answer))
        record = await sent(port, waitFor="answered")
        thread = (await port.house.call("messages.thread", messageId=record.message_id)).messages
        told = [(message.sender.name, message.text) for message in thread]
        assert told == [("alice", "hello"), ("worker", "hello (dm)")]
        assert record.answer is not None
        assert (record.answer.text, record.answer.reply_id) == ("hello (dm)", thread[1].id)
        await relay.close()


async def test_an_answer_that_could_not_be_sent_is_sent_again_and_not_worked_out_again() -> None:
    heard: list[str] = []

    async def answer(message: RelayMessage, _context: MessageContext) -> str:
        heard.append(message.text)
        return "done"

    async with ports() as port:
        session, relay = define_harness("worker", answer), await port.connect(await port.token("worker"))
        await relay.register(session)
        sends, session.reply = session.reply, AsyncMock(side_effect=ConnectionLost("the host is gone"))
        record = await became(port, (await sent(port)).id, DeliveryState.DEFERRED)
        session.reply = sends
        await port.house.call("deliveries.retry", deliveryId=record.id)
        record = await became(port, record.id, DeliveryState.DELIVERED)
        assert heard == ["hello"]
        thread = (await port.house.call("messages.thread", messageId=record.message_id)).messages
        assert [message.text for message in thread] == ["hello", "done"]
        await relay.close()


async def test_an_answer_comes_with_the_receipt_or_later_and_once() -> None:
    secret = "ghp_" + "a1B2c3D4" * 5

    async def answer(message: RelayMessage, context: MessageContext) -> MessageReceipt:
        told = {"answer": message.text} if message.text == "now" else {}
        return Delivered(delivery_id=context.id, metadata=told)

    async with ports() as port, await port.connect() as relay:
        worker = await relay.register(define_harness("worker", answer))
        now = await sent(port, "now", waitFor="answered")
        assert now.answer == DeliveryAnswer(turn_id=now.id, state="complete", text="now")
        assert "answer" not in now.evidence
        waiting = asyncio.create_task(sent(port, "later", waitFor="answered"))
        open_ones: list[DeliveryRecord] = []
        async with asyncio.timeout(WITHIN):
            while not open_ones:
                open_ones = [one for one in await delivered_to_worker(port) if one.answer is None]
        told = {"turnId": "t1", "state": "error", "text": f"no: {secret}"}
        late = Delivered(delivery_id=open_ones[0].id, metadata={"answer": told})
        await worker.receipt(late)
        other = Delivered(delivery_id=open_ones[0].id, metadata={"answer": "something else"})
        assert (await worker.receipt(other)).answer == (await waiting).answer
        assert (await waiting).answer == DeliveryAnswer(
            turn_id="t1", state="error", text="no: ghp_[masked:github-token]"
        )


async def delivered_to_worker(port: Port) -> tuple[DeliveryRecord, ...]:
    return (await port.house.call("deliveries.list", agent="@worker", state="delivered")).deliveries


async def test_only_the_owner_says_where_messages_are_posted() -> None:
    who: dict[str, Any] = {"identity": {"name": "worker"}, "capabilities": to_wire(able(IMMEDIATE))}
    async with ports() as port, await port.connect(await port.token("worker")) as relay:
        with pytest.raises(Forbidden):
            await relay.call("sessions.register", url="http://127.0.0.1:9/", **who)
        await port.house.call("sessions.register", url="http://127.0.0.1:9/", **who)


@proves(
    "delivery:Reliability-Rules/ids-are-idempotency-keys",
    "delivery:Delivery-Context/duplicate-id-idempotent",
)
async def test_a_known_id_is_answered_with_the_earlier_receipt_and_surfaces_nothing_again() -> None:
    heard, first = Heard(), asyncio.Event()

    async with ports() as port:
        relay = await port.connect()
        session = define_harness("worker", heard)
        answers: list[Any] = []
        registration = await relay.register(session, leaseSeconds=0.2)
        take = registration.receive

        async def forget_the_first(offer: Any) -> Any:
            """Take the message, and let the answer be lost."""
            result = await take(offer)
            if not first.is_set():
                first.set()
                await asyncio.Event().wait()
            answers.append(result)
            return result

        registration.receive = forget_the_first
        record = await sent(port)
        record = await became(port, record.id, DeliveryState.DELIVERED)
        assert (heard.texts, len(answers), record.attempts) == (["hello"], 1, 2)
        errors = [kept.receipt.reason for kept in record.receipts if isinstance(kept.receipt, Failed)]
        assert errors == ["no_answer"]
        await relay.close()


@proves("delivery:Reliability-Rules/deferred-not-buffered", "caps:Status-States/offline-when-unreachable")
async def test_without_a_connection_it_is_deferred_with_a_time_and_offered_when_it_is_back() -> None:
    heard = Heard()
    async with ports() as port:
        relay = await port.connect()
        await relay.register(define_harness("worker", heard))
        await relay.close()
        await until_status(port, AgentStatus.OFFLINE)
        record = await sent(port)
        assert (record.state, record.error) == (DeliveryState.DEFERRED, "offline")
        assert record.available_at is not None
        assert record.available_at > datetime.now(UTC)
        async with await port.connect() as again:
            await again.register(define_harness("worker", heard))
            record = await became(port, record.id, DeliveryState.DELIVERED)
            assert (heard.texts, record.attempts) == (["hello"], 1)
            assert await status(port) == AgentStatus.IDLE


@proves(
    "delivery:Reliability-Rules/receipt-for-every-attempt",
    "delivery:Reliability-Rules/retryable-failure-retried",
    "delivery:Receipts/failed-will-not",
)
async def test_an_exception_and_a_retryable_failure_are_tried_again_then_a_dead_letter() -> None:
    tries: list[str] = []

    async def fail(message: RelayMessage, _context: MessageContext) -> MessageReceipt:
        tries.append(message.id)
        if len(tries) == 1:
            raise RuntimeError("no room")
        return Failed(reason="no room", retryable=True)

    async with ports(policy=RelayPolicy(me="alice", attempts=2)) as port, await port.connect() as relay:
        await relay.register(define_harness("worker", fail))
        record = await became(port, (await sent(port)).id, DeliveryState.FAILED)
        assert (len(tries), record.attempts) == (2, 2)
        reasons = [kept.receipt.reason for kept in record.receipts if isinstance(kept.receipt, Failed)]
        assert reasons == ["RuntimeError: no room", "no room"]


async def test_a_long_call_keeps_its_lease() -> None:
    going = asyncio.Event()
    calls: list[str] = []

    async def slow(_message: RelayMessage, context: MessageContext) -> None:
        calls.append(context.id)
        await going.wait()

    async with ports() as port, await port.connect() as relay:
        await relay.register(define_harness("worker", slow), leaseSeconds=1.5)
        record = await sent(port)
        first = (await became(port, record.id, DeliveryState.HANDING)).lease_until
        assert first is not None
        async with asyncio.timeout(WITHIN):
            while ((now := await port.house.delivery(record.id)).lease_until or first) <= first:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert now.state == DeliveryState.HANDING
        going.set()
        record = await became(port, record.id, DeliveryState.DELIVERED)
        assert (record.attempts, len(calls)) == (1, 1)


# -- modes -------------------------------------------------------------------------------------------------


@proves("caps:Status-States/on-idle-safe-states", "delivery:Delivery-Modes/safe-states-configurable")
async def test_on_idle_waits_for_a_safe_state_that_the_session_reports() -> None:
    heard = Heard()
    policy = RelayPolicy(me="alice", safe_states=frozenset({AgentStatus.WAITING}))
    async with ports(policy=policy) as port, await port.connect() as relay:
        session = define_harness("worker", heard, modes=[ON_IDLE, IMMEDIATE], emits=[STATUS])
        await relay.register(session)
        session.emit(StatusChanged(status=AgentStatus.ACTIVE))
        await until_status(port, AgentStatus.ACTIVE)
        record = await sent(port, "later")
        assert (record.state, record.waits_for) == (DeliveryState.ACCEPTED, "idle")
        await sent(port, "now", mode="immediate")
        assert await heard.until(1) == ["now"]
        session.emit(StatusChanged(status=AgentStatus.WAITING))
        assert await heard.until(2) == ["now", "later"]


class Queue(BasicSession, AgentDeliveryAdapter):
    """A session that holds messages for its own boundaries."""

    def __init__(self) -> None:
        identity = AgentIdentity(id="", name="worker", handle="@worker")
        super().__init__(identity, able(DeliveryMode.NEXT_TOOL_CALL, queue=True))
        self.held: dict[str, str] = {}
        self.shown: list[str] = []
        self.cancelled = asyncio.Event()

    async def receive_message(self, message: RelayMessage, context: MessageContext) -> MessageReceipt:
        self.held[context.id] = message.text
        return Accepted(delivery_id=context.id)

    def show(self, delivery_id: str) -> Delivered:
        self.shown.append(self.held.pop(delivery_id))
        return Delivered(delivery_id=delivery_id, metadata={"toolCall": "call-1"})

    async def flush(self, delivery_id: str | None = None) -> list[MessageReceipt]:
        return [self.show(one) for one in list(self.held) if delivery_id in {None, one}]

    async def cancel(self, delivery_id: str, reason: str | None = None) -> None:
        assert reason == "cancelled"
        del self.held[delivery_id]
        self.cancelled.set()


@proves(
    "caps:Delivery-Capabilities/queue-holds-and-reports",
    "delivery:Adapter-Responsibilities/notification-adapter",
    "delivery:Adapter-Responsibilities/owns-runtime-details",
)
async def test_a_session_with_a_queue_holds_messages_itself_and_reports_their_receipts() -> None:
    session = Queue()
    async with ports() as port, await port.connect() as relay:
        registration = await relay.register(session)
        records = [await sent(port, text, mode="next-tool-call") for text in ("one", "two", "three")]
        for record in records:
            held = await became(port, record.id, DeliveryState.ACCEPTED)
            assert (held.held_by, held.waits_for) == ("adapter", "adapter")
        told = await registration.receipt(session.show(records[0].id))
        assert (told.state, told.evidence["toolCall"]) == (DeliveryState.DELIVERED, "call-1")
        assert (
            await registration.receipt(Delivered(delivery_id=records[0].id))
        ).state == DeliveryState.DELIVERED
        with pytest.raises(DeliveryFinal):
            await registration.receipt(Failed(delivery_id=records[0].id, reason="no"))
        await port.house.call("deliveries.cancel", deliveryId=records[1].id)
        async with asyncio.timeout(WITHIN):
            await session.cancelled.wait()
        await port.house.call("deliveries.flush", agent="@worker")
        await became(port, records[2].id, DeliveryState.DELIVERED)
        assert session.shown == ["one", "three"]


async def test_what_a_session_held_is_offered_again_when_it_comes_back_without_it() -> None:
    async with ports() as port:
        async with await port.connect() as relay:
            await relay.register(Queue())
            record = await became(port, (await sent(port)).id, DeliveryState.ACCEPTED)
        async with await port.connect() as relay:
            session = Queue()
            await relay.register(session)
            async with asyncio.timeout(WITHIN):
                while not session.held:  # noqa: ASYNC110 - nothing tells of it
                    await asyncio.sleep(0)
            assert list(session.held) == [record.id]


# -- without a connection ----------------------------------------------------------------------------------


@proves(
    "delivery:WebSocket-Role/polling",
    "delivery:WebSocket-Role/queue-worker",
    "delivery:WebSocket-Role/record-is-the-truth",
)
async def test_workers_take_deliveries_and_a_lease_that_ran_out_is_lost() -> None:
    async with ports() as port:
        call = port.house.call
        capabilities = to_wire(able(ON_IDLE))
        await call(
            "sessions.register", identity={"name": "worker"}, capabilities=capabilities, leaseSeconds=0.1
        )
        record = await sent(port)
        assert (record.state, record.waits_for) == (DeliveryState.ACCEPTED, "take")
        [first] = (await call("deliveries.take", agent="@worker")).offers
        assert (await port.house.delivery(record.id)).state == DeliveryState.HANDING
        assert (await call("deliveries.take", agent="@worker")).offers == ()
        [second] = (await call("deliveries.take", agent="@worker", waitMs=20_000)).offers
        assert (second.context.id, second.message.text) == (first.context.id, "hello")
        receipt = {"status": "delivered", "deliveryId": record.id}
        with pytest.raises(LeaseLost):
            await call("deliveries.receipt", receipt=receipt, lease=first.lease)
        longer = await call("deliveries.extend", deliveryId=record.id, lease=second.lease)
        assert longer.lease_until >= second.lease_until
        told = await call("deliveries.receipt", receipt=receipt, lease=second.lease)
        assert (told.state, told.evidence["via"]) == (DeliveryState.DELIVERED, "take")
        assert (await call("deliveries.receipt", receipt=receipt, lease=first.lease)).id == record.id


async def test_a_worker_that_tells_when_it_is_idle_takes_as_many_as_it_asks_for() -> None:
    async with ports() as port:
        await port.house.call(
            "sessions.register",
            identity={"name": "worker"},
            capabilities=to_wire(able(ON_IDLE, emits=(STATUS,))),
        )
        wanted = [(await sent(port, f"note {n}")).id for n in range(3)]
        offers = (await port.house.call("deliveries.take", agent="@worker", limit=2)).offers
        offers += (await port.house.call("deliveries.take", agent="@worker")).offers
        assert [offer.context.id for offer in offers] == wanted
        busy = [{"type": "status.changed", "status": "active"}]
        await port.house.call("sessions.report", agent="@worker", events=busy)
        await sent(port, "later")
        assert (await port.house.call("deliveries.take", agent="@worker")).offers == ()


@proves("delivery:Adapter-Responsibilities/terminal-adapter")
async def test_an_adapter_may_type_into_a_terminal_and_learn_there_what_became_of_it() -> None:
    ours, theirs = os.openpty()
    shown, output = asyncio.Event(), bytearray()
    session: FunctionSession

    async def type_in(message: RelayMessage, _context: MessageContext) -> None:
        session.emit(StatusChanged(status=AgentStatus.ACTIVE))
        os.write(ours, f"{message.text}\n".encode())
        await shown.wait()
        session.emit(StatusChanged(status=AgentStatus.IDLE))

    def read() -> None:
        output.extend(os.read(ours, 1024))
        if output.count(b"look here") == 2:  # once as it is typed, once as `cat` has read it
            shown.set()

    session = define_harness("worker", type_in, emits=[STATUS])
    program = await asyncio.create_subprocess_exec("cat", stdin=theirs, stdout=theirs)
    asyncio.get_running_loop().add_reader(ours, read)
    try:
        async with ports() as port, await port.connect() as relay:
            await relay.register(session)
            await became(port, (await sent(port, "look here")).id, DeliveryState.DELIVERED)
    finally:
        asyncio.get_running_loop().remove_reader(ours)
        program.kill()
        await program.wait()
        os.close(ours)
        os.close(theirs)


# -- registering -------------------------------------------------------------------------------------------


@proves(
    "caps:Session-Capabilities/told-after-creation",
    "caps:Session-Capabilities/differ-between-sessions",
)
async def test_two_sessions_of_one_kind_may_declare_different_things() -> None:
    async with ports() as port, await port.connect() as relay:
        await relay.register(define_harness("worker", Heard(), modes=[IMMEDIATE]))
        await relay.register(define_harness("other", Heard(), modes=[ON_IDLE]))
        agents = (await port.house.call("agents.list")).agents
        modes = {one.identity.name: one.capabilities.delivery.modes for one in agents if one.capabilities}
        assert modes == {"worker": (IMMEDIATE,), "other": (ON_IDLE,)}


@proves("caps:Capability-Shape/refused-when-registering")
async def test_who_declares_too_little_or_what_it_lacks_is_refused() -> None:
    async with ports() as port, await port.connect() as relay:
        deaf = to_wire(able(IMMEDIATE)) | {"messaging": {"receive": False}}
        lacking = [
            deaf,
            to_wire(able()) | {"delivery": {"modes": []}},
            to_wire(able(DeliveryMode.NEXT_MESSAGE)),
        ]
        for capabilities in lacking:
            with pytest.raises(CapabilityUnsupported):
                await relay.call("sessions.register", identity={"name": "worker"}, capabilities=capabilities)
        with pytest.raises(CapabilityUnsupported):
            await relay.register(define_harness("worker", Heard(), capabilities=able(pause=True)))
        assert port.house.workspace.identities.find("worker") is None


@proves("caps:Messaging-Capabilities/send-decides")
async def test_who_does_not_declare_that_it_sends_cannot_send() -> None:
    async with ports() as port, await port.connect(await port.token("worker")) as relay:
        await relay.register(define_harness("worker", Heard(), capabilities=able(IMMEDIATE)))
        with pytest.raises(CapabilityUnsupported, match=r"messaging\.send"):
            await relay.send("@alice", "hello")
        await relay.register(define_harness("worker", Heard()))
        assert (await relay.send("@alice", "hello")).deliveries


async def test_registering_again_goes_on_unless_it_is_strict_and_names_of_others_are_theirs() -> None:
    async with ports() as port, await port.connect() as relay:
        await port.house.session("one")
        session = define_harness("worker", Heard())
        first = await relay.register(session)
        assert (await relay.register(session)).identity == first.identity
        with pytest.raises(NameTaken):
            await relay.register(session, strict=True)
        for name in ("demo", "alice"):
            with pytest.raises(NameTaken):
                await relay.register(define_harness(name, Heard()))
        async with await port.connect(await port.token("someone")) as other:
            with pytest.raises(Forbidden):
                await other.register(session)


async def test_who_unregisters_gets_nothing_any_more_and_senders_of_what_was_open_are_told() -> None:
    async with ports() as port, await port.connect() as relay:
        registration = await relay.register(define_harness("worker", Heard(), modes=[DeliveryMode.MANUAL]))
        record = await sent(port)
        await registration.unregister()
        record = await port.house.delivery(record.id)
        assert (record.state, record.error) == (DeliveryState.FAILED, "cancelled")
        assert await status(port) == AgentStatus.RELEASED
        await relay.register(define_harness("worker", Heard()))
        assert await status(port) == AgentStatus.IDLE


# -- what they tell ----------------------------------------------------------------------------------------


@proves(
    "caps:Event-Capabilities/undeclared-not-emitted",
    "caps:Status-States/told-by-events",
    "delivery:Reliability-Rules/event-order-per-session",
    "delivery:Reliability-Rules/secrets-redacted",
    "delivery:Minimum-Contract/richer-harness-emits",
)
async def test_declared_events_are_passed_on_in_order_with_their_secrets_masked() -> None:
    async with ports() as port, await port.connect() as relay:
        port.house.host.redactor.register("KEY", "a-very-secret-value")
        statuses = [STATUS, AgentSessionEventType.STATUS_ACTIVE, AgentSessionEventType.STATUS_IDLE]
        session = define_harness("worker", Heard(), emits=[*statuses, TOOL, TERMINAL])
        await relay.register(session)
        became_idle, told = asyncio.Event(), list[WorkspaceEvent]()
        await relay.on("session.event", told.append)
        await relay.on(events.agent("@worker").status.becomes("idle"), lambda _: became_idle.set())
        session.emit(StatusChanged(status=AgentStatus.ACTIVE))
        session.emit(LogWritten(level="info", message="not declared"))
        session.emit(ToolCalled(tool="bash", input="echo a-very-secret-value"))
        session.emit(TerminalOutput(text="a-very-secret-value"))
        session.emit(StatusChanged(status=AgentStatus.IDLE))
        async with asyncio.timeout(WITHIN):
            await became_idle.wait()
            await port.house.until(lambda: told and told[-1].data["event"]["type"] == "status.idle")
        heard = [event.data["event"] for event in told]
        types = [event["type"] for event in heard]
        observed = ["tool.called", "terminal.output"]
        assert types == ["status.changed", "status.active", *observed, "status.changed", "status.idle"]
        assert "a-very-secret-value" not in str(heard)
        result = await relay.call(
            "sessions.report", agent="@worker", events=[{"type": "log", "level": "info", "message": "m"}]
        )
        assert (result.passed_on, result.undeclared) == (0, ("log",))


# -- crashes -----------------------------------------------------------------------------------------------
