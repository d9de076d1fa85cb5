"""A session and the agent that it has now: what is known of both follows when the agent is started anew."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from serai.acp import AcpSession, AgentCapabilities, ConfigOption, Modes, Update, UsageUpdate
from serai.agents.models import Models, models_of

if TYPE_CHECKING:
    from serai.agents.hosting import WireHost

__all__ = ["Attached"]


class Attached:
    """What is known of a session.

    Args:
        host: The running agent.
        acp: The session underneath.
    """

    def __init__(self, host: WireHost, acp: AcpSession) -> None:
        self._host = host
        self._acp = acp

    @property
    def host(self) -> WireHost:
        """The running agent, with `capabilities` and what else it is; another one once it was renewed."""
        return self._host

    @property
    def id(self) -> str:
        """The agent's name for it: what `load`, `resume` and `fork` take."""
        return self._acp.id

    @property
    def cwd(self) -> Path:
        """Where the agent works."""
        return self._acp.cwd

    @property
    def capabilities(self) -> AgentCapabilities:
        """What the agent can do."""
        return self.host.capabilities

    @property
    def modes(self) -> Modes | None:
        """The modes that it has, and the one that it is in."""
        return self._acp.modes

    @property
    def config_options(self) -> tuple[ConfigOption, ...]:
        """What can be chosen for it, with the values now: the model, for instance."""
        return self._acp.config_options

    @property
    def models(self) -> Models:
        """The models that it has, the one that is chosen, and the same for the effort."""
        return models_of(self.config_options)

    @property
    def commands(self) -> tuple[Mapping[str, Any], ...]:
        """The agent's own commands: `name`, `description`, `input`."""
        return self._acp.commands

    @property
    def title(self) -> str | None:
        """What it is about, in the agent's words."""
        return self._acp.title

    @property
    def usage(self) -> UsageUpdate | None:
        """What the agent told last of its context window, and of the cost of the whole session."""
        return self._acp.usage

    @property
    def history(self) -> tuple[Update, ...]:
        """What the agent told again when an earlier session was opened."""
        return tuple(self._acp.replayed)

    @property
    def acp(self) -> AcpSession:
        """The session underneath, for what is not offered here."""
        return self._acp
