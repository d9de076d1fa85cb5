"""What sessions let one observe: one view for every harness, live, and only what is declared."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from hosts import WITHIN
from relay.listeners import Heard, listening
from relay.workspaces import Inn, Nobody, inn, relay_of
from requirements import proves
from serai.ahp import actions as a
from serai.ahp.actions import (
    SessionToolCallConfirmedAction as Confirmed,
    SessionToolCallResultConfirmedAction as ResultConfirmed,
)
from serai.ahp.commands import CreateSessionParams, SessionForkSource
from serai.contract import (
    AgentSessionEventType,
    AgentStatus,
    EventCapabilities,
    Role,
    SubscribeParams,
)
from serai.errors import AuthRequired, CapabilityUnsupported
from serai.harness.callback import CAPABILITIES, CallbackHarness
from serai.host.turn import Turn
from serai.relay.predicates import events
from serai.relay.tokens import Caller
from serai.store.memory import MemoryStore


async def turn(house: Inn, session: Any, text: str) -> None:
    """Say something, and wait for the end of the turn."""
    count = len(session.live.head.turns)
    house.say(session, text, f"turn-{count}")
    await house.until(lambda: len(session.live.head.turns) > count)
    await house.host.journal.committed()


@proves(
    "caps:Status-States/told-by-events",
    "caps:Status-States/starting-until-made",
    "caps:Status-States/active-while-working",
    "caps:Status-States/idle-when-free",
    "caps:Status-States/releasing-then-released",
)
async def test_the_life_of_a_session_is_told_status_by_status(house: Inn) -> None:
    async with listening(house.workspace) as heard:
        session = await house.session("one")
        await turn(house, session, "hello")
        await house.host.dispose(session.uri)
        await house.until(lambda: "released" in heard.statuses)
    assert heard.statuses == ["starting", "idle", "active", "idle", "releasing", "released"]
    named = [event.type for event in heard.events if event.type.startswith("agent.status.")]
    assert [name for name in named if name != "agent.status.changed"] == [
        f"agent.status.{status}" for status in heard.statuses
    ]
    changes = [event.data for event in heard.events if event.type == "agent.status.changed"]
    assert [change["previousStatus"] for change in changes[1:]] == heard.statuses[:-1]
    info = await house.call("agents.get", agent="@demo")
    assert info.status == AgentStatus.RELEASED


@proves("caps:Status-States/waiting-for-a-result")
async def test_a_session_waits_while_someone_is_asked(house: Inn) -> None:
    session = await house.session("one")
    async with listening(house.workspace, "agent.status.changed") as heard:
        house.say(session, "tool ls")
        await house.until(lambda: heard.statuses[-1:] == ["waiting"])
        assert session.status == AgentStatus.WAITING
        call: Any = session.live.turn.calls()[0] if session.live.turn else None
        no = a.SessionToolCallConfirmedAction(
            turn_id="said", tool_call_id=call.tool_call_id, approved=False, reason="denied"
        )
        session.dispatch(no, a.ActionOrigin(client_id="client", client_seq=2), Nobody())
        await house.until(lambda: heard.statuses[-1:] == ["idle"])
    assert heard.statuses == ["active", "waiting", "active", "idle"]


@proves("caps:Status-States/blocked-needs-help", "caps:Status-States/failed-on-breakdown")
async def test_a_missing_sign_in_blocks_and_an_agent_that_does_not_start_has_failed() -> None:
    async def refuse(_turn: Turn) -> None:
        raise AuthRequired("sign in first")

    class Broken(CallbackHarness):
        async def create(self, settings: Any, context: Any) -> Any:  # noqa: ARG002 - it never begins
            raise RuntimeError("it broke down")

    harnesses = [CallbackHarness("strict", refuse), Broken("broken", refuse)]
    async with inn(harnesses=harnesses) as house:
        session = await house.session("one", "strict")
        async with listening(house.workspace, "agent.status.changed", "error") as heard:
            await turn(house, session, "hello")
            await house.until(lambda: "blocked" in heard.statuses)
            broken = await house.host.create(
                CreateSessionParams(channel="ahp-session:/two", provider="broken"), "client"
            )
            await house.until(lambda: "failed" in heard.statuses)
            assert (session.status, broken.status) == (AgentStatus.BLOCKED, AgentStatus.FAILED)
        errors = [event.data["error"] for event in heard.events if event.type == "error"]
        assert "it broke down" in errors


@proves("caps:Event-Capabilities/normalised")
async def test_a_command_a_terminal_and_a_file_are_told(house: Inn, tmp_path: Any) -> None:
    params = CreateSessionParams(
        channel="ahp-session:/one",
        provider="demo",
        working_directory=tmp_path.as_uri(),
        config={"approve": "always"},
    )
    session = await house.host.create(params, "client")
    await session.ready()
    async with listening(house.workspace, "command.*", "terminal.*", "file.*") as heard:
        await turn(house, session, "run echo hi there")
        await turn(house, session, "run false")
        await turn(house, session, "save note.txt some text")
        await house.until(lambda: heard.own("file.changed") and heard.own("command.failed"))
    assert [one["command"] for one in heard.own("command.started")] == ["echo hi there", "false"]
    assert [one["exitCode"] for one in heard.own("command.completed")] == [0]
    assert [one["exitCode"] for one in heard.own("command.failed")] == [1]
    assert "hi there" in "".join(one["text"] for one in heard.own("terminal.output"))
    [change] = heard.own("file.changed")
    assert (change["path"].rpartition("/")[2], change["operation"]) == ("note.txt", "create")
    assert change["diff"] == "@@ -0,0 +1 @@\n+some text"


@proves("caps:Status-States/paused-on-purpose")
async def test_a_fork_and_a_pause_are_told(house: Inn) -> None:
    session = await house.session("one")
    await turn(house, session, "hello")
    async with listening(house.workspace, "session.*", "agent.status.changed") as heard:
        fork = SessionForkSource(session=session.uri, turn_id="turn-0")
        forked = await house.host.create(CreateSessionParams(channel="ahp-session:/two", fork=fork), "client")
        await forked.ready()
        session.pause("lunch")
        [record] = (await house.send("@demo", "are you there?")).deliveries
        assert (record.waits_for, session.status) == ("idle", AgentStatus.PAUSED)
        session.resume()
        assert (await house.final(record.id)).state == "delivered"
        await house.until(lambda: heard.own("session.resumed"))
    assert heard.own("session.forked")[0]["parentSessionId"] == session.uri
    assert "session.forked" in heard.types
    assert "paused" in heard.statuses


@proves("caps:Event-Capabilities/undeclared-not-emitted")
async def test_what_a_session_does_not_list_is_not_passed_on() -> None:
    async def answer(turn: Turn) -> None:
        await turn.say("hello")

    little = replace(CAPABILITIES, events=EventCapabilities(emits=(AgentSessionEventType.STATUS_CHANGED,)))
    async with inn(harnesses=[CallbackHarness("quiet", answer, capabilities=little)]) as house:
        session = await house.session("one", "quiet")
        async with listening(house.workspace) as heard:
            await turn(house, session, "hello")
            sent = await house.send("@quiet", "hi", waitFor="answered")
            await house.until(lambda: heard.statuses == ["active", "idle", "active", "idle"])
        assert sent.deliveries[0].state == "delivered"
        live = {one.partition("/")[2] for one in heard.types if one.startswith("session.event/")}
        # What the relay itself knows is told, whatever the session declares.
        assert live == {"status.changed", "message.received", "delivery.delivered"}


@proves("caps:Capability-Negotiation/predicate-enforced")
async def test_a_listener_for_what_never_comes_is_told_so_when_it_is_set_up() -> None:
    async def answer(turn: Turn) -> None:
        await turn.say("hello")

    quiet, demo = events.agent("@quiet"), events.agent("@demo")
    never = [
        quiet.tools.called("bash"),
        events.agent("@alice").status.changed(),
        demo.status.becomes("offline"),
    ]
    may_come = [quiet.status.becomes("idle"), events.session("@quiet").released(), demo.tools.failed()]
    little = replace(CAPABILITIES, events=EventCapabilities(emits=(AgentSessionEventType.STATUS_CHANGED,)))
    async with inn(harnesses=[CallbackHarness("quiet", answer, capabilities=little)]) as house:
        await house.session("one", "quiet")
        await house.session("two")
        async with asyncio.timeout(WITHIN), relay_of(house.workspace, Caller(Role.OWNER)) as relay:
            for predicate in may_come:
                (await relay.on(predicate, print))()
            for predicate in never:
                with pytest.raises(CapabilityUnsupported) as refused:
                    await relay.on(predicate, print)
                assert refused.value.capability == "events.emits"


async def test_predicates_about_an_agent_let_only_its_events_pass(house: Inn) -> None:
    session, other = await house.session("one"), await house.session("two")
    relay = relay_of(house.workspace, Caller(Role.OWNER))
    heard = Heard()
    both = events.agent("@demo").status.becomes("idle") | events.agent("@demo-2").tools.failed("fetch")
    await relay.on(both, heard)
    await turn(house, other, "hello")
    await turn(house, session, "hello")
    await house.until(lambda: heard.events)
    assert [event.data["agent"]["handle"] for event in heard.events] == ["@demo"]
    await relay.close()


async def test_nothing_is_computed_while_nobody_listens(house: Inn) -> None:
    session = await house.session("one")
    publisher = house.host.journal._publisher  # pyright: ignore[reportPrivateUsage]
    async with listening(house.workspace, "delivery.*"):
        assert publisher.observed is None
    async with listening(house.workspace, "session.event"):
        assert publisher.observed is not None
    assert publisher.observed is None
    await turn(house, session, "hello")


async def test_live_events_have_ids_of_their_own_and_are_not_told_again(house: Inn) -> None:
    session = await house.session("one")
    async with listening(house.workspace) as heard:
        await turn(house, session, "hello")
        await house.until(lambda: heard.statuses == ["active", "idle"])
    live = [event.id for event in heard.events if "." in event.id]
    assert len(set(live)) == len(live)
    result, again = await house.workspace.subscribe(Caller(Role.OWNER), SubscribeParams(after=live[0]))
    assert result.source == "replay"
    del again


async def test_what_is_said_in_a_session_is_for_the_owner_and_for_itself(house: Inn) -> None:
    session, _ = await house.session("one"), await house.session("two")
    async with (
        listening(house.workspace, caller=house.agent("@demo-2")) as other,
        listening(house.workspace, caller=house.agent("@demo")) as own,
    ):
        await turn(house, session, "hello")
        await house.until(lambda: "idle" in own.statuses and "idle" in other.statuses)
    assert own.own("transcript.chunk")
    assert not [event for event in other.events if event.type == "session.event"]
    assert other.statuses == ["active", "idle"]


async def test_a_listener_that_is_too_slow_is_told_what_is_missing(
    house: Inn, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await house.session("one")
    stream = house.workspace.events
    monkeypatch.setattr("serai.relay.events.stream._RECENT", 4)
    monkeypatch.setattr(stream, "_recent", type(stream._recent)(maxlen=4))  # pyright: ignore[reportPrivateUsage]
    _, slow = await house.workspace.subscribe(Caller(Role.OWNER), SubscribeParams(types=("session.event",)))
    first = asyncio.ensure_future(anext(slow))
    await asyncio.sleep(0)
    await turn(house, session, "write 30")
    async with asyncio.timeout(WITHIN):
        event = await first
        while event.type != "log":
            event = await anext(slow)
    assert event.data["until"] > event.data["after"]


async def test_a_result_that_is_kept_back_and_a_call_that_is_left_open_have_failed(house: Inn) -> None:
    session = await house.session("one")
    async with listening(house.workspace) as heard:
        house.say(session, "tool result", "first")
        for number, kind in enumerate((Confirmed, ResultConfirmed), 2):
            await house.until(lambda count=number - 1: heard.statuses.count("waiting") == count)
            call: Any = session.live.turn.calls()[0] if session.live.turn else None
            approved = kind is Confirmed
            more: dict[str, Any] = {"confirmed": "user-action"} if approved else {}
            answer = kind(turn_id="first", tool_call_id=call.tool_call_id, approved=approved, **more)
            session.dispatch(answer, a.ActionOrigin(client_id="client", client_seq=number), Nobody())
        await house.until(lambda: session.live.turn is None)
        house.say(session, "tool ls", "second")
        await house.until(lambda: heard.statuses.count("waiting") == 3)
        session.turns.interrupt_for_message()
        await house.until(lambda: len(heard.own("tool.failed")) == 2)
    assert len(heard.own("tool.called")) == 2
    assert [event["error"] for event in heard.own("tool.failed")] == ["result-denied", "skipped"]
    assert heard.statuses[-1] == session.status


@proves("caps:Status-States/paused-on-purpose")
async def test_a_pause_survives_the_host() -> None:
    store = MemoryStore()
    async with inn(store=store) as house:
        session = await house.session("one")
        house.say(session, "work 600 every 1")
        session.pause()
        assert session.status == AgentStatus.ACTIVE  # it acts at the next boundary
        [record] = (await house.send("@demo", "hello", mode="immediate")).deliveries
        assert (record.waits_for, session.live.turn is not None) == ("idle", True)
    async with inn(store=store) as house:
        session = await house.host.sessions.bring("ahp-session:/one")
        assert session is not None
        assert session.status == AgentStatus.PAUSED
        assert (await house.delivery(record.id)).waits_for == "idle"
        session.resume()
        assert (await house.final(record.id)).state == "delivered"
