"""`serai agents`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from agents.machine import Machine
from cli.programs import run
from serai.agents.catalogue.agents import make_catalogue
from serai.cli import main
from serai.cli.agents import managed_secrets
from serai.config.agents import AgentSettings

SPEAKER = Path(__file__).parents[1] / "agents" / "speaking_agent.py"
KEY = "k-0123456789abcdef"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine of the test's own: nothing of the real one is found."""
    machine = Machine(tmp_path)
    machine.home.mkdir()
    machine.bin.mkdir()
    (tmp_path / "project").mkdir()
    (tmp_path / "serai").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setattr(
        "os.environ",
        {"SERAI_HOME": str(tmp_path / "serai"), "HOME": str(machine.home), "PATH": str(machine.bin)},
    )
    monkeypatch.setattr("serai.agents.catalogue.programs.SYSTEM", ())
    return machine


def settings(machine: Machine, text: str) -> None:
    (machine.root / "serai" / "serai.toml").write_text(text)


def speaker(machine: Machine, behaviour: str = "") -> None:
    settings(
        machine,
        f"""
        [agents.speaker]
        command = "{sys.executable}"
        args = ["{SPEAKER}", "{behaviour}"]
        env = {{ SPEAKER_API_KEY = "{KEY}" }}
        login = ["speaker", "login"]
        """,
    )


def listed(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    assert main(["agents", "--json"]) == 0
    return {agent["id"]: agent for agent in json.loads(capsys.readouterr().out)["agents"]}


def test_the_table_tells_what_is_installed_and_how_to_install_the_rest(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.program("auggie", "auggie 0.36.0")
    machine.program("goose", "goose 1.50.1")
    machine.file(machine.home / ".codex" / "auth.json", '{"token": "t"}')
    assert main(["agents"]) == 0
    table, _, below = capsys.readouterr().out.partition("\n\n")
    lines = {line.split()[0]: line.split() for line in table.splitlines()}
    assert lines["AGENT"] == ["AGENT", "INSTALLED", "VERSION", "SIGNED", "IN", "CAN"]
    assert lines["auggie"] == ["auggie", "yes", "0.36.0", "no", "unknown"]
    assert lines["goose"] == ["goose", "yes", "1.50.1", "unknown", "unknown"]
    assert lines["codex"] == ["codex", "no", "-", "yes", "-"]
    assert lines["demo"][:2] == ["demo", "yes"]
    assert len(lines) == 17
    advice = {line.split()[0]: " ".join(line.split()[1:]) for line in below.splitlines()[1:]}
    assert advice["codex"] == "npm install -g @zed-industries/codex-acp"
    assert advice["auggie"] == "sign in: auggie login"
    assert "goose" not in advice
    assert max(map(len, table.splitlines())) <= 80


def test_what_is_installed_and_cannot_be_used_says_why(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.program("pi")
    assert main(["agents"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  pi ")]
    assert "does not speak ACP (npm install" in line


def test_agents_of_configuration_are_listed_and_none_of_a_folder_that_nobody_trusts(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    speaker(machine)
    (machine.root / "project" / "serai.toml").write_text('[agents.evil]\ncommand = "/bin/sh"\n')
    machine.program(machine.root / "project" / "node_modules" / ".bin" / "goose")
    assert main(["agents", "--json"]) == 0
    printed = capsys.readouterr()
    agents = {agent["id"]: agent for agent in json.loads(printed.out)["agents"]}
    assert agents["speaker"]["installed"]
    assert "evil" not in agents
    assert not agents["goose"]["installed"]
    assert "agents.evil is ignored" in printed.err
    assert KEY not in printed.out + printed.err
    assert main(["config", "trust", "."]) == 0
    capsys.readouterr()
    agents = listed(capsys)
    assert agents["evil"]["installed"]
    assert agents["goose"]["installed"]


def test_a_registry_adds_agents(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    entries = [
        {"id": "other", "name": "Other", "distribution": {"uvx": {"package": "other-acp"}}},
        {"id": "nowhere", "name": "Nowhere", "distribution": {}},
    ]
    file = machine.file(machine.root / "registry.json", json.dumps({"agents": entries}))
    machine.program("other-acp", "2.0.0")
    assert "other" not in listed(capsys)
    settings(machine, f'agent_registry = "{file}"')
    assert listed(capsys)["other"]["version"] == "2.0.0"
    assert main(["agents"]) == 0
    assert "1 agents of the registry" in capsys.readouterr().err


def test_a_registry_of_the_configuration_that_cannot_be_had_is_told_and_its_agents_are_missing(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    speaker(machine)
    file = machine.root / "serai" / "serai.toml"
    file.write_text(f'agent_registry = "{machine.root}/gone.json"\n{file.read_text()}')
    assert main(["agents"]) == 0
    printed = capsys.readouterr()
    assert "speaker " in printed.out
    assert "gone.json cannot be read: No such file or directory. Its agents are missing" in printed.err
    assert main(["agents", "probe", "speaker"]) == 0


def test_what_configuration_gives_to_an_agent_under_a_secrets_name_is_managed() -> None:
    env = {"KEY": KEY, "MINE_MODE": "fast-and-loose", "PROXY": "http://me:pass-word-1@x"}
    catalogue = make_catalogue({"mine": AgentSettings(command="mine", env=env)})
    assert managed_secrets(catalogue) == {"agents.mine.KEY": KEY, "agents.mine.PROXY": "pass-word-1"}


# -- what is remembered ------------------------------------------------------------------------------------


def row(capsys: pytest.CaptureFixture[str], name: str) -> list[str]:
    assert main(["agents"]) == 0
    return next(line.split() for line in capsys.readouterr().out.splitlines() if line.startswith(name))


def test_what_a_probe_heard_is_shown_afterwards(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    speaker(machine)
    assert row(capsys, "speaker")[-1] == "unknown"
    assert main(["agents", "probe", "speaker"]) == 0
    capsys.readouterr()
    assert row(capsys, "speaker")[3:] == ["unknown", "load", "fork"]
    told = listed(capsys)["speaker"]
    assert told["capabilities"]["forkSession"] is True
    assert told["toldAt"].startswith("20")
    assert KEY not in (machine.root / "serai" / "agents.json").read_text()


def test_an_agent_that_wanted_a_sign_in_is_not_signed_in_to_until_it_does_no_longer(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    speaker(machine, "signed-out")
    assert row(capsys, "speaker")[3] == "unknown"
    assert main(["agents", "probe", "speaker", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["problem"]["code"] == "auth_required"
    assert row(capsys, "speaker")[3:] == ["no", "load", "fork"]
    assert listed(capsys)["speaker"]["signedIn"] is False
    assert main(["agents"]) == 0
    assert "sign in: speaker login" in capsys.readouterr().out


# -- probe -------------------------------------------------------------------------------------------------


def test_probe_shows_what_the_agent_says_of_itself(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    speaker(machine)
    assert main(["agents", "probe", "speaker"]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[0] == "The [2JSpeaker 9.9.9"
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    assert "can load fork" in lines
    assert "sign in key: A key" in lines
    assert "mode *ask: Ask" in lines
    assert "model small: Small" in lines
    assert "model *large: Large" in lines
    assert "option effort = low: small" in lines
    assert "command /review: Look at changes" in lines


def test_probe_as_json(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    speaker(machine)
    for words in (["probe", "speaker", "--json"], ["--json", "probe", "speaker"]):
        assert main(["agents", *words]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["id"] == "speaker"
        assert told["capabilities"]["forkSession"] is True
        assert told["capabilities"]["prompt"] == {
            "text": True,
            "image": False,
            "audio": False,
            "embeddedContext": False,
        }
        assert [model["value"] for model in told["models"]] == ["small", "large"]
        assert told["commands"][0]["name"] == "review"
        assert told["problem"] is None


def test_errors_of_probe_are_one_line_with_a_remedy(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["agents", "probe", "cloude"]) == 1
    assert "Did you mean claude?" in capsys.readouterr().err
    assert main(["agents", "probe", "claude"]) == 1
    printed = capsys.readouterr().err
    assert "To install it: npm install -g @agentclientprotocol/claude-agent-acp" in printed
    assert printed.count("\n") == 1
    speaker(machine, "broken")
    assert main(["agents", "probe", "speaker"]) == 1
    printed = capsys.readouterr().err
    assert "it is broken" in printed
    assert printed.count("\n") == 1
    assert KEY not in printed


async def test_an_agent_is_installed_by_its_command_and_what_that_said_is_shown_if_it_fails(
    tmp_path: Path,
) -> None:
    program = tmp_path / "late-agent"
    install = f"echo working; printf '#!/bin/sh\\n' > {program} && chmod +x {program}"
    (tmp_path / "serai.toml").write_text(
        f"[agents.late]\ncommand = \"{program}\"\ninstall = '''{install}'''\n"
        '[agents.broken]\ncommand = "/nowhere"\ninstall = "echo no network; exit 3"\n'
        '[agents.plain]\ncommand = "/nowhere"\n'
    )
    done = await run("agents", "install", "late", home=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert "late is installed" in done.out
    broken = await run("agents", "install", "broken", home=tmp_path)
    assert broken.code == 1
    assert "no network" in broken.err
    assert "ended with 3" in broken.err
    assert "nobody knows how" in (await run("agents", "install", "plain", home=tmp_path)).err
    assert "is a part of Serai" in (await run("agents", "install", "demo", home=tmp_path)).err
