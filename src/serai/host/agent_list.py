"""All agents that a host knows, and installing those that are not there yet, in a terminal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from serai.ahp.extensions import AgentsResult, InstallAgentParams, InstallAgentResult, KnownAgent
from serai.errors import InvalidParams
from serai.host.agents import HostedHarness
from serai.host.surroundings.terminals import Terminals


class AgentList:
    """The one list of agents.

    Args:
        harnesses: Those that sessions can be made with, by name.
        terminals: The host's.
    """

    def __init__(self, harnesses: Callable[[], Mapping[str, HostedHarness]], terminals: Terminals) -> None:
        self._harnesses = harnesses
        self._terminals = terminals
        self.known: Callable[[], Awaitable[list[KnownAgent]]] = _none
        """Tells of the agents of the catalogue, as they are now."""
        self.look_again: Callable[[], object] = lambda: None
        """Has the host look for agents that were installed."""

    async def list(self) -> AgentsResult:
        """All agents, those that are installed first. Disks are looked at; no agent is started."""
        known = {one.provider: one for one in await self.known()}
        for name, harness in self._harnesses().items():
            if name not in known and not getattr(harness, "makes_runs", False):
                info = harness.info
                known[name] = KnownAgent(
                    provider=name,
                    display_name=info.display_name,
                    description=info.description or None,
                    installed=True,
                    signed_in=True,  # it lives in this host: there is nothing to sign in to
                )
        return AgentsResult(agents=sorted(known.values(), key=lambda one: not one.installed))

    async def install(self, params: InstallAgentParams, client_id: str) -> InstallAgentResult:
        """Install an agent in a terminal, which is the client's, and outlives the connection.

        Raises:
            InvalidParams: There is no such agent, or nobody knows how to install it.
            SeraiError: The terminal cannot be opened.
        """
        found = next((one for one in await self.known() if one.provider == params.provider), None)
        if found is None or found.install is None:
            why = "there is no such agent" if found is None else "nobody knows how to install it"
            raise InvalidParams(f"{params.provider!r}: {why}", field="params.provider")
        terminal = await self._terminals.start_for(
            params,
            client_id,
            ("/bin/sh", "-c", found.install),
            title=f"Install {found.display_name}",
            then=self._look_again,
        )
        return InstallAgentResult(terminal=terminal.uri, command=found.install)

    async def _look_again(self) -> None:
        self.look_again()


async def _none() -> list[KnownAgent]:
    return []
