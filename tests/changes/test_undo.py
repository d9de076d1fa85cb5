"""A discard and its undo, over random folders and random edits, with a kill at any moment."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import stat
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import given, settings, strategies as st

from changes.repositories import Repo, everything
from serai.changes import discard as discard_module, undo as undo_module
from serai.changes.folder import FolderChanges, open_folder
from serai.changes.undo import Trash
from serai.changes.view import SESSION

PATHS = ("a", "b", "d", "d/x", "d/y", "d/e/z", "n.log", "build/out", "build", "odd \udcff\n")
"""Some are ignored (`*.log`, `build`), and some are in each other's way."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Something that a person or an agent does to a folder."""

    deed: str
    path: str
    other: str = "a"
    content: bytes = b""
    mode: int = 0o644

    def do(self, top: Path, outside: Path) -> None:
        """Do it, as far as that is possible."""
        place, other = top / self.path, top / self.other
        try:
            match self.deed:
                case "write":
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(self.content)
                    place.chmod(self.mode)
                case "delete":
                    shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink()
                case "move":
                    other.parent.mkdir(parents=True, exist_ok=True)
                    place.rename(other)
                case "link":
                    place.symlink_to(self.other)
                case "link out":
                    place.symlink_to(outside)
                case "nest":
                    (place / ".git").mkdir(parents=True)
                    (place / ".git/HEAD").write_text("ref: refs/heads/main\n")
                    (place / "theirs").write_text("theirs\n")
                case _:
                    place.mkdir(self.mode | 0o700, parents=True)
        except OSError:
            return  # something else is there


paths = st.sampled_from(PATHS)
edits = st.builds(
    Edit,
    st.sampled_from(["write", "write", "write", "delete", "move", "link", "link out", "folder", "nest"]),
    paths,
    paths,
    st.binary(max_size=4) | st.sampled_from([b"one\r\n", b"$Id$\n"]),
    st.sampled_from([0o644, 0o600, 0o755, 0o400]),
)


def found_in(top: Path) -> dict[str, tuple[int, bytes, int]]:
    """All that is in a folder, other than the person's repository."""
    seen: dict[str, tuple[int, bytes, int]] = {}
    for folder, folders, files in os.walk(top):
        if Path(folder) == top and ".git" in folders:
            folders.remove(".git")
        for name in (*folders, *files):
            path = Path(folder, name)
            info = path.lstat()
            content, time = b"", 0
            if stat.S_ISLNK(info.st_mode):
                content = os.fsencode(path.readlink())
            elif stat.S_ISREG(info.st_mode):
                content, time = path.read_bytes(), info.st_mtime_ns
            seen[str(path.relative_to(top))] = (info.st_mode, content, time)
    return seen


class Scene:
    """A folder with a repository or without, the host's own folder, and something outside."""

    def __init__(self, place: Path, before: list[Edit], after: list[Edit], *, has_git: bool) -> None:
        self.top, self.own, self.outside = place / "top", place / "own", place / "outside"
        for folder in (self.top, self.own, self.outside):
            folder.mkdir()
        (self.outside / "x").write_text("outside\n")
        (self.top / ".gitignore").write_text("*.log\nbuild\n")
        (self.top / ".gitattributes").write_text("* text=auto ident\n")
        if has_git:
            Repo(self.top).commit()
        for edit in before:
            edit.do(self.top, self.outside)
        self.changes = asyncio.run(self.begin())
        for edit in after:
            edit.do(self.top, self.outside)
        self.before = found_in(self.top)
        self.around = (everything(self.outside), everything(self.top / ".git"))
        self.trash = Trash(self.own)

    async def begin(self) -> FolderChanges:
        changes = await open_folder(str(self.top), "s", folder=self.own / "changes/s", home=self.own)
        await changes.begin_session()
        return changes

    async def discard(self) -> set[str]:
        """Discard all that changed since the base. Returns what was refused."""
        found = await self.changes.compute(SESSION)
        return set(await self.changes.discard(SESSION, found.changes))

    async def changed(self) -> set[str]:
        return {path for change in (await self.changes.compute(SESSION)).changes for path in change.paths}

    def undo(self) -> None:
        """Undo the discard, if it was not undone yet."""
        for discard in self.trash.discards():
            if discard.undoes is None:
                self.trash.undo(discard)

    def is_as_before(self) -> None:
        assert found_in(self.top) == self.before
        assert (everything(self.outside), everything(self.top / ".git")) == self.around


def in_a_child(work: Callable[[], Any], killed_at: int) -> bool:
    """Do something in another process, which is killed at one of its steps. Returns whether it was."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        left = killed_at

        def step() -> None:
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

        undo_module.checkpoint = discard_module.checkpoint = step  # type: ignore[attr-defined]
        try:
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0


@settings(max_examples=settings().max_examples // 6)
@given(
    st.lists(edits, max_size=8),
    st.lists(edits, min_size=1, max_size=8),
    st.integers(0, 30),
    st.integers(0, 20),
    st.booleans(),
)
def test_whatever_a_discard_took_away_comes_back_though_both_are_killed(
    before: list[Edit], after: list[Edit], discard_killed_at: int, undo_killed_at: int, has_git: bool
) -> None:
    with tempfile.TemporaryDirectory() as name:
        scene = Scene(Path(name), before, after, has_git=has_git)
        in_a_child(lambda: asyncio.run(scene.discard()), discard_killed_at)
        assert everything(scene.outside) == scene.around[0]
        in_a_child(scene.undo, undo_killed_at)
        scene.trash.undo_unfinished()  # as the next host does
        scene.undo()
        scene.is_as_before()


@settings(max_examples=settings().max_examples // 10)
@given(st.lists(edits, max_size=8), st.lists(edits, min_size=1, max_size=8), st.booleans())
def test_a_discard_brings_the_base_back_and_its_undo_can_be_undone(
    before: list[Edit], after: list[Edit], has_git: bool
) -> None:
    with tempfile.TemporaryDirectory() as name:
        scene = Scene(Path(name), before, after, has_git=has_git)

        refused = asyncio.run(scene.discard())
        rest = asyncio.run(scene.changed())
        assert rest <= refused, "what was not refused is as it was"
        discarded = found_in(scene.top)
        scene.undo()
        scene.is_as_before()
        for counter in scene.trash.discards()[:1]:
            scene.trash.undo(counter)
            assert found_in(scene.top) == discarded
