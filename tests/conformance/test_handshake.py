"""How a connection begins."""

from __future__ import annotations

import asyncio

import pytest

from conformance.client import Client, Refused, connecting
from conformance.conftest import ONE, ROOT, Connect, new_session
from hosts import OTHER_TOKEN, TOKEN, House


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (("0.2.0",), "0.2.0"),
        (("0.2.7",), "0.2.7"),
        (("1.0.0", "0.2.41"), "0.2.41"),
        (("0.3.0", "0.2.1", "0.2.0"), "0.2.1"),
    ],
)
async def test_any_0_2_is_taken_and_echoed_as_it_was_offered(
    house: House, offered: tuple[str, ...], chosen: str
) -> None:
    async with connecting(house.url) as client:
        result = await client.initialize(versions=offered)
        assert result["protocolVersion"] == chosen
        assert result["snapshots"] == []


@pytest.mark.parametrize(
    "offered", [(), ("0.1.0",), ("0.3.0", "1.0.0"), ("0.2",), ("0.2.0-beta",), ("0.20.1",), ("0.2.٣",)]
)
async def test_other_versions_are_refused_with_those_that_would_do_and_the_connection_ends(
    house: House, offered: tuple[str, ...]
) -> None:
    async with connecting(house.url) as client:
        with pytest.raises(Refused) as refused:
            await client.initialize(versions=offered)
        assert refused.value.code == -32005
        assert refused.value.data == {"supportedVersions": ["^0.2.0"]}
        assert await client.closed() is not None


async def test_a_ping_is_answered_before_the_handshake(house: House) -> None:
    async with connecting(house.url) as client:
        assert await client.request("ping") is None
        await client.initialize()
        assert await client.request("ping") is None


@pytest.mark.parametrize(
    ("method", "params"),
    [("listSessions", {}), ("subscribe", {}), ("createSession", {}), ("disposeSession", {})],
)
async def test_other_requests_before_the_handshake_are_invalid(
    house: House, method: str, params: dict[str, str]
) -> None:
    async with connecting(house.url) as client:
        with pytest.raises(Refused) as refused:
            await client.request(method, ONE if method.endswith("Session") else ROOT, **params)
        assert refused.value.code == -32600
        await client.initialize()


async def test_what_is_dispatched_before_the_handshake_does_nothing(house: House, connect: Connect) -> None:
    watching = await connect("watching")
    await new_session(watching)
    async with connecting(house.url, "early") as early:
        await early.dispatch(ONE, "titleChanged", title="too early")
        await early.notify("unsubscribe", channel=ONE)
        await early.ping()
    await watching.ping()
    assert watching.session(ONE).summary.title == ""


async def test_a_second_initialize_is_invalid_and_changes_nothing(client: Client) -> None:
    with pytest.raises(Refused) as refused:
        await client.request("initialize", protocolVersions=["0.2.0"], clientId="other")
    assert refused.value.code == -32600
    with pytest.raises(Refused) as refused:
        await client.request("reconnect", clientId="one", lastSeenServerSeq=0, subscriptions=[])
    assert refused.value.code == -32600
    await new_session(client)


async def test_initial_subscriptions_are_answered_with_their_snapshots(connect: Connect) -> None:
    first = await connect("first", ROOT)
    await new_session(first)
    second = await connect("second", ROOT, ONE)
    assert second.session(ONE).lifecycle == "ready"
    assert [agent.provider for agent in second.root.agents] == ["demo"]
    await first.dispatch(ONE, "titleChanged", title="live")
    await second.hear("titleChanged", title="live")


async def test_an_unknown_initial_subscription_gives_no_snapshot_and_no_error(house: House) -> None:
    async with connecting(house.url) as client:
        result = await client.initialize(ROOT, "ahp-session:/nowhere", "ahp-terminal:/1", "other:thing")
        assert [snapshot["resource"] for snapshot in result["snapshots"]] == [ROOT]


async def test_a_client_id_belongs_to_the_token_that_first_used_it(house: House) -> None:
    async with connecting(house.url, "mine") as client:
        await client.initialize()
    async with connecting(house.url, "mine", token=OTHER_TOKEN) as thief:
        for attempt in (thief.initialize(), thief.reconnect()):
            with pytest.raises(Refused) as refused:
                await attempt
            assert refused.value.code == -32009
    async with connecting(house.url, "mine") as client:
        await client.reconnect()


async def test_of_two_who_want_a_client_id_at_once_one_gets_it(house: House) -> None:
    for attempt in range(10):
        name = f"wanted-{attempt}"
        async with (
            connecting(house.url, name) as one,
            connecting(house.url, name, token=OTHER_TOKEN) as other,
        ):
            wanted = {"protocolVersions": ["0.2.0"], "clientId": name}
            answers = [await one.ask("initialize", **wanted), await other.ask("initialize", **wanted)]
            outcomes = await asyncio.gather(*answers, return_exceptions=True)
            assert [o.code for o in outcomes if isinstance(o, Refused)] == [-32009]


@pytest.mark.parametrize("way", ["initialize", "reconnect"])
async def test_a_client_keeps_its_id_when_its_token_was_replaced(house: House, way: str) -> None:
    async with connecting(house.url, "mine") as client:
        await client.initialize()
    house.tokens = [OTHER_TOKEN]
    await house.restart()
    async with connecting(house.url, "mine", token=OTHER_TOKEN) as client:
        await (client.initialize() if way == "initialize" else client.reconnect())
    house.tokens = [TOKEN, OTHER_TOKEN]
    await house.restart()
    async with connecting(house.url, "mine", token=TOKEN) as thief:
        with pytest.raises(Refused) as refused:
            await thief.initialize()
        assert refused.value.code == -32009
