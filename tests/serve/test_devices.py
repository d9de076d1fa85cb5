"""Devices of the owner: how one gets its token, what it opens, and what becomes of it when it is revoked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.asyncio.client import connect as websocket
from websockets.exceptions import ConnectionClosed

import serai
from hosts import TOKEN, WITHIN, HostProcess, host_process
from relay.workspaces import inn
from serai.client.events import ToolWaiting
from serai.client.session import SessionClient
from serai.config.settings import Settings
from serai.contract import DeviceLinkResult, Role, TokenInfo
from serai.errors import (
    AccessRefused,
    Forbidden,
    InvalidParams,
    LinkSpent,
    ProtocolError,
    Rejected,
    RelayError,
)
from serai.harness.demo import DemoHarness
from serai.host.host import Host
from serai.relay.sdk import Relay
from serai.relay.tokens import digest
from serai.serve import run
from serai.serve.frames import text_frame
from serai.store.memory import MemoryStore


@dataclass
class Served:
    """A host as `serai serve` runs it, in the test's own event loop."""

    port: int

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"


@pytest.fixture
async def host(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Served]:
    for of_the_process in ("settle", "raise_descriptor_limit"):
        monkeypatch.setattr(run, of_the_process, lambda: None)
    ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    built = Host(MemoryStore(), [DemoHarness(pace="instant")], text_frame, settings=Settings(port=0))
    serving = asyncio.create_task(run.run_host(built, {digest(TOKEN)}, started=ready.set_result))
    try:
        async with asyncio.timeout(WITHIN):
            yield Served(await ready)
    finally:
        serving.cancel()
        await asyncio.wait({serving})


async def code_for(host: Served | HostProcess, role: str = "owner", **more: Any) -> str:
    async with await Relay.connect(host.url, TOKEN) as relay:
        made: DeviceLinkResult = await relay.call("devices.link", role=role, **more)
        return made.code


async def redeemed(host: Served | HostProcess, body: Any, **headers: str) -> httpx2.Response:
    async with httpx2.AsyncClient() as http:
        return await http.post(f"http://127.0.0.1:{host.port}/link", json=body, headers=headers)


async def device(host: Served | HostProcess, role: str = "owner", name: str = "phone") -> str:
    """The token of a new device."""
    answer = await redeemed(host, {"code": await code_for(host, role), "name": name})
    assert answer.status_code == 200, answer.text
    assert answer.json() | {"token": ""} == {"token": "", "role": role, "name": name}
    return answer.json()["token"]


async def revoke(host: Served | HostProcess, token: str) -> None:
    async with await Relay.connect(host.url, TOKEN) as relay:
        await relay.call("tokens.revoke", id=digest(token)[:12])


# -- links -------------------------------------------------------------------------------------------------


async def test_a_link_gives_one_device_a_token_and_no_other(host: Served) -> None:
    body = {"code": await code_for(host), "name": "tablet"}
    token = (await redeemed(host, body)).json()["token"]
    again = await redeemed(host, body)
    assert (again.status_code, again.json()["code"]) == (401, "link_spent")
    assert again.json()["remedy"]
    async with serai.connect(host.url, token) as client:
        assert await client.create_session("demo")


async def test_a_browser_that_has_a_token_keeps_it_and_spends_the_link(host: Served) -> None:
    token = (await redeemed(host, {"code": await code_for(host)})).json()["token"]
    code = await code_for(host)
    assert (await redeemed(host, {"code": code, "has": token})).json()["token"] == token
    assert (await redeemed(host, {"code": code, "has": token})).status_code == 401
    answering = (await redeemed(host, {"code": await code_for(host, "responder")})).json()["token"]
    assert (await redeemed(host, {"code": await code_for(host), "has": answering})).json()[
        "token"
    ] != answering


async def test_a_device_is_listed_under_the_name_that_its_owner_gave_it(host: Served) -> None:
    code = await code_for(host, "responder", name="the old phone")
    answer = await redeemed(host, {"code": code, "name": "Firefox"})
    assert answer.json()["name"] == "the old phone"
    async with await Relay.connect(host.url, TOKEN) as relay:
        listed: list[TokenInfo] = list((await relay.call("tokens.list")).tokens)
    assert [(one.role, one.label) for one in listed] == [(Role.RESPONDER, "the old phone")]


async def test_what_is_no_code_opens_nothing(host: Served) -> None:
    for body in ({}, {"code": 7}, [], "x", {"code": "", "name": ""}, {"code": "x" * 5000}):
        answer = await redeemed(host, body)
        assert answer.status_code in {400, 401, 413}, body
        assert set(answer.json()) == {"code", "message", "remedy"}, body


async def test_a_page_of_others_cannot_use_a_link(host: Served) -> None:
    code = await code_for(host)
    for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
        assert (await redeemed(host, {"code": code}, **headers)).status_code == 403
    assert (await redeemed(host, {"code": code})).status_code == 200


async def test_a_link_is_good_for_ten_minutes() -> None:
    now = [1_700_000_000_000]
    async with inn(now=lambda: now[0]) as house:
        good = (await house.call("devices.link")).code
        code = (await house.call("devices.link")).code
        now[0] += 600_000
        house.workspace.tokens.redeem(good)
        now[0] += 1
        with pytest.raises(LinkSpent):
            house.workspace.tokens.redeem(code)


async def test_only_the_owner_makes_links_and_no_device_is_an_observer() -> None:
    async with inn() as house:
        await house.session("one")
        with pytest.raises(Forbidden):
            await house.call("devices.link", house.agent("@demo"))
        with pytest.raises(InvalidParams):
            await house.call("devices.link", role="observer")


async def test_the_name_of_a_device_is_one_line() -> None:
    async with inn() as house:
        code = (await house.call("devices.link")).code
        _, info = house.workspace.tokens.redeem(code, "a\nphone\x1b[31m \u202e" + "x" * 500)
    assert info.label.startswith("a phone [31m xxx")
    assert len(info.label) == 80


# -- what a device may do ----------------------------------------------------------------------------------


async def test_a_device_of_the_owner_may_do_what_the_owner_may(host: Served) -> None:
    token = await device(host)
    async with await Relay.connect(host.url, token) as relay:
        assert (await relay.call("hello")).role == Role.OWNER
        await relay.call("rooms.create", name="ops")
        await relay.call("devices.link")
    async with serai.connect(host.url, token) as client:
        session = await client.create_session("demo")
        assert (await (await session.prompt("say hello")).result()).text


async def test_a_device_survives_the_host(tmp_path: Path) -> None:
    async with host_process(tmp_path) as host:
        token = await device(host)
        await host.kill()
        await host.start()
        async with serai.connect(host.url, token) as client:
            assert await client.list_sessions() == []


async def waiting_call(session: SessionClient) -> str:
    """Have the demo agent ask about a tool; the id of the call."""
    turn = await session.prompt("tool ls -l")
    async for event in turn:
        if isinstance(event, ToolWaiting):
            return event.call.tool_call_id
    pytest.fail("nobody was asked")


async def test_a_responder_sees_what_happens_and_approves_a_tool(host: Served) -> None:
    token = await device(host, "responder")
    async with serai.connect(host.url, TOKEN) as owner, serai.connect(host.url, token) as client:
        session = await owner.create_session("demo")
        call = await waiting_call(session)
        seen = await client.open_session(session.uri)
        await seen.approve(call)
        await seen.mark_read()
        async with asyncio.timeout(WITHIN):
            await session.until(lambda state: state.active_turn is None)


async def test_a_responder_changes_nothing_else(host: Served) -> None:
    token = await device(host, "responder")
    async with serai.connect(host.url, TOKEN) as owner, serai.connect(host.url, token) as client:
        session = await owner.create_session("demo")
        call = await waiting_call(session)
        seen = await client.open_session(session.uri)
        for change in (
            seen.queue("say hello"),
            seen.cancel(),
            seen.set_title("mine"),
            seen.approve(call, edited_input='{"command": "rm -rf everything"}'),
        ):
            with pytest.raises(Rejected) as refused:
                await change
            assert "forbidden" in str(refused.value)
        for command in (client.create_session("demo"), seen.dispose(), client.create_terminal()):
            with pytest.raises(ProtocolError) as denied:
                await command
            assert denied.value.number == -32009
        assert session.state.summary.title != "mine"


async def test_a_responder_reads_the_relay_and_writes_nothing_there(host: Served) -> None:
    token = await device(host, "responder")
    async with await Relay.connect(host.url, TOKEN) as owner, await Relay.connect(host.url, token) as relay:
        await owner.call("rooms.create", name="ops")
        assert (await relay.call("hello")).role == Role.RESPONDER
        assert [room.name for room in (await relay.call("rooms.list")).rooms] == ["#ops"]
        for method, params in {
            "rooms.create": {"name": "mine"},
            "messages.send": {"to": "#ops", "text": "x"},
            "tokens.list": {},
            "devices.link": {},
        }.items():
            with pytest.raises(RelayError) as refused:
                await relay.call(method, **params)
            assert refused.value.code == "forbidden"


async def test_a_responder_reads_over_http_and_posts_nothing(host: Served) -> None:
    token = await device(host, "responder")
    async with serai.connect(host.url, TOKEN) as owner:
        session = await owner.create_session("demo")
    bearer = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{host.port}", headers=bearer) as http:
        assert (await http.get(f"/sessions/{session.id}/messages")).status_code == 200
        for refused in (
            await http.delete(f"/sessions/{session.id}/grants?grant=x"),
            await http.post("/mcp", json={}),
        ):
            assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


# -- the end of a device -----------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["owner", "responder"])
async def test_revoking_a_device_cuts_its_connections(host: Served, role: str) -> None:
    token = await device(host, role)
    async with serai.connect(host.url, TOKEN) as owner:
        session = await owner.create_session("demo")
    async with (
        websocket(f"{host.url}/ahp?tkn={token}") as ahp,
        websocket(f"{host.url}/relay?tkn={token}") as relay,
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=WITHIN) as http,
        http.stream("GET", f"http://127.0.0.1:{host.port}/sessions/{session.id}/events") as events,
        asyncio.timeout(WITHIN),
    ):
        await revoke(host, token)
        for link in (ahp, relay):
            with pytest.raises(ConnectionClosed) as closed:
                await link.recv()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4401
        async for _ in events.aiter_bytes():
            pass
    with pytest.raises(AccessRefused):
        async with serai.connect(host.url, token):
            pass
