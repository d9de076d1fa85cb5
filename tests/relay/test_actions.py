"""What participants do for others: who may offer it, who may ask for it, and what comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from hosts import KEY, TOKEN, WITHIN
from relay.port import listening_port
from relay.workspaces import Inn, inn, relay_of
from requirements import proves
from serai.cli import main
from serai.contract import (
    ActionCapabilities,
    ActionRunParams,
    ActionState,
    Empty,
    IdentityKind,
    Role,
    SubscribeParams,
    WorkspaceEvent,
)
from serai.errors import ActionNotFound, CapabilityUnsupported, Forbidden, InvalidParams, NameTaken
from serai.harness.callback import CAPABILITIES, CallbackHarness
from serai.host.turn import Turn
from serai.relay.predicates import action, events
from serai.relay.sdk import Relay
from serai.relay.tokens import Caller
from serai.store.contract import Store
from serai.store.sqlite.store import SqliteStore

DEPLOY = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}


def harness(name: str, **uses: bool) -> CallbackHarness:
    """An agent that may use actions in some ways."""

    async def answer(turn: Turn) -> None:
        await turn.say("done")

    declared = replace(CAPABILITIES, actions=ActionCapabilities(**uses))
    return CallbackHarness(name, answer, capabilities=declared)


@asynccontextmanager
async def workshop(store: Store | None = None) -> AsyncGenerator[Inn]:
    """A host with one who offers actions (@shop), one who asks for them (@buyer), and @plain."""
    offered = [harness("shop", expose=True), harness("buyer", invoke=True), harness("plain")]
    async with inn(harnesses=offered, store=store) as house:
        for name in ("shop", "buyer", "plain"):
            if house.workspace.identities.find(name) is None:
                await house.session(name, name)
        yield house


@asynccontextmanager
async def offering(
    house: Inn, handler: Callable[[ActionRunParams], Any], *, by: str = "@shop", **more: Any
) -> AsyncGenerator[Relay]:
    """Have someone offer `deploy`."""
    relay = relay_of(house.workspace, house.agent(by))
    await relay.action("deploy", handler, description="Deploys", input=DEPLOY, **more)
    try:
        yield relay
    finally:
        await relay.close()


async def audit(house: Inn) -> list[WorkspaceEvent]:
    """All that is written down of actions."""
    _, stream = await house.workspace.subscribe(
        Caller(Role.OWNER), SubscribeParams(types=("action.*", "message.created"), after="0")
    )
    await house.send("@alice", "the end")
    told: list[WorkspaceEvent] = []
    async with asyncio.timeout(WITHIN):
        async for event in stream:
            if event.type == "message.created":
                if event.data["message"]["text"] == "the end":
                    break
            else:
                told.append(event)
    return told


def deployed(call: ActionRunParams) -> dict[str, str]:
    """Pretend to deploy."""
    return {"deployed": call.input["to"], "for": call.caller.handle}


@proves("caps:Action-Capabilities/expose-registers")
async def test_an_action_is_run_by_who_offers_it_and_every_step_is_written_down() -> None:
    async with workshop() as house, offering(house, deployed):
        result = await house.call(
            "actions.invoke", house.agent("@buyer"), name="deploy", input={"to": "test"}, waitMs=5000
        )
        assert (result.state, result.output) == (ActionState.COMPLETED, {"deployed": "test", "for": "@buyer"})
        told = await audit(house)
        assert [event.type for event in told] == ["action.registered", "action.invoked", "action.completed"]
        assert {event.data["action"] for event in told} == {"deploy"}
        assert told[1].data["invocationId"] == told[2].data["invocationId"] == result.invocation_id


@pytest.mark.parametrize("wait_ms", [0, 1])
async def test_who_does_not_wait_long_enough_gets_the_outcome_as_a_message(wait_ms: int) -> None:
    gate = asyncio.Event()

    async def slow(call: ActionRunParams) -> str:
        await gate.wait()
        return f"deployed to {call.input['to']}"

    async with workshop() as house, offering(house, slow):
        result = await house.call(
            "actions.invoke", house.agent("@buyer"), name="deploy", input={"to": "x"}, waitMs=wait_ms
        )
        assert (result.state, result.output) == (ActionState.INVOKED, None)
        gate.set()
        buyer = house.host.sessions.peek("ahp-session:/buyer")
        assert buyer is not None
        await house.until(lambda: buyer.live.head.turns)
        assert "deployed to x" in buyer.live.head.turns[0].user_message.text
        [record] = (await house.call("deliveries.list", agent="@buyer")).deliveries
        assert record.reason == "action-result"


async def test_the_same_invocation_id_runs_the_action_once() -> None:
    runs: list[str] = []
    async with workshop() as house, offering(house, lambda call: runs.append(call.invocation_id)):
        params = {"name": "deploy", "input": {"to": "x"}, "invocationId": "mine", "waitMs": 5000}
        both = [await house.call("actions.invoke", house.agent("@buyer"), **params) for _ in range(2)]
        assert both[0] == both[1]
    assert runs == ["mine"]


async def test_an_invocation_id_is_known_after_a_restart_and_what_ran_has_failed(tmp_path: Path) -> None:
    path, begun, runs = tmp_path / "serai.db", asyncio.Event(), list[str]()

    async def deploy(call: ActionRunParams) -> str:
        runs.append(call.invocation_id)
        if call.input["to"] == "forever":
            begun.set()
            await asyncio.Event().wait()
        return "done"

    def ask(house: Inn, invocation: str, to: str, wait_ms: int = 5000) -> Any:
        params = {"name": "deploy", "input": {"to": to}, "invocationId": invocation, "waitMs": wait_ms}
        return house.call("actions.invoke", house.agent("@buyer"), **params)

    async with workshop(SqliteStore(path, KEY)) as house, offering(house, deploy):
        done = await ask(house, "first", "test")
        assert (await ask(house, "second", "forever", 0)).state == ActionState.INVOKED
        await begun.wait()
    async with workshop(SqliteStore(path, KEY)) as house, offering(house, deploy):
        assert await ask(house, "first", "test") == done
        failed = await ask(house, "second", "forever")
        assert (failed.state, failed.code) == (ActionState.FAILED, "handler_failed")
        [told] = [event for event in await audit(house) if event.type == "action.failed"]
        assert told.data["invocationId"] == "second"
    assert runs == ["first", "second"]


async def test_input_and_output_that_do_not_fit_and_errors_are_failures_with_their_code() -> None:
    def breaks(call: ActionRunParams) -> Any:
        if call.input["to"] == "nowhere":
            raise LookupError("no such place")
        return 5

    async with workshop() as house, offering(house, breaks, output={"type": "string"}):
        outcomes = [
            await house.call("actions.invoke", house.agent("@buyer"), name="deploy", input=given, waitMs=5000)
            for given in ({}, {"to": "nowhere"}, {"to": "here"})
        ]
        assert {one.state for one in outcomes} == {ActionState.FAILED}
        assert [one.code for one in outcomes] == ["validation_failed", "handler_failed", "validation_failed"]
        assert "no such place" in (outcomes[1].error or "")
        with pytest.raises(ActionNotFound) as unknown:
            await house.call("actions.invoke", name="destroy")
        assert unknown.value.code == "not_found"


@proves("caps:Action-Capabilities/availability-elsewhere")
@pytest.mark.parametrize(
    ("selectors", "is_available"),
    [(None, True), (["@buyer"], True), (["buy*"], True), (["trusted"], True), (["@shop", "nobody"], False)],
)
async def test_who_may_ask_is_decided_by_the_selectors(
    selectors: list[str] | None, is_available: bool
) -> None:
    async with workshop() as house, offering(house, deployed, available_to=selectors):
        identities = house.workspace.identities
        buyer = identities.get("@buyer")
        identities.put(
            replace(buyer, identity=replace(buyer.identity, metadata={"tags": ["trusted"]})), "agent.updated"
        )
        listed = await house.call("actions.list", house.agent("@buyer"))
        assert ("deploy" in [one.name for one in listed.actions]) is is_available
        result = await house.call(
            "actions.invoke", house.agent("@buyer"), name="deploy", input={"to": "x"}, waitMs=5000
        )
        assert result.state == (ActionState.COMPLETED if is_available else ActionState.DENIED)
        assert result.code == (None if is_available else "permission_denied")


@proves("caps:Capability-Negotiation/invoke-enforced", "caps:Capability-Negotiation/expose-enforced")
async def test_a_session_that_does_not_declare_it_neither_asks_nor_offers() -> None:
    async with workshop() as house, offering(house, deployed):
        assert (await house.call("actions.list", house.agent("@plain"))).actions == ()
        with pytest.raises(CapabilityUnsupported) as asked:
            await house.call("actions.invoke", house.agent("@plain"), name="deploy", input={"to": "x"})
        assert asked.value.capability == "actions.invoke"
        relay = relay_of(house.workspace, house.agent("@buyer"))
        with pytest.raises(CapabilityUnsupported) as offered:
            await relay.action("sell", deployed)
        assert offered.value.capability == "actions.expose"


async def test_an_action_goes_with_its_connection_and_its_name_is_its_owners() -> None:
    async with workshop() as house:
        async with offering(house, deployed):
            other = relay_of(house.workspace, Caller(Role.OWNER))
            with pytest.raises(NameTaken):
                await other.action("deploy", deployed)
            with pytest.raises(Forbidden):
                await house.call("actions.unregister", house.agent("@buyer"), name="deploy")
        names = [one.name for one in (await house.call("actions.list")).actions]
        assert "deploy" not in names
        with pytest.raises(InvalidParams):
            await house.call("actions.register", name="posted")


async def test_predicates_tell_outcomes_apart_and_a_secret_is_in_no_record() -> None:
    secret = "ghp_" + "a1B2c3D4" * 5
    heard: list[str] = []
    async with workshop() as house, offering(house, lambda _call: {"token": secret}) as relay:
        owner = relay_of(house.workspace, Caller(Role.OWNER))
        await owner.on(action("deploy").called_by("@buyer"), lambda event: heard.append(event.type))
        await owner.on(action("deploy").completed(), lambda event: heard.append(event.type))
        del relay
        await house.call(
            "actions.invoke", house.agent("@buyer"), name="deploy", input={"to": secret}, waitMs=5000
        )
        await house.until(lambda: len(heard) == 2)
        assert sorted(heard) == ["action.completed", "action.invoked"]
        told = msgspec.json.encode(await audit(house))
        assert secret.encode() not in told
        await owner.close()


async def test_the_host_makes_pauses_resumes_and_releases_agents(house: Inn) -> None:
    async def do(what: str, /, **given: str) -> Any:
        return await house.call("actions.invoke", name=f"agent.{what}", input=given, waitMs=20_000)

    made = await do("create", provider="demo", name="helper")
    assert made.output["identity"]["handle"] == "@helper"
    assert (await do("status", agent="@helper")).output["status"] == "idle"
    assert (await do("pause", agent="@helper", reason="lunch")).output == {"status": "paused"}
    [record] = (await house.send("@helper", "hello")).deliveries
    assert record.waits_for == "idle"
    assert (await do("resume", agent="@helper")).output["status"] in {"idle", "active"}
    assert (await house.final(record.id)).state == "delivered"
    assert (await do("release", agent="@helper")).output == {"status": "released"}
    assert (await do("status", agent="@helper")).output["status"] == "released"
    assert (await do("release", agent="@alice")).code == "handler_failed"
    assert (await do("create", provider="nobody")).code == "handler_failed"


@proves("caps:Capability-Negotiation/lifecycle-enforced")
async def test_an_agent_manages_only_itself_and_those_that_it_made() -> None:
    fixed = replace(CAPABILITIES, lifecycle=replace(CAPABILITIES.lifecycle, release=False))

    async def answer(turn: Turn) -> None:
        await turn.say("done")

    more = [harness("boss", invoke=True), CallbackHarness("fixed", answer, capabilities=fixed)]
    async with inn(harnesses=more) as house:
        await house.session("boss", "boss")
        await house.session("other")
        boss = house.agent("@boss")

        async def do(what: str, /, **given: str) -> Any:
            return await house.call("actions.invoke", boss, name=f"agent.{what}", input=given, waitMs=20_000)

        assert (await do("release", agent="@demo")).code == "permission_denied"
        made = (await do("create", provider="fixed", name="mine")).output
        assert made["identity"]["kind"] == IdentityKind.AGENT
        refused = await do("release", agent="@mine")
        assert (refused.code, "lifecycle.release" in refused.error) == ("handler_failed", True)
        assert (await do("pause", agent="@mine")).state == ActionState.COMPLETED


@asynccontextmanager
async def port_of(house: Inn) -> AsyncGenerator[str]:
    """The relay over a real port, for the owner."""
    async with listening_port(house) as number:
        yield f"ws://127.0.0.1:{number}"


async def test_over_the_port_the_host_asks_whoever_registered_an_action() -> None:
    def breaks(_call: ActionRunParams) -> None:
        raise LookupError("no such place")

    async with workshop() as house, port_of(house) as url:
        async with await Relay.connect(url, TOKEN) as shop, await Relay.connect(url, TOKEN) as buyer:
            handle = await shop.action("deploy", deployed, input=DEPLOY)
            await shop.action("break", breaks)
            heard: list[str] = []
            await shop.on(handle.completed(), lambda event: heard.append(event.data["invocationId"]))
            done = await buyer.invoke("deploy", {"to": "test"})
            assert (done.state, done.output["deployed"]) == (ActionState.COMPLETED, "test")
            failed = await buyer.invoke("break")
            assert (failed.code, failed.error) == ("handler_failed", "LookupError: no such place")
            await house.until(lambda: heard == [done.invocation_id])
            with pytest.raises(CapabilityUnsupported) as refused:
                await shop.on(events.agent("@alice").status.changed(), print)
            assert refused.value.capability == "events.emits"
        left = partial(house.workspace.actions.list, Caller(Role.OWNER), Empty())
        await house.until(lambda: "deploy" not in [one.name for one in left().actions])


async def test_who_is_asked_and_goes_away_has_failed() -> None:
    begun, never = asyncio.Event(), asyncio.Event()

    async def slow(_call: ActionRunParams) -> None:
        begun.set()
        await never.wait()

    async with workshop() as house, port_of(house) as url:
        shop = await Relay.connect(url, TOKEN)
        await shop.action("deploy", slow)
        asking = asyncio.create_task(house.call("actions.invoke", name="deploy", waitMs=20_000))
        await begun.wait()
        await shop.close()
        outcome = await asking
        assert (outcome.state, outcome.code) == (ActionState.FAILED, "handler_failed")


async def test_the_command_lists_actions_and_invokes_one(
    house: Inn, capsys: pytest.CaptureFixture[str]
) -> None:
    await house.session("one")
    async with port_of(house) as url:
        reach = ["--url", url, "--token", TOKEN]
        assert await asyncio.to_thread(main, ["actions", *reach]) == 0
        assert "agent.status" in capsys.readouterr().out
        call = ["actions", "invoke", "agent.status", '{"agent": "@demo"}', "--json", *reach]
        assert await asyncio.to_thread(main, call) == 0
        outcome = msgspec.json.decode(capsys.readouterr().out)
        assert (outcome["state"], outcome["output"]["status"]) == ("completed", "idle")
        assert await asyncio.to_thread(main, ["actions", "invoke", "agent.status", *reach]) == 1
        assert "validation_failed" in capsys.readouterr().out
