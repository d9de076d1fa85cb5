"""What an agent says of itself when it is asked."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from serai.acp import Launch
from serai.agents.catalogue.introduction import introduce
from serai.errors import AgentInitFailed, AuthRequired
from serai.machine.processes.processes import Processes

SPEAKER = Path(__file__).with_name("speaking_agent.py")


@pytest.fixture
async def processes(tmp_path: Path) -> AsyncIterator[Processes]:
    processes = Processes(tmp_path / "records")
    yield processes
    await processes.close()


def launch(behaviour: str = "") -> Launch:
    return Launch((sys.executable, str(SPEAKER), behaviour), name="speaker")


async def test_it_tells_what_it_can_do_and_what_can_be_chosen(processes: Processes) -> None:
    told = await introduce(launch(), processes, mask=str)
    assert told.handshake.capabilities.load_session
    assert told.handshake.capabilities.fork_session
    assert told.handshake.delete_session
    assert told.handshake.agent_info.version == "9.9.9"
    assert [method.id for method in told.handshake.auth_methods] == ["key"]
    assert told.modes is not None
    assert told.modes.current == "ask"
    assert [model.value for model in told.models.models] == ["small", "large"]
    assert [option.id for option in told.options] == ["model", "effort"]
    assert [command["name"] for command in told.commands] == ["review"]
    assert told.problem is None
    assert not processes.children


async def test_one_that_wants_a_person_to_sign_in_still_tells_what_it_can_do(processes: Processes) -> None:
    told = await introduce(launch("signed-out"), processes, mask=str)
    assert isinstance(told.problem, AuthRequired)
    assert told.handshake.capabilities.load_session
    assert told.models.models == ()
    assert not processes.children


async def test_one_that_does_not_start_says_why(processes: Processes) -> None:
    with pytest.raises(AgentInitFailed, match="it is broken"):
        await introduce(launch("broken"), processes, mask=str)
    assert not processes.children
