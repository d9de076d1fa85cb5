"""The agents of a host: which there are, finding and installing more of them, and signing in to them.

Commands come from the catalogue, the person's configuration or the agent, never from a client.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import partial
from typing import Any

from msgspec.structs import replace

from serai.ahp import actions as a
from serai.ahp.commands import AhpErrorCode
from serai.ahp.extensions import (
    AgentsResult,
    InstallAgentParams,
    InstallAgentResult,
    KnownAgent,
    SignInKind,
    SignInMethod,
    SignInMethodsResult,
    SignInParams,
    SignInResult,
)
from serai.ahp.types import AgentInfo
from serai.errors import InvalidParams, ProtocolError
from serai.host.agents import HostedHarness, SignInHarness
from serai.host.root import RootChannel
from serai.host.session.sessions import Sessions
from serai.host.surroundings.terminals import HostTerminal, Terminals
from serai.redact import Redactor

_log = logging.getLogger(__name__)

_OF_MODELS = frozenset({"model", "workflow"})
"""Kinds of agents that need a model in the settings."""


def listed(harnesses: Iterable[HostedHarness]) -> list[AgentInfo]:
    """Return the agents that the root channel lists."""
    return [one.info for one in harnesses if not getattr(one, "makes_runs", False)]


class AgentList:
    """The one list of agents."""

    def __init__(
        self,
        harnesses: dict[str, HostedHarness],
        root: RootChannel,
        sessions: Sessions,
        terminals: Terminals,
        redactor: Redactor,
    ) -> None:
        self._harnesses = harnesses
        self._root = root
        self._sessions = sessions
        self._terminals = terminals
        self._redactor = redactor
        self.known: Callable[[], Awaitable[list[KnownAgent]]] = _none
        """Returns the agents of the catalogue, as they are now."""
        self.look_again: Callable[[], object] = lambda: None
        """Makes the host look for agents that were installed."""
        self._looking: asyncio.Task[None] | None = None
        self._sign_ins: list[tuple[str, HostTerminal]] = []
        """The terminals in which someone signs in, with their agents."""

    # -- kinds of agents -----------------------------------------------------------------------------------

    async def find(self, provider: str) -> HostedHarness:
        """Return the kind of agent of that name, also one that is still looked for, or was installed since.

        Raises:
            ProtocolError: There is none. If it could be installed, the message says how.
        """
        if provider not in self._harnesses:
            await self._looked()
        if provider not in self._harnesses:
            known = next((one for one in await self.known() if one.provider == provider), None)
            if known is not None and known.reason is None:
                self.look_again()
                await self._looked()
            elif known is not None and known.install:
                message = f"there is no agent {provider!r} yet: {known.reason}; install it: {known.install}"
                raise ProtocolError(message, number=AhpErrorCode.PROVIDER_NOT_FOUND)
        if (harness := self._harnesses.get(provider)) is not None:
            return harness
        known = ", ".join(sorted(one.provider for one in listed(self._harnesses.values()))) or "none"
        message = f"there is no agent {provider!r}; there are: {known}"
        if provider in _OF_MODELS:
            message += "; it needs a model: describe one in serai.toml, under [models.NAME]"
        raise ProtocolError(message, number=AhpErrorCode.PROVIDER_NOT_FOUND)

    def look_for(self, agents: Coroutine[Any, Any, None]) -> None:
        """Look for more kinds of agents in the background. The result is given to `add`."""
        self._looking = asyncio.create_task(agents, name="looking for agents")
        self._looking.add_done_callback(_complain)

    @property
    def is_looking(self) -> bool:
        """True while kinds of agents are being looked for."""
        return self._looking is not None and not self._looking.done()

    async def _looked(self) -> None:
        if self._looking is not None:
            await asyncio.wait({self._looking})

    def add(self, harnesses: Iterable[HostedHarness], gone: Iterable[str] = ()) -> None:
        """Offer more kinds of agents from now on, and some no longer: what runs continues."""
        for name in gone:
            self._harnesses.pop(name, None)
        self._harnesses.update((harness.name, harness) for harness in harnesses)
        self.changed()

    def changed(self) -> None:
        """Tell the root channel which agents there are, with what is known of them by now."""
        if (agents := listed(self._harnesses.values())) != self._root.live.head.agents:
            self._root.act(a.RootAgentsChangedAction(agents=agents))

    async def close(self) -> None:
        """Stop looking for agents."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    # -- listing and installing ----------------------------------------------------------------------------

    async def list(self) -> AgentsResult:
        """Return all agents, the installed ones first. Disks are looked at; no agent is started."""
        known = {one.provider: one for one in await self.known()}
        for info in listed(self._harnesses.values()):
            if info.provider not in known:
                known[info.provider] = KnownAgent(
                    provider=info.provider,
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

        async def look_again() -> None:
            self.look_again()

        command = ("/bin/sh", "-c", found.install)
        title = f"Install {found.display_name}"
        terminal = await self._terminals.start_for(params, client_id, command, title=title, then=look_again)
        return InstallAgentResult(terminal=terminal.uri, command=found.install)

    # -- signing in ----------------------------------------------------------------------------------------

    async def sign_in_methods(self, provider: str) -> SignInMethodsResult:
        """Return the ways to sign in to an agent, and whether someone is signed in.

        After a terminal has ended, this waits until the agent was asked, and sessions that it had refused
        were tried again. Cancelling it stops the waiting.

        Raises:
            ProtocolError: There is no such agent.
        """
        harness = await self.find(provider)
        if not isinstance(harness, SignInHarness):
            return SignInMethodsResult(methods=[])
        self._sign_ins = [
            (agent, one) for agent, one in self._sign_ins if one.followed and not one.followed.done()
        ]
        ending = [
            terminal.followed
            for agent, terminal in self._sign_ins
            if agent == provider and terminal.followed and terminal.live.head.exit_code is not None
        ]
        if ending:
            await asyncio.wait(ending)
        told = await harness.sign_in_methods()
        return replace(told, methods=[self._masked(method) for method in told.methods])

    async def sign_in(self, params: SignInParams, client_id: str) -> SignInResult:
        """Begin to sign in. A terminal is the client's, and outlives the connection.

        Cancelling it ends what the agent itself does; a terminal runs on.

        Raises:
            ProtocolError: There is no such agent, or no such method, or there is a terminal of that URI.
            SeraiError: The command cannot be started, or the agent has not signed anyone in.
        """
        provider = params.provider
        harness = await self.find(provider)
        if not isinstance(harness, SignInHarness):
            raise InvalidParams(f"nobody has to sign in to {provider!r}", field="params.provider")
        way = await harness.sign_in_way(params.method_id)
        method = self._masked(way.method)
        match way.method.kind:
            case SignInKind.TERMINAL:
                terminal = await self._terminals.start_for(
                    params,
                    client_id,
                    way.argv,
                    title=f"Sign in to {provider}",
                    env=way.env,
                    then=partial(self._sign_in_over, provider, harness),
                )
                self._sign_ins.append((provider, terminal))
                return SignInResult(method=method, terminal=terminal.uri)
            case SignInKind.AGENT:
                signed_in = await harness.authenticate(way.method.id)
                await self._sessions.signed_in(provider)
                return SignInResult(method=method, signed_in=signed_in)
            case _:
                return SignInResult(method=method, message=_what_to_set(method, provider))

    async def _sign_in_over(self, provider: str, harness: SignInHarness) -> None:
        if await harness.sign_in_over() is not False:
            await self._sessions.signed_in(provider)

    def _masked(self, method: SignInMethod) -> SignInMethod:
        """Return a method as clients see it: its command may have secrets among its words."""
        return replace(self._redactor.redact_value(method, observed=True), id=method.id)


def _what_to_set(method: SignInMethod, provider: str) -> str:
    names = " and ".join(method.variables or ())
    return (
        f"Set {names} in the environment that `serai serve` is started with, or under "
        f"[agents.{provider}.env] in your serai.toml. Then start the host again."
    )


def _complain(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("agents were not looked for", exc_info=error)


async def _none() -> list[KnownAgent]:
    return []
