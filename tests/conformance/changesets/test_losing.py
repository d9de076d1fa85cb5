"""Over the port: a folder or a repository that goes away, and comes back."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conformance.changesets.conftest import (
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
from conformance.conftest import ONE, over
from hosts import House


async def test_a_folder_that_goes_away_is_told_of_and_stops_no_turn(client: Client, repository: Path) -> None:
    await begin(client, repository)
    await follow(client, UNCOMMITTED)
    shutil.rmtree(repository)
    await client.until(lambda: shown(client, UNCOMMITTED).status == "error")
    await client.dispatch(ONE, "turnStarted", turnId="t1", userMessage={"text": ""})
    assert (await over(client, ONE)).state == "complete"
    assert "the folder is gone" in str(listed(client).description)
    make_folder(repository)
    make_repository(repository)
    await client.dispatch(ONE, "turnStarted", turnId="t2", userMessage={"text": ""})
    await client.until(lambda: shown(client, UNCOMMITTED).status == "ready")


async def test_a_repository_that_is_broken_stops_no_turn_and_is_told_of(
    client: Client, repository: Path
) -> None:
    await begin(client, repository)
    await follow(client, UNCOMMITTED)
    index = (repository / ".git/index").read_bytes()
    (repository / ".git/index").write_bytes(b"not an index at all, by no means")
    await tell(client, "b.txt: new")
    await client.until(lambda: shown(client, UNCOMMITTED).status == "error")
    error = shown(client, UNCOMMITTED).error
    assert error is not None
    assert error.error_type == "git_failed"
    assert "index" in error.message
    (repository / ".git/index").write_bytes(index)
    await client.until(lambda: shown(client, UNCOMMITTED).status == "ready")


async def test_a_repository_that_is_taken_away_is_done_without(
    house: House, client: Client, repository: Path
) -> None:
    await begin(client, repository)
    await follow(client, UNCOMMITTED)
    await tell(client, "b.txt: new")
    await client.until(lambda: counts(client) == (1, 1, 0))
    shutil.rmtree(repository / ".git")
    await client.until(lambda: len(client.session(ONE).summary.changesets or ()) == 2)
    await client.until(lambda: shown(client, UNCOMMITTED).status == "error")
    await tell(client, "a.txt: other", "t2")
    assert (await follow(client, T2)).status == "ready"
    assert files(client, T2) == {"a.txt"}
    lost = await follow(client, T1)
    assert lost.error is not None
    assert lost.error.error_type == "git_failed"
    await client.until(lambda: counts(client) == (1, 1, 2))
    assert "only since" in str(listed(client).description)
    await client.close()
    make_repository(repository)
    await house.restart()
    async with connecting(house.url, "after") as again:
        await again.initialize()
        assert (await follow(again, T2)).status == "ready"
        assert files(again, T2) == {"a.txt"}
        assert (await follow(again, UNCOMMITTED)).status == "ready"


# -- coming back -------------------------------------------------------------------------------------------


def move(source: Path, target: Path) -> None:
    source.rename(target)


async def is_followed(client: Client, repository: Path) -> None:
    """See that what happens in a folder is told, and that this does not end with the first time."""
    for number in range(3):
        (repository / f"{number}.txt").write_text("x\n")
        expected = {f"{one}.txt" for one in range(number + 1)}
        await client.until(lambda: files(client, UNCOMMITTED) >= expected)  # noqa: B023 - it is called at once
    assert shown(client, UNCOMMITTED).status == "ready"


@pytest.mark.usefixtures("quick")
async def test_a_folder_that_was_moved_away_and_back_is_followed_again(
    client: Client, repository: Path, tmp_path: Path
) -> None:
    await begin(client, repository)
    await follow(client, UNCOMMITTED)
    for _ in range(2):
        move(repository, tmp_path / "away")
        await client.until(lambda: shown(client, UNCOMMITTED).status == "error")
        (tmp_path / "away/a.txt").write_text("other\n")
        move(tmp_path / "away", repository)
        await client.until(lambda: shown(client, UNCOMMITTED).status == "ready")
        assert "a.txt" in files(client, UNCOMMITTED)
    await is_followed(client, repository)
    await tell(client, "b.txt: new")
    assert (await follow(client, T1)).status == "ready"
    assert files(client, T1) == {"b.txt"}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("how", ["deleted and cloned", "another work tree"])
async def test_another_folder_in_the_place_of_one_is_followed(
    client: Client, repository: Path, tmp_path: Path, how: str
) -> None:
    folder = repository
    source = tmp_path / "source"
    if how == "another work tree":
        folder = tmp_path / "side"
        git(repository, "worktree", "add", "-q", str(folder), "-b", "side")
    else:
        git(tmp_path, "clone", "-q", str(repository), str(source))
    await begin(client, folder)
    await follow(client, UNCOMMITTED)
    match how:
        case "deleted and cloned":
            shutil.rmtree(folder)
        case "deleted slowly":
            shutil.rmtree(folder / ".git")
            await client.until(lambda: len(client.session(ONE).summary.changesets or ()) == 2)
            shutil.rmtree(folder)
        case "moved and cloned":
            move(folder, tmp_path / "away")
        case _:
            git(repository, "worktree", "remove", "--force", str(folder))
    await client.until(lambda: shown(client, UNCOMMITTED).status == "error")
    if how == "another work tree":
        git(repository, "worktree", "add", "-q", str(folder), "side")
    else:
        git(tmp_path, "clone", "-q", str(source), str(folder))
    await is_followed(client, folder)
    assert files(client, UNCOMMITTED) == {"0.txt", "1.txt", "2.txt"}
