"""Signing in to agents, for clients: in a terminal of the host, or by the agent itself.

What is run comes from the catalogue, the person's configuration or the agent, never from a client. It starts
in the person's home: a folder that nobody trusts must not have a say in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec.structs import replace

from serai.ahp.channels import ChannelKind, kind_of
from serai.ahp.extensions import SignInKind, SignInMethod, SignInMethodsResult, SignInParams, SignInResult
from serai.ahp.types import TerminalClientClaim
from serai.errors import InvalidParams
from serai.host.agents import Guarded, HostedHarness, WayIn
from serai.host.surroundings.terminals import HostTerminal, Terminals
from serai.redact import Redactor

__all__ = ["SignIns"]


class SignIns:
    """All sign-ins on a host: commands start in the person's `home`.

    `signed_in` has the sessions go on that an agent has refused for want of a sign-in.
    """

    def __init__(
        self,
        sought: Callable[[str], Awaitable[HostedHarness]],
        terminals: Terminals,
        redactor: Redactor,
        new_id: Callable[[], str],
        signed_in: Callable[[str], Awaitable[None]],
        home: Path,
    ) -> None:
        self._sought = sought
        self._host_terminals = terminals
        self._redactor = redactor
        self._new_id = new_id
        self._signed_in = signed_in
        self._home = home
        self._terminals: dict[asyncio.Task[None], tuple[str, HostTerminal]] = {}
        """The sign-ins under way, by what waits for their end."""

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
        ending = [
            task
            for task, (whose, terminal) in self._terminals.items()
            if whose == provider and terminal.live.head.exit_code is not None
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
        if params.terminal is not None and kind_of(params.terminal) is not ChannelKind.TERMINAL:
            raise InvalidParams("a terminal's URI begins with ahp-terminal:/", field="params.terminal")
        way = await harness.way_in(params.method_id)
        method = self._masked(way.method)
        match way.method.kind:
            case SignInKind.TERMINAL:
                uri = await self._open(params, client_id, way, harness)
                return SignInResult(method=method, terminal=uri)
            case SignInKind.AGENT:
                signed_in = await harness.authenticate(way.method.id)
                await self._signed_in(params.provider)
                return SignInResult(method=method, signed_in=signed_in)
            case _:
                return SignInResult(method=method, message=_what_to_set(method, params.provider))

    def _masked(self, method: SignInMethod) -> SignInMethod:
        """A method as clients see it: its command may have secrets among its words."""
        return replace(self._redactor.redact_value(method, observed=True), id=method.id)

    async def _open(self, params: SignInParams, client_id: str, way: WayIn, harness: Guarded) -> str:
        uri = params.terminal or f"ahp-terminal:/{self._new_id()}"
        terminal = await self._host_terminals.start(
            uri,
            TerminalClientClaim(client_id=client_id),
            argv=way.argv,
            title=f"Sign in to {params.provider}",
            cwd=self._home.as_uri(),
            cols=80 if params.cols is None else params.cols,
            rows=24 if params.rows is None else params.rows,
            env=way.env,
        )
        task = asyncio.create_task(self._follow(terminal, params.provider, harness))
        self._terminals[task] = (params.provider, terminal)
        task.add_done_callback(lambda task: self._terminals.pop(task, None))
        return uri

    async def _follow(self, terminal: HostTerminal, provider: str, harness: Guarded) -> None:
        await terminal.wait()
        if await harness.sign_in_over() is not False:
            await self._signed_in(provider)

    async def close(self) -> None:
        """Wait for no terminal any more; those are the host's."""
        for task in self._terminals:
            task.cancel()
        await asyncio.gather(*self._terminals, return_exceptions=True)


def _what_to_set(method: SignInMethod, provider: str) -> str:
    names = " and ".join(method.variables or ())
    return (
        f"Set {names} in the environment that `serai serve` is started with, or under "
        f"[agents.{provider}.env] in your serai.toml. Then start the host again."
    )
