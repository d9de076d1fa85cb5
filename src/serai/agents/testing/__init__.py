"""Agents for tests: nothing has to be installed, and no process is started.

    from serai import agents
    from serai.agents.testing import ScriptedAgent

    agent = ScriptedAgent(["Hello!"])
    answer = await agents.ask(agent, "Hi")
    assert answer.text == "Hello!" and agent.prompts == ["Hi"]

They speak ACP through pipes, like any other agent, and everything in `serai.agents` takes them instead of a
name: `session`, `stream`, `failover`, `pool`, `client`.

scripted.py    an agent whose turns a test writes, and what such a turn can do
replay.py      an agent that plays a recorded conversation: `agents.ask(..., record="talk.ndjson")`
pipes.py       the pipes
"""

from __future__ import annotations

from serai.agents.testing.replay import Replay
from serai.agents.testing.scripted import EVERYTHING, Script, ScriptedAgent, ScriptedTurn

__all__ = ["EVERYTHING", "Replay", "Script", "ScriptedAgent", "ScriptedTurn"]
