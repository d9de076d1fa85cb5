"""The active client: the one that lends its tools to a session."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from conformance.client import Client, calls_of, connecting, text_of
from conformance.conftest import ONE, new_session, over
from conformance.lending import begin, claim, complete
from hosts import House, housing
from requirements import proves
from serai.config.settings import Settings
from serai.harness.callback import CallbackHarness
from serai.host.turn import Turn


async def careful(turn: Turn) -> None:
    """Asks before it lets the client run its tool."""
    client = turn.active_client
    assert client is not None
    call = await turn.tool(
        "lookup", "Look it up", message="Look it up?", input="{}", client_id=client.client_id
    )
    result = await call.result()
    await turn.say(f"{result.success} {result.error.message if result.error else ''}")


@pytest.fixture
async def house() -> AsyncIterator[House]:
    settings = Settings(client_grace_seconds=0.05)
    async with housing(harnesses=[CallbackHarness("careful", careful)], settings=settings) as house:
        yield house


@proves("ahp:ToolDefinition/server-or-client")
async def test_one_client_at_a_time_is_active(client: Client, session: str, house: House) -> None:
    await claim(client, session, displayName="Editor")
    active = client.session(session).active_client
    assert active is not None
    assert [tool.name for tool in active.tools] == ["lookup"]
    assert client.session(session).server_tools, "the host has tools of its own"
    async with connecting(house.url, "other") as other:
        await other.initialize(session)
        for kind, fields, reason in (
            ("activeClientChanged", {"activeClient": {"clientId": "other", "tools": []}}, "other_client"),
            ("activeClientChanged", {"activeClient": None}, "other_client"),
            ("activeClientToolsChanged", {"tools": []}, "not_active"),
        ):
            await other.dispatch(session, kind, **fields)
            assert (await other.hear(kind))["rejectionReason"].startswith(reason)
        await client.dispatch(session, "activeClientToolsChanged", tools=[])
        await other.hear("activeClientToolsChanged")
        await client.dispatch(session, "activeClientChanged", activeClient=None)
        released = await other.hear("activeClientChanged")
        assert released["action"]["activeClient"] is None
        await claim(other, session)


async def test_a_client_can_only_make_itself_active(client: Client, session: str) -> None:
    await client.dispatch(session, "activeClientChanged", activeClient={"clientId": "you", "tools": []})
    assert (await client.hear("activeClientChanged"))["rejectionReason"].startswith("not_yourself")


@proves(
    "ahp:session/toolCallStart/owner-set-for-client-tool",
    "ahp:session/toolCallStart/owner-runs-it",
    "ahp:session/toolCallReady/client-tool-not-asked",
    "ahp:session/toolCallComplete/owner-reports",
    "ahp:session/toolCallContentChanged/owner-streams",
)
async def test_the_owner_runs_its_tool_and_nobody_else_does(
    client: Client, session: str, house: House
) -> None:
    await claim(client, session)
    async with connecting(house.url, "other") as other:
        await other.initialize(session)
        call = await begin(client, session)
        assert (call["toolName"], call["toolClientId"]) == ("lookup", "one")
        ready = (await client.hear("toolCallReady"))["action"]
        assert ready["confirmed"] == "not-needed"
        assert ready["toolInput"] == "water"
        await other.hear("toolCallReady")
        where = {"turnId": "t1", "toolCallId": call["toolCallId"]}
        for kind, fields in (
            ("toolCallComplete", complete(call)),
            ("toolCallContentChanged", {**where, "content": []}),
        ):
            await other.dispatch(session, kind, **fields)
            assert (await other.hear(kind))["rejectionReason"].startswith("not_owner")
        progress = [{"type": "text", "text": "looking"}]
        await client.dispatch(session, "toolCallContentChanged", **where, content=progress)
        assert (await other.hear("toolCallContentChanged"))["action"]["content"] == progress
        found = [{"type": "text", "text": "it is wet"}]
        await client.dispatch(session, "toolCallComplete", **complete(call, content=found))
        turn = await over(client, session)
        assert "`lookup` says: “it is wet”" in text_of(turn)
    await client.dispatch(session, "turnStarted", turnId="t2", userMessage={"text": "tool live"})
    assert "toolClientId" not in (await client.hear("toolCallStart", turnId="t2"))["action"]


async def test_a_host_s_own_call_is_never_completed_by_a_client(client: Client, session: str) -> None:
    await client.dispatch(session, "turnStarted", turnId="t1", userMessage={"text": "tool ls"})
    call = (await client.hear("toolCallStart"))["action"]
    await client.dispatch(session, "toolCallComplete", **complete(call))
    assert (await client.hear("toolCallComplete"))["rejectionReason"].startswith("not_owner")


@proves(
    "ahp:SessionActiveClient/unset-on-disconnect", "ahp:session/activeClientChanged/released-on-disconnect"
)
async def test_a_client_that_is_gone_is_no_longer_active(client: Client, session: str, house: House) -> None:
    await claim(client, session)
    async with connecting(house.url, "other") as other:
        await other.initialize(session)
        client.drop()
        released = await other.hear("activeClientChanged")
        assert released["action"]["activeClient"] is None
        assert "origin" not in released
        await claim(other, session)


async def test_a_client_with_another_connection_stays_active(
    client: Client, session: str, house: House
) -> None:
    await claim(client, session)
    async with connecting(house.url, "one") as second, connecting(house.url, "other") as other:
        await second.initialize()
        await other.initialize(session)
        client.drop()
        await second.ping()
        await other.ping()
        assert other.session(session).active_client is not None
        second.drop()
        await other.hear("activeClientChanged")


@proves("ahp:session/toolCallComplete/times-out")
async def test_the_calls_of_a_client_that_does_not_come_back_fail(
    client: Client, session: str, house: House
) -> None:
    await claim(client, session)
    async with connecting(house.url, "other") as other:
        await other.initialize(session)
        await begin(client, session)
        client.drop()
        done = (await other.hear("toolCallComplete"))["action"]["result"]
        assert done["success"] is False
        assert done["error"]["code"] == "client_gone"
        turn = await over(other, session)
        assert turn.state == "complete"


@proves("ahp:session/toolCallComplete/times-out")
async def test_the_call_of_a_client_that_is_there_and_silent_fails_too() -> None:
    settings = Settings(client_tool_timeout_seconds=0.05)
    async with housing(settings=settings) as house, connecting(house.url) as silent:
        await silent.initialize()
        session = await new_session(silent)
        await claim(silent, session)
        await begin(silent, session)
        done = (await silent.hear("toolCallComplete"))["action"]["result"]
        assert done["success"] is False
        assert "did not answer" in done["error"]["message"]
        assert "`lookup` failed" in text_of(await over(silent, session))


async def test_an_owner_may_deny_a_call_that_it_cannot_run(client: Client, house: House) -> None:
    del house
    session = await new_session(client, ONE, provider="careful")
    await claim(client, session)
    call = await begin(client, session, "go")
    await client.hear("toolCallReady")
    await client.dispatch(
        session,
        "toolCallConfirmed",
        turnId="t1",
        toolCallId=call["toolCallId"],
        approved=False,
        reason="denied",
    )
    assert "False the call was denied" in text_of(await over(client, session))


@pytest.mark.parametrize("approved", [True, False])
@pytest.mark.parametrize("at_once", [True, False])
async def test_the_agent_gets_a_client_s_result_when_someone_said_yes_to_it(
    client: Client, session: str, *, approved: bool, at_once: bool
) -> None:
    await claim(client, session)
    call = await begin(client, session)
    await client.hear("toolCallReady")
    found = complete(call, content=[{"type": "text", "text": "it is wet"}])
    await client.dispatch(session, "toolCallComplete", **found, requiresResultConfirmation=True)
    if not at_once:
        await client.hear("toolCallComplete")
        await client.ping()
        active = client.session(session).active_turn
        assert active is not None, "the turn waits"
        assert text_of(active) == ""
    where = {"turnId": "t1", "toolCallId": call["toolCallId"]}
    await client.dispatch(session, "toolCallResultConfirmed", **where, approved=approved)
    turn = await over(client, session)
    [done] = calls_of(turn)
    if approved:
        assert "`lookup` says: “it is wet”" in text_of(turn)
        assert done.success is True
    else:
        assert "`lookup` failed: the result was denied" in text_of(turn)
        assert "wet" not in text_of(turn)
        assert done.reason == "result-denied"


async def test_a_client_that_comes_back_in_time_completes_its_call(session: str, client: Client) -> None:
    settings = Settings(client_grace_seconds=60)
    async with housing(settings=settings) as patient, connecting(patient.url, "editor") as editor:
        await editor.initialize()
        await new_session(editor, session)
        await claim(editor, session)
        call = await begin(editor, session)
        await editor.hear("toolCallReady")
        editor.drop()
        async with connecting(patient.url, editor.state) as again:
            await again.reconnect()
            await again.dispatch(session, "toolCallComplete", **complete(call))
            assert "`lookup` is done" in text_of(await over(again, session))
    assert client.id == "one"
