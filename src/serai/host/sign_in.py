"""Signing in to agents, for clients: in a terminal of the host, or by the agent itself.

What is run comes from the catalogue, the person's configuration or the agent, never from a client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from msgspec.structs import replace

from serai.ahp.extensions import SignInKind, SignInMethod, SignInMethodsResult, SignInParams, SignInResult
from serai.errors import InvalidParams
from serai.host.agents import Guarded, HostedHarness
from serai.host.surroundings.terminals import HostTerminal, Terminals
from serai.redact import Redactor


class SignIns:
    """All sign-ins on a host.

    `signed_in` has the sessions go on that an agent has refused for want of a sign-in.
    """

    def __init__(
        self,
        sought: Callable[[str], Awaitable[HostedHarness]],
        terminals: Terminals,
        redactor: Redactor,
        signed_in: Callable[[str], Awaitable[None]],
    ) -> None:
        self._sought = sought
        self._terminals = terminals
        self._redactor = redactor
        self._signed_in = signed_in
        self._begun: list[tuple[str, HostTerminal]] = []
        """The terminals in which someone signs in, by agent."""

    async def methods(self, provider: str) -> SignInMethodsResult:
        """How one signs in to an agent, and whether someone is.

        After a terminal has ended, this waits until the agent was asked, and sessions that it had refused
        were tried again. Cancelling it stops the waiting.

        Raises:
            ProtocolError: There is no such agent.
        """
        harness = await self._sought(provider)
        if not isinstance(harness, Guarded):
            return SignInMethodsResult(methods=[])
        self._begun = [(whose, one) for whose, one in self._begun if one.followed and not one.followed.done()]
        ending = [
            terminal.followed
            for whose, terminal in self._begun
            if whose == provider and terminal.followed and terminal.live.head.exit_code is not None
        ]
        if ending:
            await asyncio.wait(ending)
        told = await harness.sign_in_methods()
        return replace(told, methods=[self._masked(method) for method in told.methods])

    async def begin(self, params: SignInParams, client_id: str) -> SignInResult:
        """Begin to sign in. A terminal is the client's, and outlives the connection.

        Cancelling it ends what the agent itself does; a terminal runs on.

        Raises:
            ProtocolError: There is no such agent, or no such method, or there is a terminal of that URI.
            SeraiError: The command cannot be started, or the agent has not signed anyone in.
        """
        harness = await self._sought(params.provider)
        if not isinstance(harness, Guarded):
            raise InvalidParams(f"nobody has to sign in to {params.provider!r}", field="params.provider")
        way = await harness.way_in(params.method_id)
        method = self._masked(way.method)
        match way.method.kind:
            case SignInKind.TERMINAL:
                terminal = await self._terminals.start_for(
                    params,
                    client_id,
                    way.argv,
                    title=f"Sign in to {params.provider}",
                    env=way.env,
                    then=partial(self._over, params.provider, harness),
                )
                self._begun.append((params.provider, terminal))
                return SignInResult(method=method, terminal=terminal.uri)
            case SignInKind.AGENT:
                signed_in = await harness.authenticate(way.method.id)
                await self._signed_in(params.provider)
                return SignInResult(method=method, signed_in=signed_in)
            case _:
                return SignInResult(method=method, message=_what_to_set(method, params.provider))

    def _masked(self, method: SignInMethod) -> SignInMethod:
        """A method as clients see it: its command may have secrets among its words."""
        return replace(self._redactor.redact_value(method, observed=True), id=method.id)

    async def _over(self, provider: str, harness: Guarded) -> None:
        if await harness.sign_in_over() is not False:
            await self._signed_in(provider)


def _what_to_set(method: SignInMethod, provider: str) -> str:
    names = " and ".join(method.variables or ())
    return (
        f"Set {names} in the environment that `serai serve` is started with, or under "
        f"[agents.{provider}.env] in your serai.toml. Then start the host again."
    )
