"""A session and the agent that it has now: when that is started anew, what is known and chosen follows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from serai.acp import (
    AcpSession,
    AgentCapabilities,
    ConfigOption,
    CurrentModeUpdate,
    Modes,
    Update,
    UsageUpdate,
)
from serai.agents.models import Models, models_of
from serai.agents.options import OPENINGS, Options, SessionOptions, checked_options, merged

if TYPE_CHECKING:
    from serai.agents.hosting import WireHost
    from serai.agents.sessions import WireSession

__all__ = ["Attached"]


class Attached:
    """What is known of a session, and what can be chosen for it.

    Args:
        host: The running agent.
        acp: The session underneath.
        options: All that was said for it.
    """

    def __init__(self, host: WireHost, acp: AcpSession, options: Options) -> None:
        self._host = host
        self._acp = acp
        self._options = options

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

    # -- what is done with it ------------------------------------------------------------------------------

    def cancel(self) -> None:
        """Tell the agent to stop what it is doing. Without a turn under way this does nothing."""
        self._acp.cancel()

    async def set_mode(self, mode_id: str) -> None:
        """Put it into another mode.

        Raises:
            CapabilityNotSupportedError: It has no such mode (`mode:ID`), or no modes (`setSessionMode`).
            AgentError: The agent refused, or is gone.
        """
        await self._acp.set_mode(mode_id)
        self._options = cast("Options", {**self._options, "mode": mode_id})  # also for a new agent
        self._acp.receive(CurrentModeUpdate(current_mode_id=mode_id))

    async def set_config_option(self, config_id: str, value: str | bool) -> None:
        """Choose a value of one of its options.

        Raises:
            CapabilityNotSupportedError: The agent has no options (`setSessionConfigOption`).
            AgentError: The agent refused, or is gone.
        """
        await self._acp.set_config_option(config_id, value)
        chosen = {**self._options.get("config", {}), config_id: value}
        self._options = cast("Options", {**self._options, "config": chosen})  # also for a new agent

    async def fork(self, **options: Unpack[SessionOptions]) -> WireSession:
        """Another session of the same agent that begins where this one is, with the options of this one.

        Args:
            **options: What is to be otherwise in it.

        Raises:
            CapabilityNotSupportedError: The agent cannot: `sessionCapabilities.fork`. Nothing was sent.
        """
        own = {name: value for name, value in self._options.items() if name not in OPENINGS}
        given = checked_options({"cwd": self.cwd, **options, "fork": self.id})
        return await self.host.open_session(merged(cast("Options", own), given))
