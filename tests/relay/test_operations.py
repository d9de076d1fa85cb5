"""Operations on whole sessions, as methods: only where they are declared, here and elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from hosts import TOKEN
from relay.delivery.test_adapters import became, sent, status
from relay.port import IMMEDIATE, ON_IDLE, Heard, able, ports
from relay.workspaces import inn
from requirements import proves
from serai.contract import (
    AgentIdentity,
    AgentInfo,
    AgentSession,
    AgentSessionCapabilities,
    AgentStatus,
    BasicSession,
    Delivered,
    DeliveryState,
    LifecycleOperation,
    MessageContext,
    MessageReceipt,
    RelayMessage,
    handle_of,
)
from serai.errors import CapabilityUnsupported, Forbidden, Offline, SessionGone
from serai.harness.callback import CAPABILITIES, CallbackHarness
from serai.host.agents import HostContext
from serai.host.turn import Turn
from serai.relay.sdk import Relay

OPERATIONS = [operation.value for operation in LifecycleOperation]


class Worker(BasicSession):
    """A session elsewhere that can do everything, and remembers what it was asked."""

    def __init__(self, name: str, heard: Heard, capabilities: AgentSessionCapabilities | None = None) -> None:
        declared = capabilities or able(
            ON_IDLE, IMMEDIATE, release=True, pause=True, resume=True, fork=True, snapshot=True
        )
        super().__init__(AgentIdentity(id="", name=name, handle=handle_of(name)), declared)
        self.heard = heard
        self.asked: list[tuple[str, str | None]] = []

    async def receive_message(self, message: RelayMessage, context: MessageContext) -> MessageReceipt:
        await self.heard(message, context)
        return Delivered(delivery_id=context.id)

    async def release(self, reason: str | None = None) -> None:
        self.asked.append(("release", reason))

    async def pause(self, reason: str | None = None) -> None:
        self.asked.append(("pause", reason))

    async def resume(self) -> None:
        self.asked.append(("resume", None))

    async def fork(self) -> AgentSession:
        return Worker(f"{self.identity.name}-fork", self.heard)

    async def snapshot(self) -> dict[str, Any]:
        return {"heard": self.heard.texts, "key": "ghp_" + "a1B2c3D4" * 5}


def able_harness(name: str = "able") -> CallbackHarness:
    """Agents of the host that can do everything."""
    everything = replace(CAPABILITIES.lifecycle, fork=True, snapshot=True)

    async def answer(turn: Turn) -> None:
        await turn.say("done")

    harness = CallbackHarness(name, answer, capabilities=replace(CAPABILITIES, lifecycle=everything))
    create = harness.create

    async def creating(settings: Any, context: HostContext) -> Any:
        session: Any = await create(settings, context)

        async def snapshot() -> dict[str, Any]:
            return {"turns": len(context.seat.turns)}

        session.fork, session.snapshot = context.seat.fork, snapshot
        return session

    harness.create = creating  # type: ignore[method-assign]
    return harness


@proves("caps:Capability-Negotiation/lifecycle-enforced")
async def test_a_session_of_the_host_is_paused_resumed_forked_looked_at_and_released() -> None:
    async with inn(harnesses=[able_harness()]) as house:
        await house.session("one", "able")
        await house.send("@able", "hello", waitFor="answered")
        assert (await house.call("sessions.pause", agent="@able", reason="lunch")).status == "paused"
        [record] = (await house.send("@able", "wait")).deliveries
        assert record.waits_for == "idle"
        await house.call("sessions.resume", agent="@able")
        await house.send("@able", "go on", waitFor="answered")
        assert (await house.final(record.id)).answer is not None
        forked: AgentInfo = (await house.call("sessions.fork", agent="@able")).agent
        assert forked.identity.handle == "@able-2"
        same = [await house.call("sessions.snapshot", agent=one) for one in ("@able", "@able-2")]
        assert same[0].snapshot == same[1].snapshot
        assert (await house.call("sessions.release", agent="@able")).status == AgentStatus.RELEASED
        with pytest.raises(SessionGone):
            await house.call("sessions.pause", agent="@able")


@proves("caps:Capability-Negotiation/structured-error")
@pytest.mark.parametrize("operation", OPERATIONS)
async def test_what_is_not_declared_is_refused_with_its_fields(operation: str) -> None:
    async with ports() as port, await port.connect() as relay:
        await relay.register(Worker("worker", Heard(), able(IMMEDIATE)))
        for agent in ("@worker", "@alice"):
            with pytest.raises(CapabilityUnsupported) as refused:
                await getattr(relay, operation)(agent)
            told = refused.value.to_wire()
            assert (told["capability"], told["requested"]) == (f"lifecycle.{operation}", operation)
            assert (told["available"], told["agent"]) == ([], agent)


async def test_a_session_elsewhere_is_asked_and_its_mailbox_waits_while_it_is_paused() -> None:
    heard = Heard()
    worker = Worker("worker", heard)
    async with ports() as port, await port.connect() as relay:
        await relay.register(worker)
        await relay.pause("@worker", "lunch")
        assert await status(port) == AgentStatus.PAUSED
        held = [(await sent(port, mode, mode=mode)).id for mode in (IMMEDIATE, ON_IDLE)]
        records = [await became(port, one, DeliveryState.ACCEPTED) for one in held]
        assert [record.waits_for for record in records] == ["turn", "idle"]
        await relay.resume("@worker")
        assert sorted(await heard.until(2)) == ["immediate", "on-idle"]
        assert worker.asked == [("pause", "lunch"), ("resume", None)]


async def test_a_session_elsewhere_forks_tells_its_state_and_is_released() -> None:
    heard = Heard()
    worker = Worker("worker", heard)
    async with ports() as port, await port.connect() as relay:
        await relay.register(worker)
        forked = (await relay.fork("@worker")).agent
        assert forked is not None
        assert forked.identity.handle == "@worker-fork"
        await port.house.send("@worker-fork", "to the second")
        assert await heard.until(1) == ["to the second"]
        told = (await relay.snapshot("@worker-fork")).snapshot
        assert told == {"heard": ["to the second"], "key": "ghp_[masked:github-token]"}
        await relay.release("@worker", "no work")
        assert worker.asked == [("release", "no work")]
        assert await status(port) == AgentStatus.RELEASED
        assert (await port.house.call("agents.get", agent="@worker-fork")).status == AgentStatus.IDLE


async def test_who_is_paused_stays_so_over_a_lost_connection_and_nobody_is_asked_meanwhile() -> None:
    heard = Heard()
    async with ports() as port:
        relay = await port.connect()
        await relay.register(Worker("worker", heard))
        await port.house.call("sessions.pause", agent="@worker")
        await relay.close()
        with pytest.raises(Offline):
            await port.house.call("sessions.resume", agent="@worker")
        record = await sent(port)
        async with await port.connect() as again:
            await again.register(Worker("worker", heard))
            assert await status(port) == AgentStatus.PAUSED
            assert (await port.house.delivery(record.id)).is_open
            await again.resume("@worker")
            await became(port, record.id, DeliveryState.DELIVERED)


async def test_a_participant_operates_on_itself_alone() -> None:
    async with ports() as port:
        own, other = await port.token("worker"), await port.token("other")
        async with (
            await Relay.connect(port.url, own) as mine,
            await Relay.connect(port.url, other) as theirs,
            await Relay.connect(port.url, TOKEN) as owner,
        ):
            await mine.register(Worker("worker", Heard()))
            with pytest.raises(Forbidden):
                await theirs.pause("@worker")
            await mine.pause("@worker")
            await owner.resume("@worker")
            assert await status(port) == AgentStatus.IDLE
