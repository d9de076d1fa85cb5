"""Over the port: a folder whose repository becomes another one, or that is elsewhere, since it is a link."""

from __future__ import annotations

from collections.abc import Callable
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
    listed,
    make_folder,
    make_repository,
    shown,
    tell,
)
from conformance.client import Client, Refused

Swap: TypeAlias = Callable[[Path, Path], None]
"""Has one folder be where another one was."""

pytestmark = pytest.mark.usefixtures("quick")


async def test_a_folder_that_a_turn_makes_a_repository_keeps_all_its_turns(
    client: Client, folder: Path
) -> None:
    await begin(client, folder)
    await tell(client, "b.txt: new\ngit init -q")
    await tell(client, "a.txt: other", "t2")
    for uri, expected in ((T1, {"b.txt"}), (T2, {"a.txt"}), (SESSION, {"a.txt", "b.txt"})):
        assert (await follow(client, uri)).status == "ready"
        assert files(client, uri) == expected
    await follow(client, UNCOMMITTED)
    await client.until(lambda: files(client, UNCOMMITTED) == {"a.txt", "b.txt"})
    await client.request("invokeChangesetOperation", T1, operationId="discard")
    assert not (folder / "b.txt").exists()


def lead_elsewhere(work: Path, other: Path) -> None:
    work.unlink()
    work.symlink_to(other)


def put_in_its_place(work: Path, other: Path) -> None:
    work.rename(work.with_name("moved away"))
    other.rename(work)


@pytest.mark.parametrize("has_git", [True, False])
@pytest.mark.parametrize("swap", [lead_elsewhere, put_in_its_place])
async def test_another_folder_in_the_place_of_one_starts_a_new_base(
    client: Client, tmp_path: Path, swap: Swap, has_git: bool
) -> None:
    one, other, work = make_folder(tmp_path / "one"), make_folder(tmp_path / "other"), tmp_path / "work"
    for folder in (one, other) if has_git else ():
        make_repository(folder)
    (other / "a.txt").write_text("precious\n")
    one.rename(work) if swap is put_in_its_place else work.symlink_to(one)
    await begin(client, work)
    await follow(client, SESSION)
    await tell(client, "a.txt: other\nb.txt: new")
    await client.until(lambda: counts(client) == (2, 2, 2))
    swap(work, other)
    await client.until(lambda: counts(client) == (0, 0, 0))
    assert "only since the folder" in str(listed(client).description)
    (work / "c.txt").write_text("new\n")  # it is watched there, too
    await client.until(lambda: files(client, SESSION) == {"c.txt"})
    lost = await follow(client, T1)
    assert lost.error is not None
    assert lost.error.error_type == "not_recorded"
    await client.request("invokeChangesetOperation", SESSION, operationId="discard")
    assert (work / "a.txt").read_text() == "precious\n"


async def test_a_link_that_is_taken_away_leads_nowhere(client: Client, tmp_path: Path) -> None:
    work, one = tmp_path / "work", make_repository(make_folder(tmp_path / "one"))
    work.symlink_to(one)
    await begin(client, work)
    await follow(client, UNCOMMITTED)
    work.unlink()
    await client.until(lambda: shown(client, UNCOMMITTED).status == "error")
    assert "the folder is gone" in str(listed(client).description)
    with pytest.raises(Refused, match="the folder is gone"):
        await client.request("invokeChangesetOperation", SESSION, operationId="discard")
    work.symlink_to(one)
    await client.until(lambda: shown(client, UNCOMMITTED).status == "ready")
