"""Which files a folder has."""

from __future__ import annotations

import asyncio
import math
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from serai.completions import files as index_module
from serai.completions.files import FileIndex
from serai.completions.search import PathListing, in_turns, search


@pytest.fixture
async def index(tmp_path: Path) -> AsyncIterator[FileIndex]:
    index = FileIndex(tmp_path)
    yield index
    await index.close()


def git(folder: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words],  # noqa: S607 - the git that is there
        cwd=folder,
        check=True,
        capture_output=True,
    )


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("1")


def stale(index: FileIndex) -> None:
    """Let the next who asks wait for a new listing."""
    index._looked_at = -math.inf


async def names(listing: PathListing) -> set[str]:
    return set(await in_turns(search(listing, "", 300)))


async def test_git_tells_what_is_known_and_what_is_new_and_not_ignored(
    index: FileIndex, tmp_path: Path
) -> None:
    git(tmp_path, "init")
    write(tmp_path, "known/a.py", "new/ä b.py", "build/out.o", ".gitignore", ".github/x.yml")
    (tmp_path / ".gitignore").write_text("build\n")
    git(tmp_path, "add", "known")
    assert await names(await index.listing()) == {
        "known/", "known/a.py", "new/", "new/ä b.py", ".gitignore", ".github/", ".github/x.yml",
    }  # fmt: skip


async def test_a_folder_that_its_repository_ignores_has_what_is_there(tmp_path: Path) -> None:
    git(tmp_path, "init")
    write(tmp_path, "a.py", "scratch/x/file.py", "scratch/x/node_modules/y.js", "scratch/other.py")
    (tmp_path / ".gitignore").write_text("scratch/\n")
    index = FileIndex(tmp_path / "scratch/x")
    assert await names(await index.listing()) == {"file.py"}
    await index.close()


async def test_a_program_in_the_folder_that_is_called_git_is_not_run(
    index: FileIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `PATH` with an empty entry names the folder that a program is started in."""
    git(tmp_path, "init")
    write(tmp_path, "a.py", "ignored.o")
    (tmp_path / ".gitignore").write_text("*.o\nran\n")
    (tmp_path / "git").write_text("#!/bin/sh\ntouch ran\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f":.:{os.environ['PATH']}")
    assert await names(await index.listing()) == {"a.py", "git", ".gitignore"}, "the real one has answered"
    assert not (tmp_path / "ran").exists()


# -- repositories in a repository --------------------------------------------------------------------------


@pytest.fixture
def nested(tmp_path: Path) -> Path:
    """A repository with a submodule, a repository that was added by mistake, and one that is not known."""
    work = tmp_path / "work"
    write(tmp_path / "away", "deep/inside.txt")
    write(work, "a.py", "src/b.py", "mistake/c.py", "inner/.gitignore", "inner/new.txt", "inner/built.o")
    for folder in (tmp_path / "away", work / "mistake", work, work / "inner"):
        git(folder, "init")
    for folder in (tmp_path / "away", work / "mistake"):
        git(folder, "add", ".")
        git(folder, "commit", "-m", "first")
    git(work, "-c", "protocol.file.allow=always", "submodule", "add", str(tmp_path / "away"), "src/sub")
    git(work, "add", "a.py", "src/b.py", "mistake")
    (work / "inner/.gitignore").write_text("*.o\n")
    return work


async def test_what_is_in_submodules_and_other_repositories_is_found(nested: Path) -> None:
    write(nested, "src/sub/fresh.txt", "inner/innermost/d.py")
    git(nested / "inner/innermost", "init")
    index = FileIndex(nested)
    found = await names(await index.listing())
    assert found >= {
        "src/sub/", "src/sub/deep/", "src/sub/deep/inside.txt", "src/sub/fresh.txt", "a.py", "src/b.py",
        "mistake/", "mistake/c.py", "inner/", "inner/new.txt", "inner/innermost/", "inner/innermost/d.py",
    }  # fmt: skip
    assert "inner/built.o" not in found
    assert not any(".git/" in name for name in found)
    offered = await index.candidates("sub")
    assert [item.name for item in offered].count("src/sub/") == 1
    await index.close()


async def test_a_submodule_that_is_a_link_now_or_is_not_there_is_not_looked_into(
    nested: Path, tmp_path: Path
) -> None:
    write(tmp_path, "elsewhere/secret.txt")
    git(tmp_path / "elsewhere", "init")
    for name in ("src/sub", "mistake"):
        shutil.rmtree(nested / name)
    (nested / "mistake").symlink_to(tmp_path / "elsewhere")
    (nested / "src/sub").mkdir()
    index = FileIndex(nested)
    found = await names(await index.listing())
    assert "a.py" in found
    assert not any(name.startswith(("mistake/", "src/sub/s")) or "secret" in name for name in found)
    await index.close()


async def test_without_git_the_disk_is_read_without_what_nobody_means(
    index: FileIndex, tmp_path: Path
) -> None:
    write(tmp_path, "src/a.py", "node_modules/x/y.js", ".venv/z", ".hidden/b", "src/__pycache__/c.pyc")
    (tmp_path / "empty").mkdir()
    (tmp_path / "src" / "loop").symlink_to(tmp_path)
    assert await names(await index.listing()) == {
        "src/", "src/a.py", "src/loop", ".hidden/", ".hidden/b", "empty/",
    }  # fmt: skip


async def test_a_repositorys_settings_run_nothing(index: FileIndex, tmp_path: Path) -> None:
    git(tmp_path, "init")
    write(tmp_path, "a.py")
    git(tmp_path, "add", "a.py")
    trap, sprung = tmp_path / ".git" / "trap", tmp_path / ".git" / "sprung"
    trap.write_text(f"#!/bin/sh\ntouch '{sprung}'\n")
    trap.chmod(0o755)
    git(tmp_path, "config", "core.fsmonitor", str(trap))
    assert await names(await index.listing()) == {"a.py"}
    assert not sprung.exists()
    git(tmp_path, "ls-files", "--others")
    assert sprung.exists()  # so the trap works


async def test_a_new_file_is_found_once_the_listing_is_stale(index: FileIndex, tmp_path: Path) -> None:
    write(tmp_path, "a")
    first = await index.listing()
    write(tmp_path, "b")
    assert await index.listing() is first
    stale(index)
    async with asyncio.timeout(30):
        while await names(await index.listing()) != {"a", "b"}:
            stale(index)


class SlowGit:
    """A git that says nothing until it may, and then that there is no repository."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._gate = folder / "go"
        (folder / "git").write_text(
            f"#!/bin/sh\nsleep 0.05\nwhile [ ! -e '{self._gate}' ]; do sleep 0.01; done\nexit 1\n"
        )
        (folder / "git").chmod(0o755)
        self.go_on()

    def go_on(self) -> None:
        self._gate.touch()

    def wait(self) -> None:
        self._gate.unlink()


@pytest.fixture
def slow_git(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowGit]:
    folder = tmp_path_factory.mktemp("slow") / "tools"
    slow = SlowGit(folder)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    monkeypatch.setattr(index_module, "_AGE", 0.0)
    yield slow
    slow.go_on()


async def test_a_listing_that_is_not_too_old_answers_at_once_while_a_new_one_is_made(
    index: FileIndex, tmp_path: Path, slow_git: SlowGit
) -> None:
    write(tmp_path, "a")
    first = await index.listing()
    slow_git.wait()
    write(tmp_path, "b")
    assert await index.listing() is first
    assert index._making is not None
    slow_git.go_on()
    await index._making
    assert await names(await index.listing()) == {"a", "b"}


@pytest.mark.parametrize("with_git", [True, False])
async def test_a_closed_folder_is_left_out_wherever_it_is(tmp_path: Path, with_git: bool) -> None:
    write(tmp_path, "sub/closed/a", "sub/closed/b/c", "sub/closed-not/d", "closed/e")
    (tmp_path / "link").symlink_to("sub/closed")
    if with_git:
        git(tmp_path, "init")
    expected = {"sub/", "sub/closed-not/", "sub/closed-not/d", "closed/", "closed/e", "link"}
    for folder, there in (
        (tmp_path, expected),
        (tmp_path / "sub/closed", set[str]()),
        (tmp_path / "sub/closed/b", set[str]()),
        (tmp_path / "closed", {"e"}),
    ):
        index = FileIndex(folder, closed=tmp_path / "link")
        assert await names(await index.listing()) == there
        await index.close()


@pytest.mark.parametrize("with_git", [True, False])
async def test_a_listing_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_git: bool) -> None:
    monkeypatch.setattr(index_module, "ENTRY_LIMIT", 10)
    monkeypatch.setattr(index_module, "_CHUNK", 16)
    for number in range(30):
        write(tmp_path, f"d{number}/a")
    if with_git:
        git(tmp_path, "init")
    index = FileIndex(tmp_path)
    listing = await index.listing()
    assert 10 <= listing.count <= 40
    await index.close()


async def test_closing_ends_what_is_under_way(index: FileIndex, tmp_path: Path) -> None:
    git(tmp_path, "init")
    waiting = asyncio.ensure_future(index.listing())
    await asyncio.sleep(0)
    await index.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting
