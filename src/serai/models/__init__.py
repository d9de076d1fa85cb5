"""Agents as models of pydantic-ai (the extra `models`).

    from pydantic_ai import Agent
    from serai.models import AgentModel

    agent = Agent(AgentModel("claude", cwd=project))

model.py       the model and its provider: begin here
history.py     what is said to an agent                response.py    what it answers
problems.py    errors and warnings
"""

from __future__ import annotations

try:
    from serai.models.model import AgentModel, agent_provider
    from serai.models.problems import AgentModelWarning
except ModuleNotFoundError as error:
    if error.name != "pydantic_ai":
        raise
    raise ModuleNotFoundError(
        "serai.models needs pydantic-ai, which is not installed. Run: pip install 'serai[models]'",
        name=error.name,
    ) from error

__all__ = ["AgentModel", "AgentModelWarning", "agent_provider"]
