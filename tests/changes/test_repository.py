"""The repository of a directory."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from changes.repositories import Repo, the_git
from serai.changes.repository import (
    EMPTY_TREES,
    find_repository,
    head_tree,
    read_settings,
    see_same_repository,
)
from serai.errors import GitFailed


async def test_a_directory_below_the_root(repo: Repo) -> None:
    found = await find_repository(await the_git(), str(repo.top / "src/deep"))
    assert found is not None
    assert found.top == str(repo.top)
    assert found.git_dir == found.common_dir == str(repo.top / ".git")
    assert (found.prefix, found.object_format) == ("src/deep/", "sha1")


async def test_a_directory_behind_a_link(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repo.top / "src/deep")
    found = await find_repository(await the_git(), str(tmp_path / "link"))
    assert found is not None
    assert (found.common_dir, found.prefix) == (str(repo.top / ".git"), "src/deep/")


async def test_another_work_tree(repo: Repo, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "other"))
    found = await find_repository(await the_git(), str(tmp_path / "other"))
    assert found is not None
    assert found.git_dir == str(repo.top / ".git/worktrees/other")
    assert found.common_dir == str(repo.top / ".git")


async def test_a_work_tree_that_is_elsewhere_is_refused_with_a_remedy(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "other/src").mkdir(parents=True)
    repo.git("config", "core.worktree", str(tmp_path / "other"))
    for folder in (repo.top, repo.top / "src"):
        with pytest.raises(GitFailed, match=r"has its work tree elsewhere, at .*/other") as caught:
            await find_repository(await the_git(), str(folder))
        assert "core.worktree" in (caught.value.remedy or "")
    found = await find_repository(await the_git(), str(tmp_path / "other/src"))
    assert found is None


async def test_a_work_tree_around_the_repository_is_one(repo: Repo, tmp_path: Path) -> None:
    repo.git("config", "core.worktree", str(tmp_path))
    found = await find_repository(await the_git(), str(repo.top / "src"))
    assert found is not None
    assert (found.top, found.prefix) == (str(tmp_path), f"{repo.top.name}/src/")


async def test_a_submodule_is_one_and_a_copy_of_it_is_not(repo: Repo, tmp_path: Path) -> None:
    repo.add_submodule(tmp_path / "library", "lib")
    shutil.copytree(repo.top / "lib", repo.top / "copy")
    (tmp_path / "link").symlink_to(repo.top / "lib")
    for folder in (repo.top / "lib", tmp_path / "link"):
        found = await find_repository(await the_git(), str(folder))
        assert found is not None
        assert (found.top, found.prefix) == (str(repo.top / "lib"), "")
    with pytest.raises(GitFailed, match=r"has its work tree elsewhere, at .*/lib"):
        await find_repository(await the_git(), str(repo.top / "copy"))


async def test_a_repository_is_the_same_until_git_names_other_folders(repo: Repo, tmp_path: Path) -> None:
    git, link = await the_git(), tmp_path / "link"
    link.symlink_to(repo.top / "src")
    found = await find_repository(git, str(link))
    assert found is not None
    await see_same_repository(git, found, str(link))
    shutil.copytree(repo.top, tmp_path / "other")
    repo.git("config", "core.worktree", str(tmp_path / "other"))
    with pytest.raises(GitFailed, match="is not where it was") as caught:
        await see_same_repository(git, found, str(link))
    assert "core.worktree" in (caught.value.remedy or "")
    repo.git("config", "--unset", "core.worktree")
    await see_same_repository(git, found, str(link))
    link.unlink()
    link.symlink_to(tmp_path / "other/src")
    with pytest.raises(GitFailed, match="is not where it was") as caught:
        await see_same_repository(git, found, str(link))
    assert "opened anew" in (caught.value.remedy or "")
    shutil.rmtree(tmp_path / "other/.git")
    with pytest.raises(GitFailed, match="the repository is gone"):
        await see_same_repository(git, found, str(link))


async def test_no_repository(tmp_path: Path) -> None:
    assert await find_repository(await the_git(), str(tmp_path)) is None


async def test_a_repository_without_a_work_tree_is_none(tmp_path: Path, repo: Repo) -> None:
    Repo(tmp_path / "bare", "--bare")
    git = await the_git()
    assert await find_repository(git, str(repo.top / ".git")) is None
    assert await find_repository(git, str(tmp_path / "bare")) is None


async def test_an_ignored_directory_has_none(repo: Repo) -> None:
    repo.write(".gitignore", "build/\n:(odd)*/\n")
    repo.write("build/out/x", "x\n")
    repo.write(":(odd)*/x", "x\n")
    git = await the_git()
    assert await find_repository(git, str(repo.top / "build/out")) is None
    assert await find_repository(git, str(repo.top / "src")) is not None
    assert await find_repository(git, str(repo.top / ":(odd)*")) is None


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give a folder away")
async def test_a_repository_of_someone_else_is_refused_with_a_remedy(repo: Repo) -> None:
    for path in (repo.top, repo.top / ".git"):
        os.chown(path, 12345, 12345)
    with pytest.raises(GitFailed) as caught:
        await find_repository(await the_git(), str(repo.top))
    assert "safe.directory" in (caught.value.remedy or "")


async def test_the_tree_of_the_last_commit(repo: Repo, tmp_path: Path) -> None:
    git = await the_git()
    found = await find_repository(git, str(repo.top))
    assert found is not None
    assert (await head_tree(git, found)) == repo.git("rev-parse", "HEAD^{tree}").decode().strip()
    Repo(tmp_path / "new")
    new = await find_repository(git, str(tmp_path / "new"))
    assert new is not None
    assert await head_tree(git, new) == EMPTY_TREES["sha1"]


async def test_only_harmless_settings_are_carried(repo: Repo) -> None:
    for name, value in {
        "core.autocrlf": "input",
        "core.excludesFile": "~/mine",
        "core.editor": "evil",
        "core.fsmonitor": "evil",
        "filter.a.b.clean": "evil",
        "filter.a.b.required": "true",
    }.items():
        repo.git("config", name, value)
    git = await the_git()
    found = await find_repository(git, str(repo.top))
    assert found is not None
    settings = await read_settings(git, found, {"HOME": "/home/ada"})
    assert settings.carried["core.autocrlf"] == "input"
    assert settings.carried["core.excludesfile"] == "/home/ada/mine"
    assert settings.carried["core.attributesfile"] == "/home/ada/.config/git/attributes"
    assert "evil" not in settings.carried.values()
    assert settings.filters == {"filter.a.b.clean": "evil", "filter.a.b.required": "true"}
    assert settings.drivers == {"a.b"}
