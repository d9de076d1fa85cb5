"""A repository with one commit, a private folder, and a home without settings."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from changes.repositories import Repo


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return folder


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository that those of the tests are copies of: copying is quicker than committing."""
    repo = Repo(tmp_path_factory.mktemp("model") / "inn")
    repo.write("a.txt", "one\ntwo\nthree\n")
    repo.write("src/b.py", "print('b')\n" * 10)
    repo.write("src/deep/c.txt", "c\n")
    repo.commit()
    return repo.top


@pytest.fixture
def repo(tmp_path: Path, model: Path) -> Repo:
    return Repo(shutil.copytree(model, tmp_path / "inn"))


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The host's own folder."""
    return tmp_path / "serai"
