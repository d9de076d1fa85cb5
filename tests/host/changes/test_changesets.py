"""The changesets of a host, beside those of one session."""

from __future__ import annotations

import asyncio
from pathlib import Path

from changes.test_leftovers import kill_while
from serai.changes.leftovers import NOTES
from serai.host.changes.changesets import changes_folder
from serai.host.host import Host
from serai.store.memory import MemoryStore


async def test_a_file_that_a_killed_host_had_moved_aside_is_back_though_nobody_asks_for_its_session(
    tmp_path: Path,
) -> None:
    home, work, source = tmp_path / "home", tmp_path / "work", tmp_path / "source"
    (work / "a").mkdir(parents=True)
    (work / "a/x").write_bytes(b"seen")
    source.write_bytes(b"new")
    notes = changes_folder(home, "ahp-session:/s") / "git" / NOTES
    await asyncio.to_thread(kill_while, "placing", work, notes, source)
    assert not (work / "a/x").exists()
    host = Host(MemoryStore(), [], lambda message: message, home=home, user_home=tmp_path / "person")
    await host.changesets.open()
    assert [(file.name, file.read_bytes()) for file in (work / "a").iterdir()] == [("x", b"seen")]
    assert list(notes.iterdir()) == []
