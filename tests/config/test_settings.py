"""Settings: sources, their order, what is refused, and what a folder that nobody trusts may do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from serai.config.load import Provenance, Source, load, variable
from serai.config.paths import Paths, find_paths
from serai.config.settings import FROM_PROJECTS, Settings
from serai.config.trust import Trust
from serai.errors import ConfigInvalid


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    paths = find_paths(tmp_path / "home", {})
    paths.make_home()
    return paths


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def wanted(project: Path, text: str) -> None:
    (project / "serai.toml").write_text(text)


def test_without_any_source_the_defaults_hold(paths: Paths, project: Path) -> None:
    configuration = load(paths, {}, project=project)
    assert configuration.settings == Settings()
    assert configuration.ignored == ()
    assert set(configuration.provenance.values()) == {Provenance(Source.DEFAULT)}
    settings = configuration.settings
    assert (settings.host, settings.port, settings.require_token) == ("127.0.0.1", 7777, True)
    assert (settings.max_frame_bytes, settings.slow_reader_bytes) == (16 * 2**20, 8 * 2**20)
    assert (settings.default_agent, settings.client_grace_seconds) == ("demo", 30)


def test_flags_win_over_environment_over_project_over_person(paths: Paths, project: Path) -> None:
    own = 'port = 1\nmailbox_size = 1\nlog_level = "error"\nagent_registry = "mine.json"\n'
    paths.user_config.write_text(own)
    wanted(project, 'agent_registry = "theirs.json"\ndefault_agent = "theirs"\n')
    Trust(paths.trust).trust(project)
    environ = {"SERAI_PORT": "3", "SERAI_MAILBOX_SIZE": "3", "SERAI_DEFAULT_AGENT": "of the environment"}
    configuration = load(paths, environ, flags={"port": 4, "host": None}, project=project)
    settings = configuration.settings
    assert (settings.port, settings.mailbox_size, settings.log_level) == (4, 3, "error")
    assert (settings.default_agent, settings.agent_registry) == ("of the environment", "theirs.json")
    assert configuration.provenance["port"] == Provenance(Source.FLAG, "--port")
    assert configuration.provenance["mailbox_size"] == Provenance(Source.ENVIRONMENT, "SERAI_MAILBOX_SIZE")
    file = str(project / "serai.toml")
    assert configuration.provenance["agent_registry"] == Provenance(Source.PROJECT, file)
    assert configuration.provenance["log_level"] == Provenance(Source.USER, str(paths.user_config))
    assert configuration.provenance["host"] == Provenance(Source.DEFAULT)
    assert str(configuration.provenance["port"]) == "flag (--port)"
    assert str(configuration.provenance["host"]) == "default"


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("port", " 8080 ", 8080),
        ("require_token", "false", False),
        ("require_token", "1", True),
        ("allowed_hosts", "a.example, b.example,", ("a.example", "b.example")),
        ("allowed_hosts", "", ()),
        ("client_grace_seconds", "2.5", 2.5),
        ("log_level", "debug", "debug"),
        ("host", "localhost", "localhost"),
    ],
)
def test_text_from_environment_and_flags_is_read(paths: Paths, key: str, text: str, value: Any) -> None:
    assert getattr(load(paths, {variable(key): text}).settings, key) == value
    assert getattr(load(paths, {}, flags={key: text}).settings, key) == value


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('port = "7777"', "port"),
        ("port = 70000", "port"),
        ("port = true", "port"),
        ("max_frame_bytes = 0", "max_frame_bytes"),
        ("allowed_hosts = [1]", "allowed_hosts"),
        ('log_level = "loud"', "log_level"),
        ('host = ""', "host"),
        ("[port]\nx = 1", "port"),
    ],
)
def test_a_wrong_value_names_file_key_and_what_is_expected(paths: Paths, text: str, key: str) -> None:
    paths.user_config.write_text(text)
    with pytest.raises(ConfigInvalid) as caught:
        load(paths, {})
    assert str(paths.user_config) in caught.value.message
    assert f"{key} = " in caught.value.message
    assert "xpected" in caught.value.message or "invalid" in caught.value.message


def test_an_unknown_key_names_what_is_near(paths: Paths) -> None:
    paths.user_config.write_text("prot = 1")
    with pytest.raises(ConfigInvalid) as caught:
        load(paths, {})
    assert "'prot'" in caught.value.message
    assert caught.value.remedy == "Did you mean port?"
    paths.user_config.write_text("xyzzy = 1")
    with pytest.raises(ConfigInvalid) as caught:
        load(paths, {})
    assert "allowed_hosts" in str(caught.value.remedy)


def test_a_file_that_is_no_toml_is_refused(paths: Paths) -> None:
    paths.user_config.write_text("port = \n")
    with pytest.raises(ConfigInvalid, match="line 1"):
        load(paths, {})
    paths.user_config.write_bytes(b"\xff")
    with pytest.raises(ConfigInvalid, match="not TOML"):
        load(paths, {})
    paths.user_config.write_bytes(b"#" * (256 * 1024 + 1))
    with pytest.raises(ConfigInvalid, match="larger than"):
        load(paths, {})


@pytest.mark.parametrize("text", ["port = 1234", "# a remark\r\nport = 1234\r\n"])
def test_a_mark_that_editors_put_before_the_text_is_passed_over(paths: Paths, text: str) -> None:
    paths.user_config.write_bytes(text.encode("utf-8-sig"))
    assert load(paths, {}).settings.port == 1234


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(paths: Paths, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "serai.toml")
    with pytest.raises(ConfigInvalid, match="is not a file"):
        load(paths, {}, project=tmp_path)


LONG = "n" * 200_000


@pytest.mark.parametrize(
    "text",
    [
        f"port = {'9' * 5000}",
        f"mailbox_size = {'[' * 300}1{']' * 300}",
        f"agents.x.{'a.' * 60}a = 1",
        f"port = {LONG!r}",
        f"{LONG} = 1",
        f"[agents.{LONG}]",
        f"[agents.x]\n{LONG} = 1",
        '"\\u001b[2J" = 1',
        '[agents.x]\n"\\u001b[2J" = 1',
        '[agents.x]\nenv = { "\\u001b[2J" = "" }',
        'log_level = "\\u001b[2J"',
    ],
    ids=lambda text: text[:24] + f"… {len(text)}",
)
def test_what_strangers_write_is_refused_in_a_line_that_can_be_shown(
    paths: Paths, project: Path, text: str
) -> None:
    wanted(project, text)
    with pytest.raises(ConfigInvalid) as refused:
        load(paths, {}, project=project)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 1_200


@pytest.mark.parametrize("value", ["inf", "+inf", "nan", "1e300"])
def test_times_have_an_end(paths: Paths, value: str) -> None:
    with pytest.raises(ConfigInvalid, match="SERAI_CLIENT_TOOL_TIMEOUT_SECONDS"):
        load(paths, {"SERAI_CLIENT_TOOL_TIMEOUT_SECONDS": value})
    paths.user_config.write_text(f"client_grace_seconds = {value}")
    with pytest.raises(ConfigInvalid, match="client_grace_seconds"):
        load(paths, {})


# -- folders that nobody trusts ----------------------------------------------------------------------------


def test_what_an_untrusted_folder_may_not_do_is_ignored_and_reported(paths: Paths, project: Path) -> None:
    wishes = {
        "default_agent": '"shell"',
        "agent_registry": '"http://evil.example/registry.json"',
    }
    assert set(wishes) == set(FROM_PROJECTS)
    wanted(project, "\n".join(f"{key} = {value}" for key, value in wishes.items()))
    configuration = load(paths, {}, project=project)
    assert configuration.settings == Settings()
    assert {ignored.key for ignored in configuration.ignored} == set(wishes)
    for ignored in configuration.ignored:
        assert ignored.file == project / "serai.toml"
        assert f"serai config trust {project}" in str(ignored)
    assert set(configuration.provenance.values()) == {Provenance(Source.DEFAULT)}


def test_a_trusted_folder_sets_what_concerns_its_sessions_and_nothing_of_the_hosts(
    paths: Paths, project: Path
) -> None:
    Trust(paths.trust).trust(project.parent)
    wanted(
        project,
        'host = "0.0.0.0"\nport = 80\nallowed_hosts = ["evil.example"]\nrequire_token = false\n'
        'use_keyring = false\ndefault_agent = "shell"\n[chat]\nfs_scope = "full"\n',
    )
    configuration = load(paths, {}, project=project)
    assert configuration.settings == Settings(default_agent="shell")
    ignored = ["host", "port", "allowed_hosts", "require_token", "use_keyring", "chat"]
    assert [one.key for one in configuration.ignored] == ignored


@pytest.mark.parametrize("name", ["loop", "a\0b", "n" * 300])
def test_a_project_that_nobody_can_find_is_refused_with_words(paths: Paths, project: Path, name: str) -> None:
    (project / "loop").symlink_to(project / "pool")
    (project / "pool").symlink_to(project / "loop")
    with pytest.raises(ConfigInvalid, match="cannot be"):
        load(paths, {}, project=project / name)
