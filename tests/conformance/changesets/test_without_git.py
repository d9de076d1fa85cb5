"""Over the port: the changesets of a folder that is in no repository."""

from __future__ import annotations

from pathlib import Path

from conformance.changesets.conftest import (
    SESSION,
    T1,
    UNCOMMITTED,
    at,
    begin,
    counts,
    files,
    follow,
    refused,
    shown,
    tell,
)
from conformance.client import Client, connecting
from conformance.conftest import ONE
from hosts import House


async def test_without_a_repository_there_is_what_changed(house: House, client: Client, folder: Path) -> None:
    await begin(client, folder)
    assert [one.uri_template for one in client.session(ONE).summary.changesets or ()] == [
        SESSION,
        "ahp-changeset:/one/turn/{turnId}",
    ]
    await tell(client, "a.txt: other\nb.txt: new")
    await client.until(lambda: counts(client) == (2, 2, 2))
    assert (await follow(client, T1)).status == "ready"
    assert files(client, T1) == {"a.txt", "b.txt"}
    assert [one.id for one in shown(client, T1).operations or ()] == ["discard", "open"]
    assert await refused(client, "subscribe", UNCOMMITTED) == -32008
    await follow(client, SESSION)
    (folder / "b.txt").write_text("new\nand newer\n")
    await client.until(lambda: counts(client) == (2, 3, 2))
    await client.close()
    await house.restart()
    async with connecting(house.url, "after") as again:
        await again.initialize()
        assert (await follow(again, T1)).status == "ready"
        assert files(again, T1) == {"a.txt", "b.txt"}
        await again.request(
            "invokeChangesetOperation", T1, operationId="discard", target=at(folder / "a.txt")
        )
    assert (folder / "a.txt").read_text() == "one\ntwo\n"
    assert (folder / "b.txt").exists()


async def test_a_turn_without_git_that_edited_nothing_is_empty(
    house: House, client: Client, folder: Path
) -> None:
    await begin(client, folder)
    await tell(client, "")
    await client.close()
    await house.restart()
    async with connecting(house.url, "after") as again:
        await again.initialize()
        state = await follow(again, T1)
        assert (state.status, state.files) == ("ready", [])
