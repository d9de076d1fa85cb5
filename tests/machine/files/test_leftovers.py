"""Drafts that a host which was killed has left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from machine.files.desk import Desk, uri
from serai.ahp import commands as c
from serai.ahp.types import ROOT
from serai.machine import files
from serai.machine.files.lanes import Lanes
from serai.machine.files.leftovers import find_leftovers, remove_leftovers

NAME = ".serai-0123456789abcdef.tmp"
WITHIN = 30.0

# Begins a copy, and ends as `kill -9` would when the draft is half made.
_KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from serai.machine import files
from serai.ahp import commands as c
from serai.ahp.types import ROOT
from serai.machine.files import trees
from serai.machine.files.lanes import Lanes

work, notes = map(Path, sys.argv[1:])
copy_range = trees.copy_range

def half(*args, **kwargs):
    copy_range(*args, **kwargs)
    os.kill(os.getpid(), signal.SIGKILL)

trees.copy_range = half
source, destination = (work / "tree").as_uri(), (work / "copy").as_uri()
params = c.ResourceCopyParams(channel=ROOT, source=source, destination=destination)
roots = files.Roots.of(files.Root.of(work, writable=True))
asyncio.run(Lanes(notes).run(files.copy, params, roots))
"""


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    notes = tmp_path / "home" / "drafts"
    assert find_leftovers(notes) == []
    return notes


async def test_a_copy_that_was_killed_is_removed_by_the_next_host(desk: Desk, notes: Path) -> None:
    (desk.work / "tree/deep").mkdir(parents=True)
    (desk.work / "tree/deep/a").write_text("1")
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", _KILLED, str(desk.work), str(notes))
    async with asyncio.timeout(WITHIN):
        assert await process.wait() == -signal.SIGKILL
    [left] = desk.work.glob(".serai-*.tmp")
    assert list(left.rglob("a"))
    found = find_leftovers(notes)
    assert [note.name for note in found] == [left.name]
    assert remove_leftovers(found) == 1
    assert sorted(path.name for path in desk.work.iterdir()) == ["tree"]
    assert find_leftovers(notes) == []


# The same for a link, which is a draft for a moment too.
_KILLED_AT_A_LINK = """
import asyncio, os, signal, sys
from pathlib import Path
from serai.machine.files import copying
from serai.machine.files.lanes import Lanes
from serai.machine.files.roots import Access, Root, Roots
from serai.machine.files.walk import find

work, notes = map(Path, sys.argv[1:])
copying.put = lambda *_words, **_more: os.kill(os.getpid(), signal.SIGKILL)
roots = Roots.of(Root.of(work, writable=True))

def move():
    with (
        find((work / "link").as_uri(), roots, Access.READ, follow=False) as source,
        find((work / "copy").as_uri(), roots, Access.WRITE, follow=False) as destination,
    ):
        copying.duplicate(source, destination, exclusive=True, moved=True)

asyncio.run(Lanes(notes).run(move))
"""


async def test_a_link_whose_move_was_killed_is_removed_by_the_next_host(desk: Desk, notes: Path) -> None:
    (desk.work / "link").symlink_to("somewhere")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _KILLED_AT_A_LINK, str(desk.work), str(notes)
    )
    async with asyncio.timeout(WITHIN):
        assert await process.wait() == -signal.SIGKILL
    [left] = desk.work.glob(".serai-*.tmp")
    found = find_leftovers(notes)
    assert [note.name for note in found] == [left.name]
    assert remove_leftovers(found) == 1
    assert sorted(path.name for path in desk.work.iterdir()) == ["link"]


async def test_what_is_finished_leaves_no_note(desk: Desk, notes: Path) -> None:
    lanes = Lanes(notes)
    (desk.work / "tree").mkdir()
    copy = c.ResourceCopyParams(
        channel=ROOT, source=uri(desk.work / "tree"), destination=uri(desk.work / "copy")
    )
    write = c.ResourceWriteParams(channel=ROOT, uri=uri(desk.work / "a"), data="1", encoding="utf-8")
    await lanes.run(files.copy, copy, desk.roots)
    await lanes.run(files.write, write, desk.roots)
    await lanes.close()
    assert os.listdir(notes) == []  # noqa: PTH208 - beside the loop it does not matter


def test_only_what_is_in_the_noted_directory_itself_is_removed(desk: Desk, notes: Path) -> None:
    kept = desk.library / NAME
    kept.mkdir()
    (desk.work / "link").symlink_to(desk.library)
    (notes / NAME).write_bytes(os.fsencode(desk.work / "link"))
    assert remove_leftovers(find_leftovers(notes)) == 0
    assert kept.is_dir()
    assert find_leftovers(notes) == []
    kept.rmdir()


def test_a_note_of_what_is_gone_already_goes_too(desk: Desk, notes: Path) -> None:
    (notes / NAME).write_bytes(os.fsencode(desk.work))
    (notes / "other").write_text("not a note")
    assert remove_leftovers(find_leftovers(notes)) == 0
    assert [note.name for note in notes.iterdir()] == ["other"]
