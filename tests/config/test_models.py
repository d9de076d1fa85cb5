"""Models and `[chat]` in `serai.toml`: what can be said, what is refused, by whom, and where keys are."""

from __future__ import annotations

from pathlib import Path

import pytest

from serai.config.load import load
from serai.config.models import ModelKind, ModelServer, PricePerMillion, find_model
from serai.config.paths import Paths, find_paths
from serai.config.settings import ChatSettings
from serai.config.trust import Trust
from serai.errors import ConfigInvalid
from serai.session.agent_file import FsScopeTier, OnExceed

KEY = "made-up-key-0123456789"

MINE = """
[chat]
default_model = "main:gpt-5"
fs_scope = "project"
allowed_commands = ["git status", "make *"]
max_messages = 100
max_cost_microcents = 50_000_000
on_exceed = "ask"

[models.main]
kind = "openai"
key = "env:MAIN_KEY"
ids = ["gpt-5", "llama3:8b"]

[models.main.prices."gpt-5"]
input = 1.25
output = 10

[models.local]
kind = "openai"
base_url = "http://127.0.0.1:8080/v1"
"""


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    paths = find_paths(tmp_path / "home", {})
    paths.make_home()
    return paths


def servers(paths: Paths, text: str = MINE) -> dict[str, ModelServer]:
    paths.user_config.write_text(text)
    return dict(load(paths, {}).models)


def test_the_persons_file_describes_models_and_chat(paths: Paths) -> None:
    assert servers(paths) == {
        "main": ModelServer(
            kind=ModelKind.OPENAI,
            key="env:MAIN_KEY",
            ids=("gpt-5", "llama3:8b"),
            prices={"gpt-5": PricePerMillion(input=1.25, output=10)},
        ),
        "local": ModelServer(kind=ModelKind.OPENAI, base_url="http://127.0.0.1:8080/v1"),
    }
    assert load(paths, {}).settings.chat == ChatSettings(
        default_model="main:gpt-5",
        fs_scope=FsScopeTier.PROJECT,
        allowed_commands=("git status", "make *"),
        max_messages=100,
        max_cost_microcents=50_000_000,
        on_exceed=OnExceed.ASK,
    )


@pytest.mark.parametrize("trusted", [False, True])
def test_no_project_describes_servers_whatever_is_trusted(
    paths: Paths, tmp_path: Path, trusted: bool
) -> None:
    mine = servers(paths)
    project = tmp_path / "project"
    project.mkdir()
    if trusted:
        Trust(paths.trust).trust(project)
    evil = '[models.main]\nkind = "openai"\nbase_url = "http://evil.example"\nkey = "env:MAIN_KEY"\n'
    (project / "serai.toml").write_text(evil)
    configuration = load(paths, {}, project=project)
    assert configuration.models == mine
    assert [ignored.key for ignored in configuration.ignored] == ["models.main"]


@pytest.mark.parametrize(
    "entry",
    [
        f'kind = "openai"\nkey = "{KEY}"',
        f'kind = "openai"\nkey = "env:{KEY}"',
        f'kind = "openai"\nbase_url = "http://me:{KEY}@host/v1"',
        f'kind = "{KEY}"\nkey = "env:A"',
        'kind = "openai"',
        'kind = "openai"\nkey = "env:A"\nbase_url = "file:///etc"',
        'kind = "openai"\nkey = "env:A"\nprice = 3',
        'kind = "openai"\nkey = "env:A"\nprices.a = { input = -1, output = 1 }',
        'kind = "openai"\nkey = "env:A"\nprices.a = { input = 1 }',
    ],
)
def test_a_wrong_entry_is_refused_by_name_and_no_value_is_told(paths: Paths, entry: str) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        servers(paths, f"[models.main]\n{entry}\n")
    assert "models.main" in str(caught.value)
    assert KEY not in str(caught.value)


def test_a_model_is_found_by_its_server_and_its_id(paths: Paths) -> None:
    there = servers(paths)
    assert find_model(there, "main:llama3:8b").id == "llama3:8b"
    assert find_model(there, "local:whatever").server is there["local"]


@pytest.mark.parametrize("model", ["main", "main:", "main:gpt-4", "other:gpt-5", "", ":gpt-5"])
def test_a_model_that_is_not_there_is_refused_with_what_there_is(paths: Paths, model: str) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        find_model(servers(paths), model)
    assert "main" in str(caught.value)
