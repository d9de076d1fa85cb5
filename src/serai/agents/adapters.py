"""Agents that no catalogue has: described where they are used, or started by code of one's own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, TypeAlias

from serai.acp import Launch
from serai.agents.definitions import AgentDefinition
from serai.machine.processes.processes import Processes

if TYPE_CHECKING:
    from serai.agents.options import Options

__all__ = ["Adapter", "AgentRef", "name_of"]


class Adapter(ABC):
    """An agent whose start is worked out by code. Everything in `serai.agents` takes one instead of a name.

    Where a fixed command will do, an `AgentDefinition` is enough.
    """

    id: str
    """What the agent is called."""
    native_system_prompt: bool = False
    """Whether it takes a system prompt of its own (`_meta.systemPrompt.append`)."""

    @abstractmethod
    async def launch(self, options: Options) -> Launch:
        """How it is started: program, arguments, variables.

        Args:
            options: What the caller has said.

        Raises:
            AgentNotInstalled: It cannot be started.
        """

    @property
    def processes(self) -> Processes | None:
        """Where it is started; by default a place of its own."""
        return None


AgentRef: TypeAlias = str | AgentDefinition | Adapter
"""An agent: its id or another name of it in the catalogue, a description of it, or an adapter."""


def name_of(agent: AgentRef) -> str:
    """What an agent is called."""
    return agent if isinstance(agent, str) else agent.id
