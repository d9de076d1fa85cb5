"""Models with the same defaults."""

from __future__ import annotations

from typing import Unpack

from serai.agents.ask.ask import client
from serai.agents.ask.options import Options, checked_options
from serai.agents.ask.start import AgentRef
from serai.models.model import AgentModel

__all__ = ["AgentProvider", "agent_provider"]


class AgentProvider:
    """Makes models of agents, all with the same defaults. `agent_provider` makes it.

    Args:
        defaults: What holds for all of them.
    """

    def __init__(self, defaults: Options) -> None:
        self.defaults = defaults

    def __call__(self, agent: AgentRef, **options: Unpack[Options]) -> AgentModel:
        """A model.

        Args:
            agent: The agent's id or another name of it, or a description of it.
            **options: What holds for this one alone; it goes over the defaults.

        Raises:
            TypeError: There is no such option, or two exclude each other.
        """
        return AgentModel(client(agent, **self.defaults), **options)


def agent_provider(**defaults: Unpack[Options]) -> AgentProvider:
    """Models with defaults.

        models = agent_provider(cwd=project)
        agent = Agent(models("claude", model="sonnet"))

    Args:
        **defaults: See `serai.agents.Options`.

    Raises:
        TypeError: There is no such option, or two exclude each other.
    """
    return AgentProvider(checked_options(defaults))
