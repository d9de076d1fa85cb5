"""Coming back: to a replay, to snapshots, or to what is gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.client import Client, Refused, connecting, timeless
from conformance.conftest import ONE, ROOT, Connect, new_session, over, say
from hosts import KEY, House
from serai.ahp.client import ClientState
from serai.ahp.types import TerminalState
from serai.journal import envelopes
from serai.store.sqlite.backup import purge

TWO = "ahp-session:/two"


async def leave(client: Client, session: str) -> None:
    """See the newest number, then be gone."""
    await client.dispatch(session, "isReadChanged", isRead=True)
    await client.hear("isReadChanged")
    client.drop()


async def test_what_was_missed_is_replayed_in_order(
    house: House, client: Client, session: str, connect: Connect
) -> None:
    await leave(client, session)
    other = await connect("other", session)
    await say(other, session, "think; write 200; tool live")
    async with connecting(house.url, client.state) as again:
        result = await again.reconnect()
        assert result["type"] == "replay"
        assert result["missing"] == []
        assert [e for e in result["actions"] if e["channel"] == session] == other.envelopes
        assert timeless(again.session(session)) == timeless(other.session(session))


async def test_only_the_channels_that_are_named_are_replayed(
    house: House, client: Client, connect: Connect
) -> None:
    other = await connect("other")
    await new_session(client, ONE)
    await new_session(other, TWO)
    await leave(client, ONE)
    await other.dispatch(ONE, "titleChanged", title="one")
    await other.dispatch(TWO, "titleChanged", title="two")
    await other.hear("titleChanged", title="two")
    async with connecting(house.url, client.state) as again:
        result = await again.reconnect(subscriptions=[ONE])
        assert [e["action"]["title"] for e in result["actions"]] == ["one"]
        await other.dispatch(TWO, "titleChanged", title="not followed")
        await other.hear("titleChanged", title="not followed")
        await again.ping()
        assert len(again.envelopes) == 1


async def test_after_a_replay_the_stream_goes_on_without_a_gap(
    house: House, client: Client, session: str, connect: Connect
) -> None:
    other = await connect("other", session)
    await other.dispatch(session, "turnStarted", turnId="t1", userMessage={"text": "write 5000"})
    await client.hear("delta")
    client.drop()
    for _ in range(5):
        async with connecting(house.url, client.state) as again:
            assert (await again.reconnect())["type"] == "replay"
            again.drop()
    async with connecting(house.url, client.state) as again:
        await again.reconnect()
        assert await over(again, session) == await over(other, session)


async def test_rejections_are_not_replayed(house: House, client: Client, session: str) -> None:
    await client.dispatch(session, "isReadChanged", isRead=True)
    await client.hear("isReadChanged")
    before = client.state.last_seen_server_seq
    await client.dispatch(session, "turnCancelled", turnId="none")
    await client.dispatch(session, "titleChanged", title="x")
    await client.hear("titleChanged", title="x")
    client.drop()
    state = ClientState("one")
    async with connecting(house.url, state) as again:
        result = await again.reconnect(lastSeenServerSeq=before, subscriptions=[session])
        assert [e["action"]["type"] for e in result["actions"]] == ["session/titleChanged"]


async def test_what_the_ring_has_lost_comes_from_the_store(
    house: House, client: Client, session: str, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    await leave(client, session)
    other = await connect("other", session)
    monkeypatch.setattr(envelopes, "MAX_ENVELOPES", 5)
    for number in range(30):
        await other.dispatch(session, "titleChanged", title=f"title {number}")
    await other.hear("titleChanged", title="title 29")
    async with connecting(house.url, client.state) as again:
        result = await again.reconnect()
        assert result["type"] == "replay"
        assert [e for e in result["actions"] if e["channel"] == session] == other.envelopes


@pytest.mark.parametrize("bound", ["MAX_ENVELOPES", "MAX_BYTES"])
async def test_past_a_bound_there_are_snapshots_instead(
    house: House,
    client: Client,
    session: str,
    connect: Connect,
    monkeypatch: pytest.MonkeyPatch,
    bound: str,
) -> None:
    await leave(client, session)
    other = await connect("other", session)
    for module in ("serai.journal.envelopes", "serai.serve.ahp.handshake"):
        monkeypatch.setattr(f"{module}.{bound}", 5)
    for number in range(30):
        await other.dispatch(session, "titleChanged", title=f"title {number}")
    await other.hear("titleChanged", title="title 29")
    async with connecting(house.url, client.state) as again:
        result = await again.reconnect()
        assert result["type"] == "snapshot"
        assert {s["resource"] for s in result["snapshots"]} == {ROOT, session}
        assert timeless(again.session(session)) == timeless(other.session(session))


@pytest.mark.parametrize("number", [1 << 40, (1 << 53) - 1])
async def test_a_number_beyond_ours_is_answered_with_snapshots(
    house: House, client: Client, session: str, number: int
) -> None:
    client.drop()
    state = ClientState("one")
    async with connecting(house.url, state) as again:
        result = await again.reconnect(lastSeenServerSeq=number, subscriptions=[session])
        assert result["type"] == "snapshot"
        assert [s["resource"] for s in result["snapshots"]] == [session]


@pytest.mark.parametrize("number", [0, -1, 1 - (1 << 53)])
async def test_who_has_seen_nothing_gets_everything(
    house: House, client: Client, session: str, number: int
) -> None:
    await say(client, session, "hello")
    client.drop()
    await house.restart()
    async with connecting(house.url, "one") as again:
        result = await again.reconnect(lastSeenServerSeq=number, subscriptions=[session])
        assert result["type"] == "replay"
        types = [e["action"]["type"] for e in result["actions"]]
        assert types[0] == "session/ready"
        assert "session/turnComplete" in types
        await again.dispatch(session, "titleChanged", title="goes on")
        await again.hear("titleChanged", title="goes on")


async def test_a_number_in_the_gap_of_a_restart_is_answered_with_snapshots(
    house: House, client: Client, session: str
) -> None:
    # A rejection takes a number that is not kept: it lies in the gap.
    await client.dispatch(session, "turnCancelled", turnId="none")
    await client.dispatch(session, "turnCancelled", turnId="none")
    await client.hear("turnCancelled")
    rejected = await client.hear("turnCancelled")
    assert client.state.last_seen_server_seq == rejected["serverSeq"]
    client.drop()
    await house.restart()
    async with connecting(house.url, client.state) as again:
        assert (await again.reconnect(lastSeenServerSeq=rejected["serverSeq"] - 1))["type"] == "snapshot"


async def test_channels_that_are_gone_are_missing(house: House, client: Client, connect: Connect) -> None:
    await new_session(client, ONE)
    await new_session(client, TWO)
    other = await connect("other")
    client.drop()
    await other.request("disposeSession", TWO)
    async with connecting(house.url, client.state) as again:
        result = await again.reconnect(subscriptions=[ONE, TWO, "ahp-session:/never", "what:"])
        assert result["type"] == "replay"
        assert result["missing"] == [TWO, "ahp-session:/never", "what:"]
        assert {e["channel"] for e in result["actions"]} <= {ONE}


async def purge_and_restart(house: House, path: Path, session: str) -> None:
    """Stop the host, erase a session as `serai sessions purge` does, and start the host again."""
    await house.close()
    purge(path / "history.db", KEY, session)
    await house.restart()


@pytest.mark.parametrize("restart", [False, True])
async def test_a_session_that_was_made_again_is_not_replayed_onto_the_one_before(
    house: House, client: Client, session: str, connect: Connect, tmp_path: Path, *, restart: bool
) -> None:
    await say(client, session, "hello", "t1")
    await say(client, session, "hello again", "t2")
    client.drop()
    await purge_and_restart(house, tmp_path, session)
    other = await connect("other", ROOT)
    await new_session(other, session)
    if restart:
        await house.restart()
        other = await connect("another", session)
    async with connecting(house.url, client.state) as again:
        assert (await again.reconnect())["type"] == "snapshot"
        assert timeless(again.session(session)) == timeless(other.session(session))
        assert again.session(session).turns == []


async def test_a_terminal_that_was_made_again_is_not_replayed_onto_the_one_before(
    house: House, client: Client, connect: Connect
) -> None:
    terminal, claim = "ahp-terminal:/again", {"kind": "client", "clientId": "one"}
    await client.request("createTerminal", terminal, claim=claim, name="the first")
    await client.subscribe(terminal)
    client.drop()
    other = await connect("one")
    await other.request("disposeTerminal", terminal)
    await other.request("createTerminal", terminal, claim=claim, name="the second")
    async with connecting(house.url, client.state) as again:
        assert (await again.reconnect())["type"] == "snapshot"
        state = again.state.confirmed(terminal)
        assert isinstance(state, TerminalState)
        assert state.title == "the second"


async def test_an_unknown_client_is_told_so_and_may_initialize_on_the_same_connection(house: House) -> None:
    async with connecting(house.url, "stranger") as client:
        with pytest.raises(Refused) as refused:
            await client.reconnect()
        assert refused.value.code == -32008
        await client.initialize(ROOT)
        await new_session(client)
