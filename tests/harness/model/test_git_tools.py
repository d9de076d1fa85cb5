from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.model.workbench import Workbench
from requirements import proves
from serai.harness.model.tool import Asking
from serai.harness.model.tools.git import GitCommit, GitDiff, GitStatus
from serai.session.agent_file import FsScopeTier


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout  # noqa: S607


def repository(folder: Path) -> None:
    """A repository with one commit, in which all that can run something does."""
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "A Person")
    git(folder, "config", "user.email", "person@example.org")
    (folder / "a.txt").write_text("one\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    trap = folder.parent / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {folder.parent}/sprung\ncat\n")
    trap.chmod(0o755)
    for hook in ("pre-commit", "commit-msg", "post-commit", "prepare-commit-msg", "post-index-change"):
        (folder / ".git" / "hooks" / hook).symlink_to(trap)
    for setting in ("core.fsmonitor", "gpg.program", "diff.external", "filter.x.clean", "diff.x.textconv"):
        git(folder, "config", setting, str(trap))
    git(folder, "config", "commit.gpgSign", "true")
    (folder / ".git" / "info" / "attributes").write_text("*.txt diff=x\n*.dat filter=x\n")


@pytest.fixture
def checkout(bench: Workbench) -> Workbench:
    """A workbench whose folder is a repository with traps."""
    repository(bench.folder)
    return bench


@proves("session:Tools-and-secrets/git-commit-needs-approval")
async def test_changes_are_seen_and_committed_and_nothing_of_the_folder_runs(checkout: Workbench) -> None:
    folder = checkout.folder
    (folder / "a.txt").write_text("two\n")
    (folder / "b.txt").write_text("new\n")
    (folder / "c.dat").write_text("filtered\n")
    status = (await checkout.use(GitStatus)).text
    assert status == "## main\n M a.txt\n?? b.txt\n?? c.dat"
    assert "-one\n+two" in (await checkout.use(GitDiff)).text
    assert "nothing" in (await checkout.use(GitDiff, staged=True)).text

    assert GitCommit.asking is Asking.ALWAYS
    committed = await checkout.use(GitCommit, message="second")
    assert "`b.txt`" in checkout.shown[-1].message
    assert "c.dat is left out" in committed.text
    assert git(folder, "show", "--format=%s", "--name-only", "--no-ext-diff").split() == [
        "second",
        "a.txt",
        "b.txt",
    ]
    assert not (folder.parent / "sprung").exists()
    assert "nothing was committed" in await checkout.refusal(GitCommit, message="third")


async def test_only_the_files_that_are_named_or_were_shown_are_committed(checkout: Workbench) -> None:
    folder = checkout.folder
    (folder / "a.txt").unlink()
    (folder / "b.txt").write_text("new\n")
    await checkout.use(GitCommit, message="gone", paths=["a.txt"])
    assert git(folder, "ls-files") == ""
    checkout.between = lambda: (folder / "late.txt").write_text("unseen")
    await checkout.use(GitCommit, message="new")
    assert git(folder, "ls-files").split() == ["b.txt"]
    assert "not all of this" in await checkout.refusal(GitCommit, message="x", paths=["../trap"])


async def test_a_sandboxed_session_sees_and_commits_only_what_is_below_its_folder(bench: Workbench) -> None:
    top = bench.folder.parent
    git(top, "init", "-q", "-b", "main")
    git(top, "config", "user.name", "A Person")
    git(top, "config", "user.email", "person@example.org")
    (top / "secret.txt").write_text("x")
    (bench.folder / "mine.txt").write_text("y")
    assert (await bench.use(GitStatus)).text.splitlines()[1:] == ["?? project/mine.txt"]
    assert "not all of this" in await bench.refusal(GitDiff, path="../secret.txt")
    await bench.use(GitCommit, message="mine")
    assert git(top, "ls-files").split() == ["project/mine.txt"]
    bench.tier = FsScopeTier.PROJECT
    assert "?? secret.txt" in (await bench.use(GitStatus)).text
    await bench.use(GitCommit, message="all", paths=["../secret.txt"])
    assert git(top, "ls-files").split() == ["project/mine.txt", "secret.txt"]


async def test_without_a_repository_the_model_is_told(bench: Workbench) -> None:
    assert "no git repository" in await bench.refusal(GitStatus)
