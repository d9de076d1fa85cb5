"""A client that comes back when the actions that it has missed are gone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from conformance.client import Client, connecting, timeless
from conformance.conftest import ROOT, Connect, over, say
from hosts import KEY, House, housing
from serai.host.session.prune import prune
from serai.store.sqlite.store import SqliteStore, Tuning
from store.kinds import Calendar


@pytest.fixture
def calendar() -> Calendar:
    return Calendar()


@pytest.fixture
async def house(tmp_path: Path, calendar: Calendar) -> AsyncIterator[House]:
    make = lambda: SqliteStore(tmp_path / "history.db", KEY, Tuning(now=calendar))  # noqa: E731 - it is called again
    async with housing(make, now=lambda: round(calendar() * 1000)) as house:
        yield house


async def leave(client: Client, session: str) -> int:
    """See the newest number, then be gone."""
    await client.dispatch(session, "isReadChanged", isRead=True)
    heard = await client.hear("isReadChanged")
    client.drop()
    return heard["serverSeq"]


@pytest.mark.parametrize("channels", [[ROOT], ["session"], [ROOT, "session"]])
async def test_who_missed_actions_that_are_gone_gets_snapshots(
    house: House, client: Client, session: str, connect: Connect, calendar: Calendar, channels: list[str]
) -> None:
    wanted = [session if channel == "session" else channel for channel in channels]
    last_seen = await leave(client, session)
    other = await connect("other", session)
    await say(other, session, "think; write 50")
    expected = other.session(session)
    await house.restart()
    calendar.go_by(9)
    await prune(house.host.journal, house.host.sessions, 3)
    async with connecting(house.url, client.state) as again:
        result = await again.reconnect(lastSeenServerSeq=last_seen, subscriptions=wanted)
        assert result["type"] == "snapshot"
        assert [snapshot["resource"] for snapshot in result["snapshots"]] == wanted
        if session in wanted:
            assert timeless(again.session(session)) == timeless(expected)
            await again.dispatch(session, "turnStarted", turnId="t2", userMessage={"text": "go on"})
            await over(again, session, "t2")


async def test_a_host_whose_actions_are_all_gone_goes_on_where_it_was(
    house: House, client: Client, session: str, calendar: Calendar
) -> None:
    await say(client, session, "write 50")
    last_seen = await leave(client, session)
    before = client.session(session)
    calendar.go_by(9)
    await prune(house.host.journal, house.host.sessions, 3)
    assert await house.store.rows(session, 0) == []
    for _ in range(2):
        await house.restart()
    async with connecting(house.url, "fresh") as fresh:
        result = await fresh.initialize(ROOT, session)
        assert result["serverSeq"] >= last_seen
        assert timeless(fresh.session(session)) == timeless(before)
        await fresh.dispatch(session, "titleChanged", title="goes on")
        assert (await fresh.hear("titleChanged", title="goes on"))["serverSeq"] > last_seen
    assert await house.store.check(full=True) == []
