"""By which means the changes of a folder are seen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from changes.repositories import Repo, never
from serai.changes.noted import NotedChanges
from serai.changes.opening import open_changes
from serai.changes.tracked import TrackedChanges


async def test_a_repository_is_seen_through_git(repo: Repo, private: Path) -> None:
    changes = await open_changes(str(repo.top), "s1", folder=private, trusted=never)
    assert isinstance(changes, TrackedChanges)


async def test_any_other_folder_through_notes(tmp_path: Path, private: Path) -> None:
    changes = await open_changes(str(tmp_path), "s1", folder=private, trusted=never)
    assert isinstance(changes, NotedChanges)
    assert changes.why is None


async def test_without_git_it_is_said_why(repo: Repo, private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    changes = await open_changes(str(repo.top), "s1", folder=private, trusted=never)
    assert isinstance(changes, NotedChanges)
    assert "not installed" in (changes.why or "")
