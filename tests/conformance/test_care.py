"""What is erased, and what is brought back from a copy, as clients see it that come back afterwards."""

from __future__ import annotations

from pathlib import Path

from conformance.client import Client, connecting
from conformance.conftest import ONE, ROOT, Connect, new_session, say
from hosts import KEY, House
from serai.store.sqlite.backup import back_up, purge, restore
from serai.store.sqlite.connection import connect as open_database
from serai.store.sqlite.store import SqliteStore


async def comes_back(house: House, before: Client, *channels: str) -> None:
    """A client that was there before has the state that everyone has."""
    async with connecting(house.url, before.state) as again, connecting(house.url, "fresh") as fresh:
        await again.reconnect()
        await fresh.initialize(*channels)
        await fresh.ping()
        await again.ping()
        assert again.root == fresh.root
        if ONE in channels:
            assert [turn.id for turn in again.session(ONE).turns] == [
                turn.id for turn in fresh.session(ONE).turns
            ]


async def test_the_same_copy_restored_twice_leads_nobody_astray(
    house: House, client: Client, connect: Connect, tmp_path: Path
) -> None:
    database, copy = tmp_path / "history.db", tmp_path / "copy.db"

    async def start_from_the_copy() -> None:
        await house.close()
        restore(copy, database, KEY)
        house.store = SqliteStore(database, KEY)
        await house.open()

    await new_session(client)
    await say(client, ONE, "before", "t1")
    back_up(database, KEY, copy)
    await client.close()
    await start_from_the_copy()
    async with connecting(house.url, client.state) as back:
        await back.reconnect()
        await say(back, ONE, "hello", "a1")
        await say(back, ONE, "hello", "a2")
    await start_from_the_copy()
    other = await connect("other", ROOT, ONE)
    for turn in ("b1", "b2", "b3", "b4"):
        await say(other, ONE, "write 20", turn)
    await comes_back(house, back, ROOT, ONE)
    async with connecting(house.url, back.state) as again:
        await again.reconnect()
        assert [turn.id for turn in again.session(ONE).turns] == ["t1", "b1", "b2", "b3", "b4"]


async def test_the_commands_of_a_session_are_erased_with_it_and_its_terminals_are_gone_for_all(
    house: House, client: Client, tmp_path: Path
) -> None:
    await new_session(client, config={"approve": "always"})
    await say(client, ONE, "run echo SECRET-WORD && cd /tmp")
    assert [one.title for one in client.root.terminals or ()] == ["echo SECRET-WORD && cd /tmp"]
    await client.close()
    await house.close()
    purge(tmp_path / "history.db", KEY, ONE)
    database = open_database(tmp_path / "history.db", KEY)
    content: bytes = database.serialize("main")  # pyright: ignore[reportAttributeAccessIssue]
    database.close()
    assert ROOT.encode() in content
    assert b"SECRET-WORD" not in content
    assert ONE.encode() not in content
    house.store = SqliteStore(tmp_path / "history.db", KEY)
    await house.open()
    await comes_back(house, client, ROOT)
