"""All agents that a host knows, and installing those that are not there yet, in a terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from serai.ahp.channels import ChannelKind, kind_of
from serai.ahp.extensions import AgentsResult, InstallAgentParams, InstallAgentResult, KnownAgent
from serai.ahp.types import TerminalClientClaim
from serai.errors import InvalidParams
from serai.host.agents import HostedHarness
from serai.host.surroundings.terminals import HostTerminal, Terminals

__all__ = ["AgentList"]


class AgentList:
    """The one list of agents.

    Args:
        harnesses: Those that sessions can be made with, by name.
        terminals: The host's.
        new_id: Makes ids that nobody else has.
        home: The person's home: commands start there.
    """

    def __init__(
        self,
        harnesses: Callable[[], Mapping[str, HostedHarness]],
        terminals: Terminals,
        new_id: Callable[[], str],
        home: Path,
    ) -> None:
        self._harnesses = harnesses
        self._terminals = terminals
        self._new_id = new_id
        self._home = home
        self._following: set[asyncio.Task[None]] = set()
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
        if params.terminal is not None and kind_of(params.terminal) is not ChannelKind.TERMINAL:
            raise InvalidParams("a terminal's URI begins with ahp-terminal:/", field="params.terminal")
        uri = params.terminal or f"ahp-terminal:/{self._new_id()}"
        terminal = await self._terminals.start(
            uri,
            TerminalClientClaim(client_id=client_id),
            argv=("/bin/sh", "-c", found.install),
            title=f"Install {found.display_name}",
            cwd=self._home.as_uri(),
            cols=80 if params.cols is None else params.cols,
            rows=24 if params.rows is None else params.rows,
            env={},
        )
        task = asyncio.create_task(self._follow(terminal))
        self._following.add(task)
        task.add_done_callback(self._following.discard)
        return InstallAgentResult(terminal=uri, command=found.install)

    async def _follow(self, terminal: HostTerminal) -> None:
        await terminal.wait()
        self.look_again()

    async def close(self) -> None:
        """Wait for no terminal any more; those are the host's."""
        for task in self._following:
            task.cancel()
        await asyncio.gather(*self._following, return_exceptions=True)


async def _none() -> list[KnownAgent]:
    return []
