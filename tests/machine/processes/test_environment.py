"""What a program gets of the host's environment, and where it is."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from serai.machine.processes.environment import (
    find_program,
    git_environment,
)
from serai.machine.processes.processes import Processes

SECRETS = {
    "SERAI_DATABASE_KEY": "one",
    "SERAI_TOKEN": "two",
    "SERAI_RELAY_SECRET_2": "three",
    "SERAI_OLD_PASSWORD": "4",
}


async def test_a_child_does_not_inherit_them(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    child = await processes.start(["env"], what="env", stdout=subprocess.PIPE)
    assert child.stdout
    told = (await asyncio.to_thread(child.stdout.read)).decode()
    child.stdout.close()
    await child.gone()
    assert "PATH=" in told
    assert not [name for name in SECRETS if name in told]


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    """A program in `bin`, and one of the same name in the folder that the host runs in."""
    for folder in (tmp_path, tmp_path / "bin"):
        folder.mkdir(exist_ok=True)
        (folder / "tool").write_text("#!/bin/sh\n")
        (folder / "tool").chmod(0o755)
    return tmp_path / "bin" / "tool"


@pytest.mark.parametrize("relative", ["", ".", "..", "bin", "./bin"])
def test_only_folders_that_are_the_same_from_everywhere_are_looked_into(
    tool: Path, relative: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tool.parent.parent)
    assert find_program("tool", {"PATH": relative}) is None
    for path in (f"{relative}:{tool.parent}", f"{tool.parent}:{relative}", f"/x:{relative}:{tool.parent}"):
        assert find_program("tool", {"PATH": path}) == str(tool)


def test_git_is_looked_for_where_the_path_says_and_never_where_one_happens_to_be() -> None:
    found = find_program("git", {"PATH": f":{os.environ['PATH']}"})
    assert found is not None
    assert found.startswith("/")
    assert find_program("git", {"PATH": ":."}) is None
    assert git_environment({"PATH": ":/bin:."})["PATH"] == "/bin", "so it is for what git starts"


def test_words_to_git_in_the_environment_are_not_passed_on() -> None:
    found = git_environment({"GIT_DIR": "/x", "GIT_EXTERNAL_DIFF": "evil", "LC_ALL": "de", "PATH": "/bin"})
    assert found["PATH"] == "/bin"
    assert "GIT_DIR" not in found
    assert "GIT_EXTERNAL_DIFF" not in found
    assert found["LC_ALL"] == "C"
    assert found["GIT_OPTIONAL_LOCKS"] == "0"
