"""Over the port: a folder whose repository becomes another one, or that is elsewhere, since it is a link."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import TypeAlias

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
from conformance.client import Client, Refused, connecting
from conformance.conftest import ONE
from hosts import House

T3 = "ahp-changeset:/one/turn/t3"

Swap: TypeAlias = Callable[[Path, Path], None]
"""Has one folder be where another one was."""


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


@contextlib.asynccontextmanager
async def unseen(house: House) -> AsyncGenerator[None]:
    """Have the host look at nothing for the length of a block."""
    session = await house.host.sessions.bring(ONE)
    assert session is not None

    def look_not(delay: float = 0.0) -> None:
        del delay

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session.changing, "look_again", look_not)
        yield
    session.changing.look_again()


async def is_refused(client: Client, *uris: str) -> None:
    """See that nothing is done in a folder that nobody was shown."""
    has_git = len(client.session(ONE).summary.changesets or ()) > 2
    for uri in uris:
        for operation in ("stage", "discard") if has_git else ("discard",):
            with pytest.raises(Refused, match="not where it was") as caught:
                await client.request("invokeChangesetOperation", uri, operationId=operation)
            assert caught.value.data["code"] == "folder_moved"


async def test_a_folder_that_becomes_a_repository_of_its_own_is_opened_anew_and_has_to_be_looked_at(
    house: House, client: Client, part: Path
) -> None:
    await begin(client, part)
    await follow(client, UNCOMMITTED)
    await tell(client, "part/b.txt: new")
    await client.until(lambda: counts(client) == (1, 1, 0))
    async with unseen(house):
        git(part, "init", "-q")
        await is_refused(client, UNCOMMITTED)
    await client.until(lambda: files(client, UNCOMMITTED) == {".env", "a.txt", "b.txt"})
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
    await client.until(lambda: files(client, UNCOMMITTED) == {"a.txt"})
    await client.request("invokeChangesetOperation", T1, operationId="discard")
    assert git(one, "status", "--porcelain") == ""


# -- another folder in its place ---------------------------------------------------------------------------


def lead_elsewhere(work: Path, other: Path) -> None:
    work.unlink()
    work.symlink_to(other)


def lead_elsewhere_at_once(work: Path, other: Path) -> None:
    link = work.with_name("another link")
    link.symlink_to(other)
    link.replace(work)


def put_in_its_place(work: Path, other: Path) -> None:
    work.rename(work.with_name("moved away"))
    other.rename(work)


SWAPS = (lead_elsewhere, lead_elsewhere_at_once, put_in_its_place)


def make_two(tmp_path: Path, swap: Swap, *, has_git: bool) -> tuple[Path, Path]:
    """A folder for a session, and another one with work of the person in it."""
    one, other = (make_folder(tmp_path / name) for name in ("one", "other"))
    if has_git:
        for folder in (one, other):
            make_repository(folder)
    (other / "a.txt").write_text("precious\n")
    (other / "b.txt").write_text("precious, too\n")
    work = tmp_path / "work"
    if swap is put_in_its_place:
        one.rename(work)
    else:
        work.symlink_to(one)
    return work, other


def is_as_it_was(work: Path) -> bool:
    found = [(work / name).read_text() for name in ("a.txt", "b.txt")]
    return found == ["precious\n", "precious, too\n"]


@pytest.mark.parametrize("has_git", [True, False])
@pytest.mark.parametrize("swap", SWAPS)
async def test_nothing_is_done_in_a_folder_that_nobody_was_shown(
    house: House, client: Client, tmp_path: Path, swap: Swap, has_git: bool
) -> None:
    work, other = make_two(tmp_path, swap, has_git=has_git)
    await begin(client, work)
    await tell(client, "a.txt: other\nb.txt: new")
    await client.until(lambda: counts(client) == (2, 2, 2))
    async with unseen(house):
        swap(work, other)
        await is_refused(client, *([UNCOMMITTED] if has_git else []), SESSION, T1)
        assert is_as_it_was(work)


@pytest.mark.parametrize("has_git", [True, False])
@pytest.mark.parametrize("swap", SWAPS)
async def test_another_folder_in_the_place_of_the_one_that_is_followed_is_shown_at_once(
    client: Client, tmp_path: Path, swap: Swap, has_git: bool
) -> None:
    work, other = make_two(tmp_path, swap, has_git=has_git)
    (other / "a.txt").write_text("1\n2\n3\n4\n5\n")
    await begin(client, work)
    await follow(client, SESSION)
    await tell(client, "a.txt: other")
    await client.until(lambda: counts(client) == (1, 1, 2))
    swap(work, other)
    if has_git:
        await follow(client, UNCOMMITTED)
        await client.until(lambda: files(client, UNCOMMITTED) == {"a.txt", "b.txt"})
    elif swap is put_in_its_place:
        await client.until(lambda: counts(client) == (1, 5, 2))  # the same path, and another file at it
    else:
        await client.until(lambda: counts(client) == (0, 0, 0))
        assert "in another place" in str(listed(client).description)
    (work / "a.txt").write_text("1\n")  # it is watched there, too
    if has_git or swap is put_in_its_place:
        await client.until(lambda: listed(client, UNCOMMITTED if has_git else SESSION).additions in {1, 2})


@pytest.mark.parametrize("has_git", [True, False])
async def test_nor_is_it_after_a_restart(house: House, client: Client, tmp_path: Path, has_git: bool) -> None:
    work, other = make_two(tmp_path, lead_elsewhere, has_git=has_git)
    await begin(client, work)
    await follow(client, SESSION)
    await tell(client, "a.txt: other\nb.txt: new")
    await client.until(lambda: counts(client) == (2, 2, 2))
    await client.close()
    await house.close()
    lead_elsewhere(work, other)
    await house.restart()
    async with connecting(house.url, "after") as again:
        await again.initialize()
        for _ in range(2):  # to be refused is not to be shown anything
            with pytest.raises(Refused, match="not where it was"):
                await again.request("invokeChangesetOperation", SESSION, operationId="discard")
        assert is_as_it_was(work)
        assert (await follow(again, SESSION)).status == "ready"
        await again.request("invokeChangesetOperation", SESSION, operationId="discard")
        assert is_as_it_was(work)


@pytest.mark.parametrize("has_git", [True, False])
@pytest.mark.usefixtures("quick")
async def test_a_folder_above_that_is_another_one_is_noticed(
    client: Client, tmp_path: Path, has_git: bool
) -> None:
    above, other = tmp_path / "above", tmp_path / "other"
    (tmp_path / "work").symlink_to(above / "part")  # where the agent writes
    for folder in (above, other):
        folder.mkdir()
        make_folder(folder / "part")
        if has_git:
            make_repository(folder / "part")
    (other / "part/a.txt").write_text("1\n2\n3\n4\n")
    await begin(client, above / "part")
    await follow(client, SESSION)
    await tell(client, "a.txt: other")
    await client.until(lambda: counts(client) == (1, 1, 2))
    put_in_its_place(above, other)
    await client.until(lambda: counts(client) == (1, 4, 2))
    above.rename(tmp_path / "gone")
    await client.until(lambda: "the folder is gone" in str(listed(client).description))
    with pytest.raises(Refused, match="the folder is gone"):
        await client.request("invokeChangesetOperation", SESSION, operationId="discard")


@pytest.mark.usefixtures("quick")
async def test_a_link_that_is_taken_away_leads_nowhere(client: Client, tmp_path: Path) -> None:
    work, _ = make_two(tmp_path, lead_elsewhere, has_git=True)
    await begin(client, work)
    await follow(client, UNCOMMITTED)
    work.unlink()
    await client.until(lambda: shown(client, UNCOMMITTED).status == "error")
    assert "the folder is gone" in str(listed(client).description)
    work.symlink_to(tmp_path / "one")
    await client.until(lambda: shown(client, UNCOMMITTED).status == "ready")


@pytest.mark.parametrize("loss", ["moved", "broken", "emptied"])
@pytest.mark.usefixtures("quick")
async def test_a_folder_whose_git_cannot_be_used_any_more_is_done_with_notes(
    client: Client, tmp_path: Path, loss: str
) -> None:
    work, main = tmp_path / "work", make_repository(make_folder(tmp_path / "main"))
    git(main, "worktree", "add", "-q", str(work))
    await begin(client, work)
    await follow(client, SESSION)
    if loss == "moved":
        main.rename(tmp_path / "elsewhere")
    elif loss == "broken":
        (work / ".git").write_text("gitdir: /nowhere\n")
    else:
        (work / ".git").unlink()
        (work / ".git").mkdir()
    await client.until(lambda: len(client.session(ONE).summary.changesets or ()) == 2)
    await tell(client, "a.txt: other\nb.txt: new")
    await client.until(lambda: counts(client) == (2, 2, 2))
    for uri in (T1, SESSION):
        await client.request("invokeChangesetOperation", uri, operationId="discard")
        assert names_in(work) == {".git", "a.txt"}
        assert (work / "a.txt").read_text() == "one\ntwo\n"


async def test_a_turn_that_makes_its_folder_another_one_can_be_looked_at(client: Client, part: Path) -> None:
    await begin(client, part)
    await tell(client, "part/b.txt: new\ngit init -q part")
    assert (await follow(client, T1)).status == "ready"
    assert files(client, T1) == {"b.txt"}
    await client.until(lambda: [one.id for one in shown(client, T1).operations or ()] == ["open"])
    await follow(client, UNCOMMITTED)
    await client.until(lambda: files(client, UNCOMMITTED) == {".env", "a.txt", "b.txt"})
    with pytest.raises(Refused, match="only be looked at"):
        await client.request("invokeChangesetOperation", T1, operationId="discard")
    assert names_in(part) == {".git", ".env", "a.txt", "b.txt"}
