"""What each kind of agent declares, and that each declared mode, operation and event is real."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from relay.listeners import Heard as HeardEvents, listening
from relay.port import Heard, able, ports
from relay.ports import OpenInn, open_inn
from relay.tables import said, table
from relay.test_mcp_agents import offer
from relay.workspaces import Inn, Nobody, relay_of
from requirements import proves
from serai.agents.testing import EVERYTHING, ScriptedAgent, ScriptedTurn
from serai.ahp import actions as a
from serai.ahp.commands import CreateSessionParams
from serai.ahp.types import PendingMessageKind, UserMessage
from serai.config.settings import RelayPolicy
from serai.contract import (
    ActionCapabilities,
    AgentSessionEventType,
    DeliveryMode,
    DeliveryState,
    LifecycleOperation,
    Role,
    TerminalScreen,
)
from serai.contract.events import OBSERVED_BY_HOST
from serai.errors import AuthRequired, CapabilityUnsupported
from serai.harness.callback import STEERABLE, CallbackHarness
from serai.harness.demo import DemoHarness, perform
from serai.host.session.session import Session
from serai.host.turn import Turn
from serai.relay.harness import define_harness
from serai.relay.tokens import Caller

CALLING = "work 1 every 5; tool ls"
BUSY = "work 600 every 1"
KINDS = ["demo", "function", "function, all", "ACP", "ACP, all"]
"""Each kind of agent of the host, with as little and with as much as it can declare."""


async def function(turn: Turn) -> None:
    """Does as the demo agent does, and can be told that nobody is signed in."""
    if "sign in" in turn.message.text:
        raise AuthRequired("sign in first")
    await perform(turn)


async def deaf(turn: Turn) -> None:
    """Works, and looks for no messages."""
    if BUSY in turn.message.text:
        await asyncio.Event().wait()


class Scripted(ScriptedAgent):
    """An agent over ACP that works until it is cancelled, and can be steered."""

    def __init__(self, **how: Any) -> None:
        super().__init__(self.turn, name="scripted", **how)

    async def turn(self, turn: ScriptedTurn) -> None:
        turn.say("hm")
        if BUSY in turn.text:
            await turn.is_cancelled.wait()

    def answer(self, method: str, params: Any) -> Any:
        return {"outcome": "injected"} if method == "_session/steering" else super().answer(method, params)


STEERED = {**EVERYTHING, "_meta": {"steering": {"supported": True}}}
ALL = replace(
    STEERABLE,
    lifecycle=replace(STEERABLE.lifecycle, fork=True, snapshot=True),
    actions=ActionCapabilities(invoke=True),
)


@asynccontextmanager
async def session_of(kind: str, **options: Any) -> AsyncGenerator[tuple[OpenInn, Session, str]]:
    """A host with a session of some kind, and its handle."""
    least = CallbackHarness("least", deaf)
    most = CallbackHarness("most", function, capabilities=ALL, schema=DemoHarness(pace="instant").schema)
    async with open_inn(harnesses=[least, most], **options) as house:
        has_all = kind.endswith("all")
        offer(house, Scripted(capabilities=STEERED if has_all else {}), terminal=has_all)
        provider = {"demo": "demo", "function": "least", "function, all": "most"}.get(kind, "scripted")
        yield house, await house.session("one", provider), f"@{provider}"


def declared_by(heading: str, kind: str) -> set[str]:
    """What the table says that a session of some kind declares."""
    column, _, how = kind.partition(", ")
    return said(heading, column, "host", "own", *(["declared"] if how else []))


# -- what is declared --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
async def test_a_session_declares_what_the_tables_say_and_no_more(kind: str) -> None:
    async with session_of(kind) as (house, _, handle):
        declared = (await house.call("agents.get", agent=handle)).capabilities
        assert {*declared.delivery.modes} == declared_by("Delivery modes", kind)
        assert {*declared.lifecycle.operations} == declared_by("Operations", kind)
        assert {*declared.events.emits} == declared_by("Events", kind)


def test_the_tables_have_every_mode_operation_and_event() -> None:
    for heading, every in (
        ("Delivery modes", DeliveryMode),
        ("Operations", LifecycleOperation),
        ("Events", AgentSessionEventType),
    ):
        for column in table(heading).values():
            assert [*column] == [one.value for one in every]
    from_relay = {one.value for one in AgentSessionEventType if not one.is_live}
    for kind in ("demo", "function", "ACP", "elsewhere"):
        assert said("Events", kind, "relay") == from_relay
    assert {row for rows in table("Operations")["elsewhere"].values() for row in [rows]} == {"declared"}


# -- modes -------------------------------------------------------------------------------------------------


async def surfaces(house: Inn, session: Session, handle: str, mode: DeliveryMode, kind: str) -> None:
    """A message that is sent while a turn runs surfaces at the boundary of its mode, and not before."""
    calls = mode == DeliveryMode.NEXT_TOOL_CALL and not kind.startswith("ACP")
    house.say(session, CALLING if calls else BUSY, "busy")
    is_deaf = kind == "function"
    await house.until(lambda: (session.live.turn and session.live.turn.snapshot().response_parts) or is_deaf)
    [record] = (await house.send(handle, "hello", mode=mode)).deliveries
    assert record.mode == mode
    assert record.requested_mode is None
    if mode == DeliveryMode.IMMEDIATE:
        record = await house.final(record.id)
        assert record.evidence["interrupted"] == "busy"
    elif mode == DeliveryMode.NEXT_TOOL_CALL:
        record = await house.final(record.id)
        assert record.evidence["turnId"] == "busy"
        assert not calls or record.evidence["toolCallId"] == "busy-call-1"
    else:
        assert record.waits_for == {"on-idle": "idle", "manual": "flush"}.get(mode, "next-message")
        session.turns.interrupt_for_message()
        house.say(session, "go on", "next")
        await house.until(lambda: len(session.live.head.turns) >= 2 and not session.is_busy)
        if mode == DeliveryMode.MANUAL:
            assert (await house.delivery(record.id)).is_open
            await house.call("deliveries.flush", agent=handle)
        record = await house.final(record.id)
        assert (record.evidence["turnId"] == "next") is (mode == DeliveryMode.NEXT_MESSAGE)
    assert record.state == DeliveryState.DELIVERED


@proves("delivery:Delivery-Modes/semantic", "caps:Capability-Negotiation/mode-enforced")
@proves(
    "delivery:Delivery-Modes/immediate-interrupts", "delivery:Delivery-Modes/next-tool-call-precedes-tool"
)
@pytest.mark.parametrize("mode", DeliveryMode)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_declared_mode_has_its_boundary_and_another_is_made_calmer(
    kind: str, mode: DeliveryMode
) -> None:
    async with session_of(kind) as (house, session, handle):
        if mode in declared_by("Delivery modes", kind):
            await surfaces(house, session, handle, mode, kind)
            return
        house.say(session, BUSY, "busy")
        [record] = (await house.send(handle, "hello", mode=mode)).deliveries
        assert (record.mode, record.requested_mode) == (DeliveryMode.ON_IDLE, mode)
        session.turns.interrupt_for_message()
        house.say(session, "go on", "next")
        assert (await house.final(record.id)).state == DeliveryState.DELIVERED


@proves("caps:Capability-Negotiation/no-silent-loss")
@pytest.mark.parametrize("kind", ["function", "ACP"])
async def test_where_the_policy_says_so_a_mode_that_is_not_declared_fails(kind: str) -> None:
    async with session_of(kind, policy=RelayPolicy(me="alice", unsupported="fail")) as (house, _, handle):
        with pytest.raises(CapabilityUnsupported) as caught:
            await house.send(handle, "hello", mode="next-tool-call")
        assert caught.value.to_wire() == {
            "code": "capability_unsupported",
            "capability": "delivery.modes",
            "requested": "next-tool-call",
            "available": ["immediate", "on-idle", "next-message", "manual"],
            "agent": handle,
        }
        assert (await house.call("rooms.list")).rooms == ()


@pytest.mark.parametrize("mode", DeliveryMode)
async def test_a_session_elsewhere_is_offered_messages_in_the_modes_that_it_declares(
    mode: DeliveryMode,
) -> None:
    heard = Heard()
    async with ports() as port, await port.connect() as relay:
        await relay.register(define_harness("worker", heard, capabilities=able(mode, queue=True)))
        [record] = (await port.house.send("@worker", "hello", mode=mode)).deliveries
        if mode == DeliveryMode.MANUAL:
            assert record.waits_for == "flush"
            await port.house.call("deliveries.flush", agent="@worker")
        await heard.until(1)
        assert heard.contexts[0].mode == mode
        for other in set(DeliveryMode) - {mode}:
            try:
                [record] = (await port.house.send("@worker", "hello", mode=other)).deliveries
            except CapabilityUnsupported as error:
                assert (error.requested, error.available) == (other, (mode,))  # noqa: PT017 - or it is calmer
            else:
                assert (record.mode, record.requested_mode) == (mode, other)


# -- operations --------------------------------------------------------------------------------------------


@proves("caps:Capability-Negotiation/lifecycle-enforced")
@pytest.mark.parametrize("operation", LifecycleOperation)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_declared_operation_is_done_and_another_refused(
    kind: str, operation: LifecycleOperation
) -> None:
    async with session_of(kind) as (house, session, handle):
        house.say(session, "hello", "first")
        await house.until(lambda: session.live.head.turns)
        agent = await session.agent()
        if operation not in declared_by("Operations", kind):
            with pytest.raises(CapabilityUnsupported) as refused:
                await getattr(agent, operation)()
            assert refused.value.capability == f"lifecycle.{operation}"
            return
        if operation == LifecycleOperation.FORK:
            forked = house.host.identities.get((await agent.fork()).identity.id)
            assert forked.session not in {None, session.uri}
        elif operation == LifecycleOperation.SNAPSHOT:
            assert "hello" in str((await agent.snapshot())["turns"])
        else:
            result = await house.call(
                "actions.invoke", name=f"agent.{operation}", input={"agent": handle}, waitMs=20_000
            )
            told = {"pause": "paused", "resume": "idle", "release": "released"}[operation]
            assert result.output["status"] == told


# -- events ------------------------------------------------------------------------------------------------


def live(heard: HeardEvents) -> set[str]:
    """The types of live events that were heard."""
    types = {AgentSessionEventType(one.partition("/")[2]) for one in heard.types if "/" in one}
    return {one.value for one in types if one.is_live}


SAID = (
    *("write 5", "tool live", "tool fail", "usage 12", "notice mind", "fail oh", "run echo hi"),
    *("run false", "save note.txt some text", "sign in"),
)


@pytest.mark.parametrize("kind", ["demo", "function, all"])
async def test_every_event_that_is_declared_comes_and_no_other(kind: str, tmp_path: Any) -> None:
    async with session_of(kind) as (house, _, handle), listening(house.workspace) as heard:
        params = CreateSessionParams(
            channel="ahp-session:/two",
            provider=handle[1:],
            working_directory=tmp_path.as_uri(),
            config={"approve": "always"},
        )
        session = await house.host.create(params, "client")
        await session.ready()
        for number, text in enumerate(SAID):
            house.say(session, text, f"turn-{number}")
            await house.until(lambda number=number: len(session.live.head.turns) > number)
        house.say(session, "ask", "asks")
        await house.until(lambda: heard.statuses[-1] == "waiting")
        session.turns.interrupt_for_message()
        session.pause()
        session.resume()
        await (await session.agent()).fork()
        await house.host.dispose(session.uri)
        await house.until(lambda: "released" in heard.statuses)
        assert live(heard) == declared_by("Events", kind)


@proves("delivery:Minimum-Contract/richer-harness-emits")
async def test_a_session_elsewhere_tells_what_no_session_of_the_host_does() -> None:
    never = said("Events", "ACP", "no")
    assert never == {one.value for one in AgentSessionEventType if one.is_live} - {*OBSERVED_BY_HOST}
    emits = [AgentSessionEventType.STATUS_CHANGED, *map(AgentSessionEventType, never)]
    async with ports() as port, listening(port.house.workspace) as heard:
        relay = await port.connect()
        session = define_harness("worker", Heard(), emits=emits)
        await relay.register(session)
        session.emit(TerminalScreen(text="$", rows=24, cols=80))
        await port.house.until(lambda: heard.own("terminal.screen"))
        await relay.close()
        await port.house.until(lambda: heard.statuses[-1:] == ["offline"])
        assert live(heard) == {one.value for one in emits}


async def test_what_the_relay_itself_knows_is_told_of_every_session() -> None:
    def ping(call: Any) -> str:
        if call.input:
            raise ValueError(call.input)
        return "pong"

    async with session_of("function, all") as (house, _, handle), listening(house.workspace) as heard:
        relay = relay_of(house.workspace, Caller(Role.OWNER))
        await relay.action("ping", ping)
        await relay.action("closed", ping, available_to=["nobody"])
        own = house.agent(handle)
        await house.send("@alice", "hello", own)
        await house.send(handle, "hello", mode="manual")
        [record] = (await house.send(handle, "hello", waitFor="delivered")).deliveries
        assert record.state == DeliveryState.DELIVERED
        for name, given in (("ping", None), ("ping", "no"), ("closed", None)):
            await house.call("actions.invoke", own, name=name, input=given, waitMs=20_000)
        [record] = (await house.send(handle, "late", mode="manual")).deliveries
        await house.call("deliveries.cancel", deliveryId=record.id)
        await house.until(lambda: heard.own("delivery.failed"))
        await relay.close()
    told = {one.partition("/")[2] for one in heard.types if "/" in one}
    # What a session of the host cannot take now, it holds: only one elsewhere puts off.
    assert said("Events", "function", "relay") - told == {"delivery.deferred"}


# -- operations on deliveries ------------------------------------------------------------------------------


@proves(
    "delivery:Delivery-Runner/unsupported-is-explicit",
    "delivery:Reliability-Rules/unsupported-state-operation",
)
@pytest.mark.parametrize("operation", ["retry", "cancel", "redeliver"])
async def test_a_delivery_whose_message_the_relay_does_not_keep_is_not_changed_there(
    house: Inn, operation: str
) -> None:
    session = await house.session("one")
    house.say(session, BUSY, "busy")
    queued = a.SessionPendingMessageSetAction(
        kind=PendingMessageKind.QUEUED.value, id="q", user_message=UserMessage(text="later")
    )
    session.dispatch(queued, a.ActionOrigin(client_id="client", client_seq=2), Nobody())
    await house.host.journal.committed()
    [waiting, _] = (await house.call("deliveries.list")).deliveries
    with pytest.raises(CapabilityUnsupported) as refused:
        await house.call(f"deliveries.{operation}", deliveryId=waiting.id)
    assert (refused.value.capability, refused.value.requested) == ("delivery.state", operation)
    assert (await house.delivery(waiting.id)).is_open
    session.turns.interrupt_for_message()
    house.say(session, "go on", "next")
    assert (await house.final(waiting.id)).state == DeliveryState.DELIVERED
