"""Agents in `serai.toml`: what can be said, what is refused, and who may say it."""

from __future__ import annotations

from pathlib import Path

import pytest

from serai.config.agents import AgentSettings
from serai.config.load import load
from serai.config.paths import Paths, find_paths
from serai.config.toml import is_name
from serai.config.trust import Trust
from serai.errors import ConfigInvalid

SECRET = "sk-0123456789abcdef"

MINE = f"""
port = 1

[agents.mine]
command = "~/bin/mine"
args = ["--acp"]
env = {{ MINE_API_KEY = "{SECRET}" }}
label = "Mine"
aliases = ["my-own"]
login = ["mine", "login"]
fs = true
cumulative_tokens = true
"""


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    paths = find_paths(tmp_path / "home", {})
    paths.make_home()
    return paths


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def test_the_persons_file_describes_agents_beside_its_settings(paths: Paths) -> None:
    paths.user_config.write_text(MINE)
    configuration = load(paths, {})
    assert configuration.settings.port == 1
    assert configuration.agents == {
        "mine": AgentSettings(
            command="~/bin/mine",
            args=("--acp",),
            env={"MINE_API_KEY": SECRET},
            label="Mine",
            aliases=("my-own",),
            login=("mine", "login"),
            fs=True,
            cumulative_tokens=True,
        )
    }
    assert "agents" not in configuration.provenance


def test_a_folder_that_nobody_trusts_neither_adds_nor_changes_agents(paths: Paths, project: Path) -> None:
    paths.user_config.write_text(MINE)
    (project / "serai.toml").write_text('[agents.mine]\ncommand = "/evil"\n[agents.new]\ncommand = "/evil"\n')
    configuration = load(paths, {}, project=project)
    assert configuration.agents["mine"].command == "~/bin/mine"
    assert list(configuration.agents) == ["mine"]
    assert {ignored.key for ignored in configuration.ignored} == {"agents.mine", "agents.new"}
    assert all(f"serai config trust {project}" in str(ignored) for ignored in configuration.ignored)


def test_a_trusted_folder_adds_agents_and_takes_the_place_of_the_persons(paths: Paths, project: Path) -> None:
    paths.user_config.write_text(MINE)
    (project / "serai.toml").write_text('[agents.mine]\ncommand = "other"\n[agents.new]\ncommand = "new"\n')
    Trust(paths.trust).trust(project)
    configuration = load(paths, {}, project=project)
    assert configuration.agents == {
        "mine": AgentSettings(command="other"),
        "new": AgentSettings(command="new"),
    }


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("agents = 3", r"agents must be a table"),
        ("[agents]\nmine = 3", r"agents\.mine: expected `object`"),
        ('[agents."Mine!"]\ncommand = "x"', r"small letters"),
        ("[agents.mine]\ncommand = 3", r"agents\.mine: expected `str \| null`"),
        ('[agents.mine]\ncommand = ""', r"agents\.mine: expected `str` of length >= 1"),
        ('[agents.mine]\ncomand = "x"', r"comand"),
        ('[agents.mine]\nargs = "x"', r"args"),
        ('[agents.mine]\naliases = ["a b"]', r"alias 'a b'"),
        ('[agents.mine]\ncommand = "bin/x"', r"begins with / or ~/"),
        ('[agents.mine]\nenv = { "A=B" = "x" }', r"'A=B' cannot be a name of a variable"),
    ],
)
def test_a_wrong_entry_is_refused_by_name(paths: Paths, text: str, what: str) -> None:
    paths.user_config.write_text(text)
    with pytest.raises(ConfigInvalid, match=what) as caught:
        load(paths, {})
    assert str(paths.user_config) in caught.value.message


def test_no_message_and_no_representation_shows_a_value_of_env(paths: Paths) -> None:
    paths.user_config.write_text(MINE + "terminal = 3\n")
    with pytest.raises(ConfigInvalid) as caught:
        load(paths, {})
    assert SECRET not in str(caught.value)
    paths.user_config.write_text(MINE)
    assert SECRET not in repr(load(paths, {}))


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        *((name, True) for name in ("claude", "mistral-vibe", "a_b", "a", "4x", "a" * 64)),
        *((name, False) for name in ("", "-a", "a-", "A", "a b", "a/b", "a\n", "a" * 65)),
    ],
)
def test_names_of_agents(name: str, fits: bool) -> None:
    assert is_name(name) is fits
