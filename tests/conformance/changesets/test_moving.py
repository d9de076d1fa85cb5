"""Over the port: a folder whose repository becomes another one, or that is elsewhere, since it is a link."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conformance.changesets.conftest import (
    SESSION,
    T1,
    T2,
    UNCOMMITTED,
    begin,
    counts,
    files,
    follow,
    git,
    listed,
    make_folder,
    make_repository,
    shown,
    tell,
)
from conformance.client import Client, connecting
from conformance.conftest import ONE
from hosts import House

T3 = "ahp-changeset:/one/turn/t3"


@pytest.fixture
def part(folder: Path) -> Path:
    """A folder in a repository which ignores a file in it."""
    part = make_folder(folder / "part")
    (folder / ".gitignore").write_text(".env\n")
    (part / ".env").write_text("the only copy\n")
    make_repository(folder)
    return part


def names_in(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


async def test_a_folder_that_becomes_a_repository_of_its_own_is_opened_anew_at_the_next_operation(
    client: Client, part: Path
) -> None:
    await begin(client, part)
    await tell(client, "part/b.txt: new")
    await client.until(lambda: counts(client) == (1, 1, 0))
    git(part, "init", "-q")
    result = await client.request("invokeChangesetOperation", UNCOMMITTED, operationId="stage")
    assert git(part, "diff", "--cached", "--name-only").split() == [".env", "a.txt", "b.txt"], result


async def test_a_folder_that_became_a_repository_of_its_own_goes_on_with_the_next_turn(
    house: House, client: Client, part: Path
) -> None:
    await begin(client, part)
    await tell(client, "part/b.txt: new")
    git(part, "init", "-q")
    await tell(client, "part/c.txt: new\npart/a.txt: other", "t2")
    assert (await follow(client, T2)).status == "ready"
    assert files(client, T2) == {"a.txt", "c.txt"}
    await client.until(lambda: counts(client) == (2, 2, 2))
    assert "Before the folder was in this repository" in str(listed(client).description)
    await client.request("invokeChangesetOperation", T2, operationId="discard")
    assert not (part / "c.txt").exists()
    assert (part / "a.txt").read_text() == "one\ntwo\n"
    await client.close()
    await house.restart()
    async with connecting(house.url, "after") as again:
        await again.initialize()
        await again.subscribe(ONE)
        assert (await follow(again, T2)).status == "ready"
        await tell(again, "part/d.txt: new", "t3")
        for uri in (T3, SESSION, UNCOMMITTED):
            await again.request("invokeChangesetOperation", uri, operationId="discard")
            assert names_in(part) == {".git", ".env", "a.txt", "b.txt"}
            (part / "e.txt").write_text("new\n")


async def test_a_folder_whose_own_repository_goes_is_opened_in_the_one_around(
    client: Client, part: Path
) -> None:
    git(part, "init", "-q")
    await begin(client, part)
    await follow(client, UNCOMMITTED)
    await client.until(lambda: files(client, UNCOMMITTED) == {"a.txt", ".env"})
    shutil.rmtree(part / ".git")
    await client.until(lambda: files(client, UNCOMMITTED) == set())
    assert shown(client, UNCOMMITTED).status == "ready"


async def test_a_folder_that_is_a_link_is_followed_to_where_it_leads(client: Client, tmp_path: Path) -> None:
    one, two = (make_repository(make_folder(tmp_path / name)) for name in ("one", "two"))
    (two / "draft.txt").write_text("of the person\n")
    work = tmp_path / "work"
    work.symlink_to(one)
    await begin(client, work)
    await follow(client, UNCOMMITTED)
    await tell(client, "a.txt: other")
    await client.until(lambda: counts(client) == (1, 1, 2))
    work.unlink()
    work.symlink_to(two)
    await tell(client, "a.txt: more\nb.txt: new", "t2")
    assert (await follow(client, T2)).status == "ready"
    assert files(client, T2) == {"a.txt", "b.txt"}
    await client.until(lambda: counts(client) == (2, 2, 2))
    await client.until(lambda: files(client, UNCOMMITTED) == {"a.txt", "b.txt", "draft.txt"})
    (two / "later.txt").write_text("x\n")  # it is watched there, too
    await client.until(lambda: "later.txt" in files(client, UNCOMMITTED))
    (two / "later.txt").unlink()
    await client.request("invokeChangesetOperation", SESSION, operationId="discard")
    assert git(two, "status", "--porcelain") == "?? draft.txt\n"
    assert (one / "a.txt").read_text() == "other\n"
    work.unlink()
    work.symlink_to(one)
    await client.request("invokeChangesetOperation", T1, operationId="discard")
    assert git(one, "status", "--porcelain") == ""
