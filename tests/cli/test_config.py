"""`serai config`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from serai.cli import read_words
from serai.errors import ConfigInvalid


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a working directory of the test's own, and no variable of the person who runs it."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setattr("os.environ", {"SERAI_HOME": str(tmp_path / "home")})
    return tmp_path


def serai_config(*words: str) -> int:
    options = read_words(["config", *words])
    return options.run(options)


def test_show_prints_every_value_and_where_it_comes_from(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.environ", {"SERAI_HOME": str(place / "home"), "SERAI_PORT": "8080"})
    assert serai_config("show") == 0
    lines = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines()}
    assert lines["home"] == [str(place / "home"), "SERAI_HOME"]
    assert lines["port"] == ["8080", "environment", "(SERAI_PORT)"]
    assert lines["host"] == ['"127.0.0.1"', "default"]
    assert lines["require_token"] == ["true", "default"]
    assert lines["relay.max_hops"] == ["8", "default"]
    assert not (place / "home").exists()


def test_show_as_json(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "other").mkdir()
    (place / "other" / "serai.toml").write_text('port = 80\ndefault_agent = "theirs"\n')
    assert serai_config("trust", "--home", str(place / "x"), str(place / "other")) == 0
    capsys.readouterr()
    assert serai_config("show", "--json", "--home", str(place / "x"), "--project", str(place / "other")) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["home"] == {"value": str(place / "x"), "source": "--home"}
    file = str(place / "other" / "serai.toml")
    agent = {"value": "theirs", "source": "project file", "place": file}
    assert shown["settings"]["default_agent"] == agent
    assert shown["settings"]["port"] == {"value": 7777, "source": "default", "place": None}
    assert [(it["key"], it["value"], it["file"]) for it in shown["ignored"]] == [("port", 80, file)]


def test_show_says_what_a_host_does_not_take_from_a_project(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = place / "project"
    (project / "serai.toml").write_text('port = 17955\ndefault_agent = "mine"\n')
    serai_config("trust", ".")
    capsys.readouterr()
    assert serai_config("show") == 0
    printed = capsys.readouterr()
    lines = {line.split()[0]: line for line in printed.out.splitlines()}
    assert lines["port"].split()[1] == "7777"
    assert lines["default_agent"].endswith(f"project file ({project / 'serai.toml'})")
    assert "port is ignored: it is the host's own" in printed.err


def test_a_folder_is_trusted_and_distrusted(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = place / "project"
    (project / "serai.toml").write_text('default_agent = "mine"\n')
    assert serai_config("trust", ".") == 0
    assert capsys.readouterr().out == f"{project} is trusted\n"
    serai_config("show", "--json")
    assert json.loads(capsys.readouterr().out)["settings"]["default_agent"]["value"] == "mine"
    assert serai_config("distrust", str(project)) == 0
    assert capsys.readouterr().out == f"{project} is no longer trusted\n"
    assert serai_config("distrust", str(project)) == 0
    assert capsys.readouterr().out == f"{project} was not trusted\n"


@pytest.mark.parametrize("name", ["nothing", "file"])
def test_show_of_a_project_that_is_not_there_says_so(place: Path, name: str) -> None:
    (place / "file").touch()
    with pytest.raises(ConfigInvalid, match=f"there is no folder {place / name}"):
        serai_config("show", "--project", str(place / name))


def test_show_says_that_the_list_of_trusted_folders_is_damaged(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "home").mkdir()
    (place / "home" / "trust.json").touch(0o600)
    (place / "home" / "trust.json").write_text("{broken")
    with pytest.raises(ConfigInvalid, match=r"trust\.json is damaged.*config trust DIR"):
        serai_config("show")
    assert capsys.readouterr().out == ""
