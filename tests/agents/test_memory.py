"""What is kept of what agents said."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from serai.acp.capabilities import AgentCapabilities
from serai.agents.catalogue.definitions import AgentDefinition, Way
from serai.agents.catalogue.finder import FoundAgent
from serai.agents.catalogue.introduction import AgentMemory, Remembered, signed_in_of

TOLD = AgentCapabilities(load_session=True)


def found(version: str | None = "1.0", name: str = "mine") -> FoundAgent:
    definition = AgentDefinition(id=name, label=name, ways=(Way(program="mine"),))
    return FoundAgent(definition, installed=True, version=version)


@pytest.fixture
def memory(tmp_path: Path) -> AgentMemory:
    return AgentMemory(tmp_path / "agents.json")


def test_what_an_agent_said_is_known_to_the_next_process(memory: AgentMemory, tmp_path: Path) -> None:
    assert memory.recall(found()) is None
    memory.remember(found(), TOLD)
    memory.remember(found(name="other"), signed_in=False)
    kept = AgentMemory(tmp_path / "agents.json").recall(found())
    assert kept is not None
    assert (kept.capabilities, kept.signed_in) == (TOLD, None)


def test_another_version_has_said_nothing_yet(memory: AgentMemory) -> None:
    memory.remember(found(), TOLD)
    assert memory.recall(found("1.1")) is None
    assert memory.recall(found(None)) is None
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
    assert (kept.signed_in, kept.capabilities) == (None, TOLD)


def test_the_file_is_its_owners(memory: AgentMemory, tmp_path: Path) -> None:
    memory.remember(found(), TOLD)
    assert stat.S_IMODE((tmp_path / "agents.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("content", ["", '{"mine": 1}'])
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
        (True, False, None),
        (False, True, False),
    ],
)
def test_where_disk_and_agent_disagree_nobody_knows(
    seen: bool | None, said: bool | None, known: bool | None
) -> None:
    kept = Remembered(signed_in=said)
    assert signed_in_of(replace(found(), signed_in=seen), kept) is known
    assert signed_in_of(replace(found(), signed_in=seen), None) is seen
