"""Over the port: a changeset that is followed, and let go."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from conformance.changesets.conftest import SESSION, begin, files, follow, git, refused, shown
from conformance.client import Client
from conformance.conftest import ONE
from hosts import WITHIN, House
from serai.ahp.types import ROOT
from serai.host.changes.changesets import changes_folder


async def test_a_changeset_is_computed_and_then_follows_the_files(client: Client, repository: Path) -> None:
    await begin(client, repository)
    (repository / "a.txt").write_text("one\ntwo\nthree\n")
    snapshot = await client.subscribe(SESSION)
    assert snapshot["state"]["status"] == "computing"
    await client.until(lambda: files(client, SESSION) == {"a.txt"})
    await client.until(lambda: shown(client, SESSION).status == "ready")
    [file] = shown(client, SESSION).files
    assert file.edit.before is not None
    assert file.edit.before.content.uri.startswith("serai-change:/one/")
    assert file.edit.after is not None
    assert file.edit.after.content.uri == (repository / "a.txt").as_uri()
    assert [one.id for one in shown(client, SESSION).operations or ()] == ["stage", "discard", "open"]
    (repository / "b.txt").write_text("new\n")
    await client.until(lambda: files(client, SESSION) == {"a.txt", "b.txt"})
    (repository / "b.txt").unlink()
    git(repository, "checkout", "-q", "a.txt")
    await client.until(lambda: files(client, SESSION) == set())
    assert shown(client, SESSION).status == "ready"


async def test_a_changeset_that_nobody_follows_is_let_go(
    house: House, client: Client, repository: Path
) -> None:
    await begin(client, repository)
    await follow(client, SESSION)
    assert len(house.host.watches) > 0
    for channel in (SESSION, ONE):
        await client.notify("unsubscribe", channel=channel)
    await client.ping()
    assert house.host.channels.get(SESSION) is None
    async with asyncio.timeout(WITHIN):
        while len(house.host.watches):
            await client.ping()


@pytest.mark.parametrize(
    "uri",
    [
        "ahp-changeset:/nowhere/session",
        "ahp-changeset:/one/turn/never",
        "ahp-changeset:/one/turn/{turnId}",
        "ahp-changeset:/one",
        "ahp-changeset:/one/else",
    ],
)
async def test_what_is_not_there_cannot_be_followed(client: Client, repository: Path, uri: str) -> None:
    await begin(client, repository)
    assert await refused(client, "subscribe", uri) == -32008
    assert await refused(client, "invokeChangesetOperation", uri, operationId="discard") == -32008


async def test_nothing_is_left_of_a_session_that_is_disposed_of(
    house: House, client: Client, repository: Path
) -> None:
    await begin(client, repository)
    await follow(client, SESSION)
    kept = changes_folder(house.host.home, ONE)
    assert kept.is_dir()
    await client.request("disposeSession", ONE)
    assert not kept.exists()
    assert house.host.channels.get(SESSION) is None
    assert await refused(client, "subscribe", SESSION) == -32008
    assert ROOT in client.state.subscriptions
