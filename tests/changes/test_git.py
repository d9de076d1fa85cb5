"""Running git."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from changes.repositories import Repo, the_git
from serai.changes import git as git_module
from serai.changes.git import Git, TooMuchOutput, find_git
from serai.errors import GitFailed, GitTimedOut, GitUnavailable


def program(tmp_path: Path, script: str) -> Git:
    """A program in the place of git."""
    file = tmp_path / "git"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return Git(str(file), (2, 40))


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that another process does; fail when it does not come."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - another process tells nobody
            await asyncio.sleep(0.01)


def is_gone(file: Path) -> bool:
    """Whether the process whose number a file holds has ended."""
    return not is_alive(int(file.read_text()))


@pytest.mark.parametrize("version", ["git version 2.31.9", "git version 1.8", "something else"])
async def test_an_old_git_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    program(tmp_path, f"echo {version}")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(GitUnavailable, match="too old") as caught:
        await find_git()
    assert caught.value.remedy


async def test_a_failure_is_one_sentence_with_what_git_said(repo: Repo) -> None:
    git = await the_git()
    with pytest.raises(GitFailed) as caught:
        await git.run("cat-file", "blob", "0" * 40, doing="read it", folder=str(repo.top))
    assert caught.value.code == "git_failed"
    assert caught.value.message.startswith("git could not read it: ")
    assert "\n" not in caught.value.message


async def test_a_command_that_takes_too_long_is_ended_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_module, "_SECONDS", 0.3)
    git = program(tmp_path, f"sleep 60 & echo $! > '{tmp_path}/child'; wait")
    with pytest.raises(GitTimedOut, match="more than"):
        await git.run("x", doing="wait", folder=str(tmp_path))
    await until(lambda: is_gone(tmp_path / "child"))


async def test_too_much_output_is_refused_without_being_kept(tmp_path: Path) -> None:
    git = program(tmp_path, "yes")
    with pytest.raises(TooMuchOutput, match="more than 1 MB"):
        await git.run("x", doing="print", folder=str(tmp_path), max_bytes=1 << 20)
