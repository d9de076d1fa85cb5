"""Where a directory is, and whether it is still the same one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from changes.repositories import Repo
from serai.changes.whereabouts import may_be_tracked, whereabouts


def test_a_directory_behind_a_link_may_be_in_a_repository(repo: Repo, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(repo.top / "src")
    assert may_be_tracked(str(link))
    found = whereabouts(str(link))
    assert found == whereabouts(str(repo.top / "src"))
    assert found.place.path == str(repo.top / "src")
    assert found.root is not None
    assert found.root.path == str(repo.top)
    assert not may_be_tracked(str(tmp_path))


def test_another_folder_at_the_same_path_is_told_apart(repo: Repo, tmp_path: Path) -> None:
    there = whereabouts(str(repo.top))
    shutil.copytree(repo.top, tmp_path / "copy")
    repo.top.rename(tmp_path / "away")
    (tmp_path / "copy").rename(repo.top)
    assert whereabouts(str(repo.top)).place.path == there.place.path
    assert whereabouts(str(repo.top)) != there
    shutil.rmtree(repo.top)
    (tmp_path / "away").rename(repo.top)
    assert whereabouts(str(repo.top)) == there


def test_so_is_one_that_was_given_the_same_number(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    there = whereabouts(str(folder))
    for _ in range(200):
        folder.rmdir()
        folder.mkdir()
        again = whereabouts(str(folder))
        if again.place.number == there.place.number:
            break
    else:
        pytest.skip("this file system does not give numbers anew at once")
    if there.place.made is None:
        pytest.skip("this file system does not tell when a folder was made")
    assert again != there
    assert again.digest(has_git=False) != there.digest(has_git=False)


def test_so_is_another_repository_in_the_same_folder(repo: Repo) -> None:
    there = whereabouts(str(repo.top))
    (repo.top / ".git").rename(repo.top / "before.git")
    repo.git("init", "-q")
    again = whereabouts(str(repo.top))
    assert again.place == there.place
    assert again.root != there.root


def test_a_directory_that_is_not_there_is_nothing(tmp_path: Path) -> None:
    assert whereabouts(str(tmp_path / "none")).place.number is None
