"""The relay's tools over MCP: by the SDK's own client, on the real port."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import httpx2
import pytest
from msgspec.structs import replace

from hosts import TOKEN, WITHIN
from relay.ports import OpenInn, Tools, open_inn, tools_over_http
from relay.workspaces import relay_of
from requirements import proves
from serai.contract import ActionCapabilities, Role
from serai.harness.callback import CAPABILITIES, CallbackHarness
from serai.host.turn import Turn
from serai.relay.tokens import Caller

TOOLS = {
    *("send_message", "reply", "react", "check_inbox", "mark_read", "list_agents", "list_rooms"),
    *("create_room", "join_room", "leave_room", "search_messages", "get_thread", "get_delivery"),
    *("flush_deliveries", "notify_when_idle", "list_actions", "invoke_action"),
    *("agent_create", "agent_status", "agent_pause", "agent_resume", "agent_release"),
}


@pytest.fixture
async def house() -> AsyncGenerator[OpenInn]:
    async with open_inn() as opened:
        yield opened


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_of_either_era_finds_the_tools_and_uses_one(house: OpenInn, mode: str) -> None:
    await house.session("one")
    async with tools_over_http(house.url, await house.token("ci"), mode) as tools:
        # Whoever has no session makes no agents, and ends none.
        others = {"agent_create", "agent_pause", "agent_resume", "agent_release"}
        assert await tools.names() == TOOLS - others
        listed = await tools("list_agents")
        assert listed["you"] == "@ci"
        assert {one["agent"] for one in listed["agents"]} == {"@alice", "@ci", "@demo"}
        sent = await tools("send_message", to="@demo", text="a text that nobody needs twice")
        assert "nobody needs" not in str(sent)
        [delivery] = sent["deliveries"]
        assert (delivery["to"], delivery["state"]) == ("@demo", "delivered")
        assert (await tools("get_delivery", delivery=delivery["delivery"]))["evidence"]


async def test_a_sender_can_wait_for_the_answer_and_not_for_longer_than_fifty_seconds(house: OpenInn) -> None:
    await house.session("one")
    async with tools_over_http(house.url, TOKEN) as tools:
        [delivery] = (await tools("send_message", to="@demo", text="hello", wait=50))["deliveries"]
        assert delivery["answer"]["state"] == "complete"
        assert delivery["answer"]["text"]
        assert (await tools("send_message", to="@demo", text="hello", wait=51)).startswith("invalid_params")


async def test_an_agent_that_only_has_mcp_receives_by_check_inbox(house: OpenInn) -> None:
    token = await house.token("ci")
    assert (await house.call("agents.get", agent="@ci")).capabilities.delivery.modes == ("manual",)
    [record] = (await house.send("@ci", "the build is yours")).deliveries
    assert (record.state, record.mode, record.waits_for) == ("accepted", "manual", "fetch")
    async with tools_over_http(house.url, token) as tools:
        [peeked] = (await tools("check_inbox", peek=True))["messages"]
        assert (await house.delivery(record.id)).is_open
        [message] = (await tools("check_inbox"))["messages"]
        assert message == peeked
        assert (message["from"], message["text"]) == ("@alice", "the build is yours")
        assert "messages" not in await tools("check_inbox")
    record = await house.delivery(record.id)
    assert (record.state, record.evidence) == ("delivered", {"evidence": "fetched"})


async def test_a_conversation_in_a_room(house: OpenInn) -> None:
    anna, ben = await house.token("anna"), await house.token("ben")
    async with tools_over_http(house.url, anna) as a, tools_over_http(house.url, ben) as b:
        assert await a("create_room", name="ops", topic="nights") == {
            "room": "#ops",
            "topic": "nights",
            "members": ["@anna"],
        }
        assert (await b("join_room", room="#ops"))["members"] == ["@anna", "@ben"]
        sent = await a("send_message", to="#ops", text="the disk is full, @nobody")
        assert [one["to"] for one in sent["deliveries"]] == ["@ben"]
        assert sent["unknownMentions"] == ["@nobody"]
        inbox = await b("check_inbox")
        assert (inbox["messages"][0]["room"], inbox["unread"]) == ("#ops", {"#ops": 1})
        reply = await b("reply", message=sent["message"], text="I empty it")
        assert [one["to"] for one in reply["deliveries"]] == ["@anna"]
        assert await b("react", message=sent["message"], emoji="👍") == {"message": sent["message"]}
        await b("mark_read", message=sent["message"])
        assert "unread" not in await b("check_inbox")
        thread = (await a("get_thread", message=reply["message"]))["messages"]
        assert [one["text"] for one in thread] == ["the disk is full, @nobody", "I empty it"]
        assert [one["emoji"] for one in (await a("check_inbox"))["reactions"]] == ["👍"]
        [hit] = (await b("search_messages", query="disk"))["hits"]
        assert hit["message"] == sent["message"]
        assert (await b("leave_room", room="#ops"))["members"] == ["@anna"]
        assert [room["room"] for room in (await b("list_rooms"))["rooms"]] == ["#ops"]


async def test_who_calls_is_the_token_and_never_an_argument(house: OpenInn) -> None:
    async with tools_over_http(house.url, await house.token("eve")) as eve:
        refused = await eve("send_message", to="@alice", text="hi", **{"as": "alice"})
        assert refused.startswith("invalid_params")
        assert (await eve("check_inbox", agent="alice")).startswith("invalid_params")
        assert (await eve("send_message", to="@alice", text="hi", mode="soon")).startswith("unknown_mode")


async def test_without_a_token_nothing_is_answered_and_only_posts_are(house: OpenInn) -> None:
    async with httpx2.AsyncClient() as http:
        assert (await http.post(house.url, json={})).status_code == 401
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        answer = await http.get(house.url, headers=bearer)
        assert (answer.status_code, answer.json()["remedy"]) == (405, "Use POST")


async def test_the_token_of_a_session_ends_with_it(house: OpenInn) -> None:
    session = await house.session("one")
    assert house.host.relay_access is not None
    access = await house.host.relay_access(session.uri)
    assert access == await house.host.relay_access(session.uri)
    async with tools_over_http(access.url, access.token) as tools:
        assert (await tools("list_agents"))["you"] == "@demo"
    await house.host.dispose(session.uri)
    async with httpx2.AsyncClient() as http:
        bearer = {"Authorization": f"Bearer {access.token}"}
        assert (await http.post(access.url, json={}, headers=bearer)).status_code == 401


class Worker:
    """An agent that works until it is told to stop."""

    def __init__(self, name: str = "worker") -> None:
        self.goes_on = asyncio.Event()
        self.harness = CallbackHarness(name, self.answer)

    async def answer(self, _turn: Turn) -> None:
        await self.goes_on.wait()


async def test_someone_is_told_once_when_an_agent_is_idle() -> None:
    worker = Worker()
    async with open_inn(harnesses=[worker.harness]) as house:
        session = await house.session("one", "worker")
        async with tools_over_http(house.url, await house.token("ci")) as tools:
            told = await tools("notify_when_idle", agent="@worker")
            assert told == {"agent": "@worker", "status": "idle", "willNotify": False}
            house.say(session, "go")
            for _ in range(2):
                told = await tools("notify_when_idle", agent="@worker")
                assert told == {"agent": "@worker", "status": "active", "willNotify": True}
            worker.goes_on.set()
            await house.until(lambda: not session.is_busy)
            messages = await _fetched(tools)
            assert [(one["from"], one["text"]) for one in messages] == [("@serai", "@worker is idle now.")]
            house.say(session, "again", "again")
            await house.until(lambda: len(session.live.head.turns) == 2)
            assert await tools("check_inbox", peek=True) == {"unread": {"@ci, @serai": 1}}


async def _fetched(tools: Tools) -> list[dict[str, str]]:
    """The messages of an inbox, once there are some."""
    async with asyncio.timeout(WITHIN):
        while True:
            if found := (await tools("check_inbox")).get("messages"):
                return found


@proves("delivery:Delivery-Modes/manual-held-until-flush", "delivery:WebSocket-Role/mcp-flush")
async def test_a_session_flushes_what_waits_for_it(house: OpenInn) -> None:
    session = await house.session("one")
    [record] = (await house.send("@demo", "when you like", mode="manual")).deliveries
    assert (record.state, record.waits_for) == ("accepted", "flush")
    assert house.host.relay_access is not None
    access = await house.host.relay_access(session.uri)
    async with tools_over_http(access.url, access.token) as tools:
        [flushed] = (await tools("flush_deliveries"))["deliveries"]
        assert flushed["delivery"] == record.id
    assert (await house.final(record.id)).state == "delivered"


@proves("caps:Action-Capabilities/invoke-through-tools", "caps:Capability-Negotiation/invoke-enforced")
async def test_each_action_that_a_caller_may_use_is_a_tool_of_its_own() -> None:
    async def answer(turn: Turn) -> None:
        await turn.say("done")

    buyer = replace(CAPABILITIES, actions=ActionCapabilities(invoke=True))
    harnesses = [CallbackHarness("buyer", answer, capabilities=buyer), CallbackHarness("plain", answer)]
    async with open_inn(harnesses=harnesses) as house:
        shop = relay_of(house.workspace, Caller(Role.OWNER))
        deploy = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}
        await shop.action("shop.deploy", lambda call: {"went": call.input["to"]}, input=deploy)
        await shop.action("double", lambda call: 2 * call.input, input={"type": "integer"})
        await shop.action("reply", lambda _: "mine")
        await shop.action("agent_create", lambda _: "not the host's")
        await shop.action("secret", lambda _: "x", available_to=["ci"])
        sessions = {name: await house.session(name, name) for name in ("buyer", "plain")}
        assert house.host.relay_access is not None
        access = {name: await house.host.relay_access(one.uri) for name, one in sessions.items()}
        async with tools_over_http(*access["buyer"]) as tools:
            listed = {tool.name: tool for tool in (await tools.client.list_tools()).tools}
            assert listed.keys() == TOOLS | {"shop_deploy", "double"}
            assert listed["shop_deploy"].input_schema == deploy
            assert (await tools("shop_deploy", to="Paris"))["output"] == {"went": "Paris"}
            assert (await tools("double", input=4))["output"] == 8
            assert (await tools("invoke_action", name="reply"))["output"] == "mine"
            failed = await tools("shop_deploy", to=7)
            assert (failed["state"], failed["code"]) == ("failed", "validation_failed")
            created = await tools("agent_create", provider="nobody")
            assert "not the host's" not in str(created)
            names = {one["name"] for one in (await tools("list_actions"))["actions"]}
            assert names >= {"shop.deploy", "agent.create"}
            assert "secret" not in names
        async with tools_over_http(*access["plain"]) as tools:
            assert await tools.names() == {name for name in TOOLS if not name.startswith("agent_")}
            refused = await tools("invoke_action", name="shop.deploy", input={"to": "Paris"})
            assert refused.startswith("capability_unsupported")
        await shop.close()
