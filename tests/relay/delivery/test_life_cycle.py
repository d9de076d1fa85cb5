"""The life of deliveries: whatever happens, also when the host is killed, none is lost, none comes twice."""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from hosts import WITHIN
from relay.workspaces import Inn, inn
from requirements import proves
from serai import contract as c
from serai.ahp import actions as a
from serai.config.settings import RelayPolicy
from serai.contract import DeliveryMode, DeliveryRecord, DeliveryState
from serai.errors import DeliveryFinal, RelayError
from serai.harness.callback import STEERABLE, CallbackHarness, CallbackSession
from serai.host.agents import HostContext
from serai.host.host import Host
from serai.host.ledger import record_of
from serai.host.turn import Turn
from serai.relay.delivery.session_queue import BOUNDARIES, SessionQueue
from serai.relay.workspace import Workspace
from serai.store.contract import Batch
from serai.store.memory import MemoryStore
from serai.store.sqlite.writer import Tuning

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)
AGENTS = ["near", "far"]
MODES = [None, *DeliveryMode]
POLICY = RelayPolicy(me="alice", attempts=3, max_age_days=1 / 24, mailbox=12)
ID = re.compile(r"\bmsg_\w+")


# -- one record --------------------------------------------------------------------------------------------

metadata = st.sampled_from([{}, {"heldBy": "host", "waitsFor": "idle"}, {"evidence": "answer"}])
receipts = st.one_of(
    st.builds(c.Accepted, delivery_id=st.just("d"), metadata=metadata),
    st.builds(c.Delivered, delivery_id=st.just("d"), metadata=metadata),
    st.builds(c.Deferred, available_at=st.just(NOON), reason=st.sampled_from([None, "busy"])),
    st.builds(c.Failed, reason=st.sampled_from(["broken", "gone"]), retryable=st.booleans()),
)


@proves("delivery:Delivery-Runner/persists-receipt")
@given(st.lists(st.tuples(receipts, st.booleans()), max_size=20))
def test_a_record_follows_its_receipts_until_one_is_final(
    told: list[tuple[c.MessageReceipt, bool]],
) -> None:
    record = DeliveryRecord(
        id="d", message_id="m", agent="agent-1", mode=DeliveryMode.ON_IDLE, reason=c.DeliveryReason.DM,
        created_at=NOON, updated_at=NOON,
    )  # fmt: skip
    for number, (receipt, may_retry) in enumerate(told, 1):
        at = NOON + timedelta(seconds=number)
        retry_at = at + timedelta(minutes=1) if may_retry else None
        if not record.is_open:
            if receipt.status == next(reversed(record.receipts)).receipt.status:
                assert c.settled(record, receipt, at) is record
            else:
                with pytest.raises(DeliveryFinal):
                    c.settled(record, receipt, at)
            continue
        record = c.settled(record, receipt, at, retry_at=retry_at)
        assert record.receipts[-1].receipt == receipt
        assert record.updated_at == at
        assert record.state != DeliveryState.CREATED
        is_tried_again = isinstance(receipt, c.Failed) and receipt.retryable and may_retry
        expected = DeliveryState.DEFERRED if is_tried_again else DeliveryState(receipt.status.value)
        assert record.state == expected
        if record.state == DeliveryState.DEFERRED:
            assert record.due is not None  # it is never put off for ever
        assert (record.due is None) == (record.state != DeliveryState.DEFERRED)
        assert len(record.receipts) <= 12
        assert next(iter(record.receipts)).receipt == told[0][0]


# -- after a restart ---------------------------------------------------------------------------------------


async def test_a_session_that_was_working_when_its_host_was_stopped_gets_messages_as_before() -> None:
    store = MemoryStore()
    async with inn(store=store) as house:
        house.say(await house.session("one"), "work 600 every 1")
        await house.host.journal.committed()
    async with inn(store=store) as house:
        session = house.host.sessions.peek("ahp-session:/one")
        assert session is not None
        house.say(session, "work 1 every 5; tool ls", "again")
        [record] = (await house.send("@demo", "stop", mode="next-tool-call", waitFor="delivered")).deliveries
        assert [kept.receipt.status for kept in record.receipts] == ["accepted", "delivered"]
        [later] = (await house.send("@demo", "later", mode="next-tool-call")).deliveries
        session.turns.interrupt_for_message()
        later = await house.delivery(later.id)
        assert later.state == DeliveryState.DELIVERED or later.waits_for == "idle"
        info = await house.call("agents.get", agent="@demo")
        assert info.waiting == (1 if later.is_open else 0)


# -- a whole workspace -------------------------------------------------------------------------------------


class SlowStore(MemoryStore):
    """Takes a few turns of the event loop to write, and to tell what it has read."""

    def __init__(self) -> None:
        super().__init__(Tuning(block=50))
        self.chance = random.Random(0)

    async def _linger(self) -> None:
        for _ in range(self.chance.randrange(4)):
            await asyncio.sleep(0)

    def append(self, batch: Batch) -> asyncio.Future[int]:
        return asyncio.ensure_future(self._append_slowly(batch))

    async def _append_slowly(self, batch: Batch) -> int:
        await self._linger()
        first = await super().append(batch)
        await self._linger()
        return first

    async def relay(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        rows = await super().relay(query, *values)
        await self._linger()
        return rows

    async def now(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """What is in the tables."""
        return await super().relay(query, *values)


class Agent(CallbackHarness):
    """Works on `work` until it is let go, uses a tool for `tool`, and fails at `fail`."""

    def __init__(self, name: str) -> None:
        super().__init__(name, self._answer_turn, capabilities=STEERABLE)
        self.going = asyncio.Event()
        self.heard: list[str] = []
        """The ids of the messages that it got, in order."""

    def take(self, text: str) -> None:
        self.heard += [
            found for line in text.splitlines() if line.startswith("[relay]") for found in ID.findall(line)
        ]

    async def _answer_turn(self, turn: Turn) -> None:
        text = turn.message.text
        self.take(text)
        if "work" in text:
            await self.going.wait()
        if "tool" in text:
            if (steering := turn.steering(before_call=True)) is not None:
                self.take(steering.text)
            call = await turn.tool("bash", "Run", message="ls", confirmed="setting")
            await call.done("Done", text="")
        if "fail" in text:
            raise ValueError("no")
        await turn.say("done")


class FarAgent(Agent):
    """Runs elsewhere: what it is handed may get lost, be put off, or be refused."""

    def __init__(self, name: str, clock: Callable[[], datetime]) -> None:
        super().__init__(name)
        self.in_process = False
        self.is_willing = False
        self.clock = clock

    async def create(self, settings: Mapping[str, Any], context: HostContext) -> CallbackSession:
        session = await super().create(settings, context)
        receive = session.receive_message

        async def receive_message(message: c.RelayMessage, about: c.MessageContext) -> c.MessageReceipt:
            for _ in range(3):
                await asyncio.sleep(0)
            if "break" in message.text and not self.is_willing:
                raise OSError("broken")
            if "later" in message.text and not self.is_willing:
                return c.Deferred(available_at=self.clock() + timedelta(seconds=60), reason="busy")
            if "refuse" in message.text and not self.is_willing:
                return c.Failed(delivery_id=about.id, reason="will not")
            return await receive(message, about)

        session.receive_message = receive_message  # type: ignore[method-assign]
        return session


async def deferred(house: Inn, delivery_id: str) -> DeliveryRecord:
    """A delivery once it was put off."""
    async with asyncio.timeout(WITHIN):
        while (record := await house.delivery(delivery_id)).state != DeliveryState.DEFERRED:  # noqa: ASYNC110 - each look is a read
            await asyncio.sleep(0)
    return record


@proves(
    "delivery:Reliability-Rules/retryable-failure-retried",
    "delivery:Reliability-Rules/receipt-for-every-attempt",
)
@proves("delivery:Reliability-Rules/deferred-not-buffered", "delivery:Receipts/deferred-not-yet")
@proves("delivery:Delivery-Runner/calls-or-enqueues", "delivery:Delivery-Runner/loads-message-and-target")
@proves("delivery:DeliveryRunner.deliver")
@proves("delivery:DeliverInput.message", "delivery:DeliverInput.target", "delivery:DeliverInput.context")
@proves("delivery:Minimum-Contract/minimum-hook", "delivery:Adapter-Responsibilities/callback-adapter")
@pytest.mark.parametrize(("text", "first"), [("break", "failed"), ("later", "deferred")])
async def test_what_an_adapter_cannot_take_now_is_tried_again_later(text: str, first: str) -> None:
    time = NOON
    far = FarAgent("far", lambda: time)
    async with inn(harnesses=[far], policy=POLICY, now=lambda: round(time.timestamp() * 1000)) as house:
        await house.session("one", "far")
        [record] = (await house.send("@far", text)).deliveries
        record = await deferred(house, record.id)
        assert record.due is not None
        assert time < record.due < time + timedelta(minutes=5)
        far.is_willing = True
        time = record.due
        await house.workspace.runner.open()
        record = await house.final(record.id)
        assert [kept.receipt.status for kept in record.receipts] == [first, "delivered"]
        assert (record.attempts, len(far.heard)) == (2, 1)


@proves("delivery:DeliveryRunner.retry")
async def test_what_was_tried_often_enough_is_given_up_and_may_be_delivered_anew() -> None:
    time = NOON
    far = FarAgent("far", lambda: time)
    async with inn(harnesses=[far], policy=POLICY, now=lambda: round(time.timestamp() * 1000)) as house:
        await house.session("one", "far")
        [record] = (await house.send("@far", "break")).deliveries
        for _ in range(POLICY.attempts - 1):
            record = await deferred(house, record.id)
            assert record.due is not None
            time = record.due
            await house.call("deliveries.retry", deliveryId=record.id)
        record = await house.final(record.id)
        assert (record.state, record.error, record.attempts) == (DeliveryState.FAILED, "broken", 3)
        assert await house.call("deliveries.retry", deliveryId=record.id) == record
        far.is_willing = True
        anew = await house.call("deliveries.redeliver", deliveryId=record.id)
        assert (anew.redelivery_of, (await house.final(anew.id)).state) == (
            record.id,
            DeliveryState.DELIVERED,
        )
        assert (await house.delivery(record.id)).state == DeliveryState.FAILED


TEXTS = ["hello", "hello", "work", "tool", "fail", "break", "later", "refuse"]
turns = st.integers(0, 25)


async def _at_once(work: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    return work(*arguments, **named)


class LifeCycle(RuleBasedStateMachine):
    """One workspace with two agents and a person; the host is killed now and then."""

    def __init__(self) -> None:
        super().__init__()
        # Without threads the order of things depends on nothing but the rules.
        self.threads = mock.patch("asyncio.to_thread", _at_once)
        self.threads.start()
        self.runner = asyncio.Runner()
        self.store = SlowStore()
        self.time = NOON
        self.near, self.far = Agent("near"), FarAgent("far", lambda: self.time)
        self.count = 0
        self.calls: set[asyncio.Task[Any]] = set()
        self.stored: set[str] = set()
        """Deliveries of which a caller was told."""
        self.keys: dict[str, tuple[dict[str, Any], str | None]] = {}
        self.final: dict[str, DeliveryRecord] = {}
        self.runner.run(self._begin())

    async def _begin(self) -> None:
        await self._open()
        for agent in AGENTS:
            await self.inn.session(agent, agent)
        await self.inn.call("rooms.create", name="ops")
        for agent in AGENTS:
            await self.inn.call("rooms.invite", room="#ops", agent=agent)

    async def _open(self) -> None:
        host = Host(
            self.store,
            [self.near, self.far],
            lambda frame: frame,
            now=lambda: round(self.time.timestamp() * 1000),
            summary_delay=0.001,
        )
        await host.open()
        workspace = Workspace(host, POLICY)
        self.inn = Inn(host, workspace, self.store)
        await workspace.open()

    def _run(self, steps: int, what: Callable[[], Awaitable[None] | None] = lambda: None) -> None:
        """Do something, then let the event loop turn."""

        async def go() -> None:
            outcome = what()
            if outcome is not None:
                await outcome
            for _ in range(steps):
                await asyncio.sleep(0)

        self.runner.run(go())

    def _begin_call(self, call: Coroutine[Any, Any, Any]) -> None:
        """Call the relay, and do not wait for the answer."""

        async def calling() -> None:
            try:
                result = await call
            except RelayError:
                return
            self.stored |= {record.id for record in getattr(result, "deliveries", ())}

        self.calls.add(task := asyncio.create_task(calling()))
        task.add_done_callback(self.calls.discard)

    def _session(self, agent: str) -> Any:
        return self.inn.host.sessions.peek(f"ahp-session:/{agent}")

    # -- what may happen -----------------------------------------------------------------------------------

    @rule(
        to=st.sampled_from(["@near", "@near", "@far", "@far", "#ops", "@alice"]),
        text=st.sampled_from(TEXTS),
        mode=st.sampled_from(MODES),
        urgent=st.booleans(),
        deadline=st.sampled_from([None, None, 90]),
        key=st.sampled_from([None, None, "one", "two"]),
        speaker=st.sampled_from([None, None, "@near", "@far"]),
        steps=turns,
    )
    def send(
        self,
        to: str,
        text: str,
        mode: DeliveryMode | None,
        urgent: bool,
        deadline: int | None,
        key: str | None,
        speaker: str | None,
        steps: int,
    ) -> None:
        """Someone sends, perhaps again under a key."""
        params: dict[str, Any] = {"to": to, "text": text, "priority": "urgent" if urgent else "normal"}
        if mode is not None:
            params["mode"] = mode.value
        if deadline is not None:
            params["deadline"] = (self.time + timedelta(seconds=deadline)).isoformat()
        caller = None if speaker is None else self.inn.agent(speaker)
        if key is not None:
            key = f"{key}-{speaker}"
            params, _ = self.keys.setdefault(key, ({**params, "idempotencyKey": key}, None))
        self._run(steps, lambda: self._begin_call(self.inn.call("messages.send", caller, **params)))

    @rule(
        method=st.sampled_from(["cancel", "retry", "redeliver", "get"]),
        pick=st.integers(0, 1000),
        steps=turns,
    )
    def change(self, method: str, pick: int, steps: int) -> None:
        """The owner does something about a delivery."""
        known = sorted(self.stored)
        if known:
            chosen = known[pick % len(known)]
            self._run(
                steps, lambda: self._begin_call(self.inn.call(f"deliveries.{method}", deliveryId=chosen))
            )

    @rule(agent=st.sampled_from(AGENTS), mode=st.sampled_from(MODES), steps=turns)
    def flush(self, agent: str, mode: DeliveryMode | None, steps: int) -> None:
        """The owner has what waits enter."""
        params: dict[str, Any] = {"mode": mode.value} if mode else {}
        self._run(steps, lambda: self._begin_call(self.inn.call("deliveries.flush", agent=agent, **params)))

    @rule(agent=st.sampled_from([None, *AGENTS]), steps=turns)
    def fetch(self, agent: str | None, steps: int) -> None:
        """Someone looks into an inbox."""
        caller = None if agent is None else self.inn.agent(f"@{agent}")
        self._run(steps, lambda: self._begin_call(self.inn.call("inbox.get", caller)))

    @rule(
        agent=st.sampled_from(AGENTS),
        text=st.sampled_from(["hello", "work", "tool", "work tool"]),
        steps=turns,
    )
    def say(self, agent: str, text: str, steps: int) -> None:
        """A person says something over AHP."""
        self.count += 1
        if (session := self._session(agent)) is not None:
            self._run(steps, lambda: self.inn.say(session, text, f"said-{self.count}"))

    @rule(agent=st.sampled_from(AGENTS), steps=turns)
    def stop(self, agent: str, steps: int) -> None:
        """A person cancels the turn."""
        session = self._session(agent)
        if session is not None and session.live.turn is not None:
            action = a.SessionTurnCancelledAction(turn_id=session.live.turn.id)
            origin = a.ActionOrigin(client_id="client", client_seq=1)
            self._run(steps, lambda: session.dispatch(action, origin, mock.Mock()))

    @rule(agent=st.sampled_from(["near", "far"]), steps=turns)
    def let_go(self, agent: str, steps: int) -> None:
        """An agent comes to the end of its work."""
        harness = self.near if agent == "near" else self.far

        def go() -> None:
            harness.going.set()
            harness.going = asyncio.Event()

        self._run(steps, go)

    @rule(seconds=st.sampled_from([5, 70, 100, 4000]), steps=turns)
    def jump(self, seconds: int, steps: int) -> None:
        """The clock goes on, past deadlines and ages."""
        self.time += timedelta(seconds=seconds)
        self._run(steps, self.inn.workspace.runner.open)

    @rule(steps=st.integers(1, 60))
    def run_on(self, steps: int) -> None:
        self._run(steps)

    @rule(when=st.integers(0, 2))
    def kill(self, when: int) -> None:
        """Now and then the host is killed, and starts again on what was committed."""
        if when == 0:
            self.runner.run(self._kill())

    async def _kill(self) -> None:
        host = self.inn.host
        self.inn.workspace.runner.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        host.journal.ended.cancel()
        await asyncio.gather(host.journal.ended, return_exceptions=True)
        for session in host.sessions.in_memory():
            await session.close()
        if host.root._told is not None:
            host.root._told.cancel()
        self.store.crash()
        self.near.going, self.far.going = asyncio.Event(), asyncio.Event()
        await self._open()

    # -- what always holds ---------------------------------------------------------------------------------

    @invariant()
    def holds(self) -> None:
        self.runner.run(self._check())

    async def _records(self) -> dict[str, DeliveryRecord]:
        """What the tables say of all deliveries of the relay."""
        rows = await self.store.now("list_deliveries", None, "", 1 << 62, 1 << 30)
        return {record.id: record for record in map(record_of, rows) if record.id.startswith("dlv_")}

    async def _check(self) -> None:
        records = await self._records()
        assert self.stored <= records.keys(), "a delivery is lost that its sender was told of"
        for delivery_id, earlier in self.final.items():
            now = records[delivery_id]
            assert (now.state, now.receipts) == (earlier.state, earlier.receipts), (
                "a final record has changed"
            )
        self.final |= {record.id: record for record in records.values() if not record.is_open}
        for record in records.values():
            is_told = (
                record.waits_for
                or record.due
                or record.state in {DeliveryState.HANDING, DeliveryState.CREATED}
            )
            assert not record.is_open or is_told, f"nobody knows what {record} waits for"
        self._check_heard(records)

    def _check_heard(self, records: dict[str, DeliveryRecord]) -> None:
        by_message: defaultdict[tuple[str, str], list[DeliveryRecord]] = defaultdict(list)
        for record in records.values():
            by_message[record.agent, record.message_id].append(record)
        for harness in (self.near, self.far):
            agent = self.inn.workspace.identities.get(harness.name).identity.id
            for message_id, times in Counter(harness.heard).items():
                assert times <= len(by_message[agent, message_id]), "a delivery came twice"
            in_order: defaultdict[str, list[int]] = defaultdict(list)
            for message_id in harness.heard:
                [record, *more] = by_message[agent, message_id]
                is_plain = record.mode == DeliveryMode.ON_IDLE and record.requested_mode is None
                was_moved = "flushed" in record.metadata or record.attempts > 1 or more
                if is_plain and not was_moved:
                    in_order[record.priority].append(record.sequence)
            for numbers in in_order.values():
                assert numbers == sorted(numbers), "messages came in another order"

    async def _check_counters(self) -> None:
        """How much waits is known in memory as it is in the tables, once both are at rest."""
        await self.inn.host.journal.committed()
        counted = {
            (number, waits): count
            for number, waits, count in await self.store.now("counts_of_waiting")
            if waits in BOUNDARIES and self.inn.workspace.identities[number].session
        }
        known = {
            (queue.participant.number, waits): count
            for queue in self.inn.workspace._queues.values()
            if isinstance(queue, SessionQueue)
            for waits, count in queue.waiting.items()
            if count
        }
        assert known == counted

    # -- the end -------------------------------------------------------------------------------------------

    def teardown(self) -> None:
        try:
            self.runner.run(self._converge())
        finally:
            self.runner.close()
            self.threads.stop()

    async def _settle(self) -> None:
        """Let all happen that happens by itself."""
        async with asyncio.timeout(WITHIN):
            for _ in range(3):
                for _ in range(150):
                    await asyncio.sleep(0)
                await self.inn.host.journal.committed()
            if self.calls:
                await asyncio.wait(self.calls)

    async def _converge(self) -> None:
        """Everyone is willing from now on: each delivery comes to its end."""
        await self._settle()
        await self._check_counters()
        self.far.is_willing = True
        for harness in (self.near, self.far):
            harness.going.set()
        records: dict[str, DeliveryRecord] = {}
        for _ in range(8):
            for agent in AGENTS:
                await self.inn.call("deliveries.flush", agent=agent)
            await self.inn.call("inbox.get")
            await self._settle()
            self.time += timedelta(seconds=400)
            await self.inn.workspace.runner.open()
            await self._settle()
            await self._check()
            records = await self._records()
            if not any(record.is_open for record in records.values()):
                break
        assert [record for record in records.values() if record.is_open] == []
        await self._check_counters()
        await self.inn.workspace.close()
        await self.inn.host.close()


LifeCycle.TestCase.settings = settings(max_examples=25, stateful_step_count=30)
TestLifeCycle = LifeCycle.TestCase
