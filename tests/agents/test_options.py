"""What is said when an agent is started is looked at before anything is."""

from __future__ import annotations

from typing import Any

import pytest

from serai import agents
from serai.agents.testing import ScriptedAgent
from serai.errors import Mismatch

NO_VARIABLES: list[Any] = [{"A": 5}, {"A": None}, {5: "a"}, {"A": b"a"}, ["A=5"], "A=5"]


@pytest.mark.parametrize("env", NO_VARIABLES, ids=repr)
async def test_variables_are_texts(env: Any) -> None:
    agent = ScriptedAgent(["never"])
    for use in (agents.session, agents.host, agents.client):
        with pytest.raises(Mismatch) as caught:
            use(agent, env=env)
        assert caught.value.field == "env"
    with pytest.raises(Mismatch):
        await agents.ask(agent, "go", env=env)
    with pytest.raises(Mismatch):
        agents.client(agent, env={"B": "b"}).having(env=env)
    assert agent.starts == 0
