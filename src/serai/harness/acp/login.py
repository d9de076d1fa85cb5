"""Signing in to a kind of agent: the ways that work here, and whether someone is, by what the agent says.

The ways come from the catalogue and from the agent itself. Only those are told of that work here: a command
whose program is there, a method that ACP describes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from enum import IntEnum
from typing import TypeVar

from serai.acp.agent import Agent
from serai.acp.capabilities import AuthMethod, Handshake
from serai.agents.catalogue.finder import FoundAgent, is_signed_in
from serai.agents.catalogue.introduction import AgentMemory, Introduction, introduce
from serai.agents.catalogue.programs import Surroundings, find_program
from serai.ahp.extensions import SignInKind, SignInMethod, SignInMethodsResult
from serai.errors import AgentError, AuthRequired, InvalidParams
from serai.host.agents import SignInWay
from serai.machine.processes.processes import Processes

LOGIN_METHOD = "serai.login"
"""The id of the method that runs the catalogue's command."""

_log = logging.getLogger(__name__)

_PERSON = 600.0
"""Seconds that a person may take while the agent signs them in."""
_AGAIN = 120.0
"""Seconds that an agent may take to do again what it has done before."""

T = TypeVar("T")


class LoginStage(IntEnum):
    """Where an agent may ask for a sign-in. Some make sessions for anyone, and ask only then."""

    OPENING = 1
    PROMPT = 2


class Login:
    """Knows whether a person has to sign in to one kind of agent, and signs them in.

    Args:
        found: The agent, as it is installed here.
        processes: Where it is started.
        mask: Takes secrets out of what it says.
        memory: Where it is kept for later what it said.
        method: How someone has signed in before, by a call of the agent.
    """

    def __init__(
        self,
        found: FoundAgent,
        processes: Processes,
        *,
        mask: Callable[[str], str],
        memory: AgentMemory | None = None,
        method: str | None = None,
    ) -> None:
        self.method = method
        """How someone has signed in by a call, here or when the host ran before."""
        self._found = found
        self._processes = processes
        self._mask = mask
        self._memory = memory
        self._handshake: Handshake | None = None
        self._refused: LoginStage | None = None
        self._is_in: bool | None = None
        self._asking = asyncio.Lock()

    # -- what the agent says -------------------------------------------------------------------------------

    async def through(self, agent: Agent, attempt: Callable[[Agent], Awaitable[T]]) -> T:
        """Try something that may need a sign-in, such as to open a session.

        An agent that keeps its sign-in to the process has forgotten it by the next one. So what a person has
        chosen before is done once more, if it asks for it.

        Raises:
            AuthRequired: A person has to sign in.
            AgentError: It failed otherwise.
        """
        await self._heard(agent.handshake)
        try:
            done = await attempt(agent)
        except AuthRequired as refusal:
            try:
                if not await self._signed_in_again(agent):
                    raise
                done = await attempt(agent)
            except AuthRequired:
                await self.refused(LoginStage.OPENING)
                raise refusal from None
        await self.accepted(LoginStage.OPENING)
        return done

    async def _signed_in_again(self, agent: Agent) -> bool:
        if self.method is None or not self._can_repeat(agent.handshake):
            return False
        with contextlib.suppress(AgentError, TimeoutError):
            async with asyncio.timeout(_AGAIN):
                await agent.authenticate(self.method)
                return True
        return False

    def _can_repeat(self, handshake: Handshake) -> bool:
        """Whether the agent was signed in to by a call, and can be so again."""
        return any(each.id == self.method for each in handshake.auth_methods)

    async def _heard(self, handshake: Handshake) -> None:
        self._handshake = handshake
        if self._memory is not None:
            await asyncio.to_thread(self._memory.remember, self._found, handshake.capabilities)

    async def refused(self, stage: LoginStage) -> None:
        """The agent wants a person to sign in."""
        await self._stands(stage, is_in=False)

    async def accepted(self, stage: LoginStage) -> None:
        """The agent did what takes a sign-in, if it takes one: that says something after a refusal only."""
        if self._refused is not None and stage >= self._refused:
            await self._stands(None, is_in=True)

    async def _stands(self, refused: LoginStage | None, *, is_in: bool | None) -> None:
        self._refused, self._is_in = refused, is_in
        if self._memory is not None:
            await asyncio.to_thread(self._memory.remember, self._found, signed_in=is_in)

    async def ask(self, *, once: bool = False) -> Introduction | None:
        """Start the agent and ask it; `None` when that fails, or (`once`) when it has told before."""
        async with self._asking:
            if once and self._handshake is not None:
                return None
            launch = self._found.launching()
            try:
                told = await introduce(launch, self._processes, mask=self._mask, commands_within=0)
            except AuthRequired:
                await self.refused(LoginStage.OPENING)
                return None
            except AgentError as error:
                _log.info("%s did not say what it is: %s", self._found.id, error)
                return None
            await self._heard(told.handshake)
            if isinstance(told.problem, AuthRequired) and not self._can_repeat(told.handshake):
                await self.refused(LoginStage.OPENING)
            return told

    # -- what a person does --------------------------------------------------------------------------------

    async def methods(self) -> SignInMethodsResult:
        """The ways to sign in, and whether someone is. An agent that has not run yet is asked."""
        ways = await self._ways()
        return SignInMethodsResult(methods=[way.method for way in ways], signed_in=await self.standing())

    async def way(self, method_id: str | None) -> SignInWay:
        """One of the ways, or the first.

        Raises:
            InvalidParams: There is no such way, or none at all.
        """
        ways = await self._ways()
        for way in ways:
            if method_id in (None, way.method.id):
                return way
        label, known = self._found.label, ", ".join(way.method.id for way in ways)
        if not ways:
            raise InvalidParams(f"it is not known how one signs in to {label}", field="params.provider")
        what = f"{label} has no method {method_id!r}; there are: {known}"
        raise InvalidParams(what, field="params.methodId")

    async def authenticate(self, method_id: str) -> Introduction:
        """Have the agent sign someone in, and see whether it then makes a session. Cancelling it ends it.

        Returns what it then told.

        Raises:
            AgentError: It did not start, or refused; `AuthRequired` when it wants a sign-in all the same.
        """

        async def sign_in(agent: Agent) -> None:
            await self._heard(agent.handshake)
            async with asyncio.timeout(_PERSON):
                await agent.authenticate(method_id)

        launch = self._found.launching()
        try:
            told = await introduce(
                launch, self._processes, mask=self._mask, commands_within=0, before=sign_in
            )
            if told.problem is not None:
                raise told.problem
        except TimeoutError:
            what = f"nobody has signed in to {self._found.label} within {_PERSON / 60:g} minutes"
            raise AgentError(what, agent=self._found.id) from None
        except AuthRequired:
            await self.refused(LoginStage.OPENING)
            raise
        self.method = method_id
        self._refused = self._refused or LoginStage.OPENING  # it said itself that this is the way out
        await self.accepted(LoginStage.PROMPT)
        return told

    async def check(self) -> Introduction | None:
        """Someone may have signed in: ask the agent. Returns what it told; `None` when it did not start."""
        before, self._refused, self._is_in = self._refused, None, None
        told = await self.ask()
        is_in = self._is_in
        if told is not None and told.problem is None and before is LoginStage.OPENING:
            is_in = True
        await self._stands(self._refused, is_in=is_in)
        return told

    async def standing(self) -> bool | None:
        """Whether someone is signed in: by what the agent said last, else by what is on the disk."""
        if self._is_in is not None:
            return self._is_in
        told = self._found.definition
        return await asyncio.to_thread(lambda: is_signed_in(told.signed_in, Surroundings.here(), told.env))

    async def _ways(self) -> list[SignInWay]:
        await self.ask(once=True)
        return await asyncio.to_thread(
            lambda: list(ways_in(self._found, self._handshake, Surroundings.here()))
        )


# -- the ways ----------------------------------------------------------------------------------------------


def ways_in(
    found: FoundAgent, handshake: Handshake | None, surroundings: Surroundings
) -> Iterator[SignInWay]:
    """The ways to sign in that work here, the best first. It reads the disk.

    Args:
        found: The agent.
        handshake: What it said of itself, if it has run.
        surroundings: Where programs are looked for.
    """
    env: Mapping[str, str] = found.launch.env if found.launch is not None else {}
    if argv := _login_argv(found, surroundings):
        command = list(found.definition.login)
        name, kind = " ".join(command), SignInKind.TERMINAL
        yield SignInWay(SignInMethod(id=LOGIN_METHOD, kind=kind, name=name, command=command), argv, env)
    for kind in SignInKind:  # in this order
        for told in handshake.auth_methods if handshake is not None else ():
            if _kind(told) is kind and (way := _way(told, kind, found, env, surroundings)) is not None:
                yield way


def _kind(told: AuthMethod) -> SignInKind | None:
    if told.command or told.type == "terminal":
        return SignInKind.TERMINAL
    return {"agent": SignInKind.AGENT, "env_var": SignInKind.ENVIRONMENT}.get(told.type)


def _way(
    told: AuthMethod, kind: SignInKind, found: FoundAgent, env: Mapping[str, str], surroundings: Surroundings
) -> SignInWay | None:
    argv: tuple[str, ...] = ()
    if kind is SignInKind.TERMINAL:
        words = told.login_command(found.launch.argv if found.launch is not None else ())
        argv = _found_program(words, surroundings)
        if not argv:
            return None
        env = {**env, **told.environ}
    if kind is SignInKind.ENVIRONMENT and not told.variables:
        return None
    method = SignInMethod(
        id=told.id,
        kind=kind,
        name=told.name,
        description=told.description,
        command=list(argv) or None,
        variables=list(told.variables) or None,
    )
    return SignInWay(method, argv, env if argv else {})


def _login_argv(found: FoundAgent, surroundings: Surroundings) -> tuple[str, ...]:
    """The catalogue's command as it can be started here; nothing where its program is not there."""
    words = found.definition.login
    if not words:
        return ()
    argv, own = found.launch.argv if found.launch is not None else (), str(found.path)
    if found.way is not None and found.way.program == words[0] and own in argv:
        # The agent's own program, as it was found: another one may have the same name.
        return (*argv[: argv.index(own) + 1], *words[1:])
    within = next((one.within for one in found.definition.ways if one.program == words[0]), "")
    return _found_program(words, surroundings, within)


def _found_program(words: tuple[str, ...], surroundings: Surroundings, within: str = "") -> tuple[str, ...]:
    for path in find_program(words[0], surroundings) if words else ():
        if not within or within in str(path.resolve()):
            return (str(path), *words[1:])
    return ()
