"""Where the files are."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from serai.config.paths import find_paths, here
from serai.errors import ConfigInvalid


def test_a_named_home_holds_everything(tmp_path: Path) -> None:
    paths = find_paths(tmp_path / "here", {"SERAI_HOME": "/elsewhere"})
    assert paths.home == tmp_path / "here"
    assert paths.source == "--home"
    files = {paths.database, paths.token, paths.database_key, paths.trust, paths.user_config}
    assert {file.name for file in files} == {
        "history.db",
        "token",
        "database.key",
        "trust.json",
        "serai.toml",
    }
    assert {file.parent for file in files} == {tmp_path / "here"}


def test_the_variable_names_a_home_too(tmp_path: Path) -> None:
    paths = find_paths(None, {"SERAI_HOME": str(tmp_path)})
    assert (paths.home, paths.source) == (tmp_path, "SERAI_HOME")
    assert paths.user_config == tmp_path / "serai.toml"


def test_without_a_home_the_platform_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    paths = find_paths(None, {"SERAI_HOME": ""})
    assert paths.source == "default"
    assert paths.home.name == paths.user_config.parent.name == "serai"
    assert paths.home != paths.user_config.parent
    assert tmp_path in paths.home.parents
    assert not paths.home.exists()


def test_the_home_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    paths = find_paths(tmp_path / "a" / "b", {})
    assert paths.make_home() == tmp_path / "a" / "b"
    assert stat.S_IMODE(paths.home.stat().st_mode) == 0o700
    paths.home.chmod(0o755)
    paths.make_home()
    assert stat.S_IMODE(paths.home.stat().st_mode) == 0o700


def test_in_a_folder_that_is_gone_there_is_no_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    assert here() == gone
    gone.rmdir()
    with pytest.raises(ConfigInvalid, match="is gone"):
        here()
    assert find_paths(tmp_path, {}).home == tmp_path
    with pytest.raises(ConfigInvalid, match="is gone"):
        find_paths("home in it", {})
    with pytest.raises(ConfigInvalid, match="is gone"):
        find_paths(None, {"SERAI_HOME": "home in it"})
