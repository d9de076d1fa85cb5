"""Agents as models of pydantic-ai (the extra `models`).

    from pydantic_ai import Agent
    from serai.models import AgentModel

    agent = Agent(AgentModel("claude", cwd=project))

model.py       the model: begin here      provider.py    models with defaults
sources.py     which session is asked     turns.py       one turn, in a task of its own
history.py     what is said to it         contents.py    pictures, sounds and files
responses.py   what it answers            endings.py     why it stopped, and what that took
failures.py    when it fails              ignoring.py    what it cannot do, told as warnings
"""

from __future__ import annotations

try:
    import pydantic_ai as _pydantic_ai
except ModuleNotFoundError as error:
    if error.name != "pydantic_ai":
        raise
    raise ModuleNotFoundError(
        "serai.models needs pydantic-ai, which is not installed. Run: pip install 'serai[models]'",
        name=error.name,
    ) from error

from serai.models.ignoring import AgentModelWarning
from serai.models.model import AgentModel
from serai.models.provider import AgentProvider, agent_provider

__all__ = ["AgentModel", "AgentModelWarning", "AgentProvider", "agent_provider"]

del _pydantic_ai
