"""What is kept of what agents said."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from serai.acp import Handshake, Launch
from serai.agents.catalogue.definitions import AgentDefinition, Way
from serai.agents.catalogue.finder import FoundAgent
from serai.agents.catalogue.memory import AgentMemory, Remembered, signed_in_of

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
TOLD = Handshake.of(
    {
        "agentInfo": {"name": "mine", "version": "3"},
        "agentCapabilities": {"loadSession": True, "auth": {"logout": {}}},
    }
)


def found(
    version: str | None = "1.0", argv: tuple[str, ...] = ("/bin/mine", "acp"), name: str = "mine"
) -> FoundAgent:
    definition = AgentDefinition(id=name, label=name, ways=(Way(program="mine"),))
    return FoundAgent(definition, installed=True, version=version, launch=Launch(argv))


@pytest.fixture
def memory(tmp_path: Path) -> AgentMemory:
    return AgentMemory(tmp_path / "agents.json")


def test_what_an_agent_said_is_known_to_the_next_process(memory: AgentMemory, tmp_path: Path) -> None:
    assert memory.recall(found()) is None
    memory.remember(found(), TOLD, now=NOON)
    memory.remember(found(name="other"), signed_in=False, now=NOON)
    kept = AgentMemory(tmp_path / "agents.json").recall(found())
    assert kept is not None
    assert kept.capabilities == TOLD.capabilities
    assert (kept.told_version, kept.logout, kept.delete_session, kept.signed_in) == ("3", True, False, None)
    assert kept.at == "2026-11-01T12:00:00+00:00"


def test_another_version_or_command_has_said_nothing_yet(memory: AgentMemory) -> None:
    memory.remember(found(), TOLD)
    assert memory.recall(found("1.1")) is None
    assert memory.recall(found(None)) is None
    assert memory.recall(found(argv=("/bin/mine",))) is None
    memory.remember(found("1.1"), signed_in=False)
    kept = memory.recall(found("1.1"))
    assert kept is not None
    assert kept.capabilities is None


def test_what_is_not_said_again_stays(memory: AgentMemory) -> None:
    memory.remember(found(), signed_in=False)
    memory.remember(found(), TOLD)
    kept = memory.recall(found())
    assert kept is not None
    assert kept.signed_in is False
    memory.remember(found(), signed_in=None)
    kept = memory.recall(found())
    assert kept is not None
    assert (kept.signed_in, kept.capabilities) == (None, TOLD.capabilities)


def test_the_file_is_its_owners_and_has_no_words_of_the_command(memory: AgentMemory, tmp_path: Path) -> None:
    memory.remember(found(argv=("/bin/mine", "--key=very-private")), TOLD)
    file = tmp_path / "agents.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "very-private" not in file.read_text()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"mine": 1}', "\xff"])
def test_a_file_that_cannot_be_read_is_begun_anew(memory: AgentMemory, tmp_path: Path, content: str) -> None:
    (tmp_path / "agents.json").write_text(content, encoding="latin-1")
    assert memory.recall(found()) is None
    memory.remember(found(), TOLD)
    assert json.loads((tmp_path / "agents.json").read_text())["mine"]["capabilities"]["loadSession"] is True


@pytest.mark.parametrize(
    ("seen", "said", "known"),
    [
        (None, None, None),
        (True, None, True),
        (None, False, False),
        (None, True, True),
        (True, False, None),
        (False, True, False),
        (False, False, False),
        (True, True, True),
    ],
)
def test_where_disk_and_agent_disagree_nobody_knows(
    seen: bool | None, said: bool | None, known: bool | None
) -> None:
    kept = Remembered(command="", signed_in=said)
    assert signed_in_of(replace(found(), signed_in=seen), kept) is known
    assert signed_in_of(replace(found(), signed_in=seen), None) is seen


def test_what_an_agent_says_is_redacted_before_it_is_written(
    memory: AgentMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "hunter2-of-the-host")
    agent = found(version="1.0-hunter2-of-the-host")
    launch = Launch(("/bin/mine",), env={"OTHER_TOKEN": "hunter2-of-the-agent"})
    agent = replace(agent, launch=launch)
    memory.remember(agent, Handshake.of({"agentInfo": {"name": "m", "version": "3 hunter2-of-the-agent"}}))
    assert "hunter2" not in (tmp_path / "agents.json").read_text()
    assert memory.recall(agent) is not None
