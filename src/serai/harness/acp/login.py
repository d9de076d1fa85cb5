"""Signing in to a kind of agent: the methods that work here, and whether someone is signed in.

The methods come from the catalogue and from the agent itself. Only those that work here are listed: a command
whose program is installed, or a method that ACP describes.
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
from serai.agents.catalogue.introduction import FILE, AgentMemory, Introduction, introduce
from serai.agents.catalogue.programs import Surroundings, find_program
from serai.ahp.extensions import SignInKind, SignInMethod, SignInMethodsResult
from serai.errors import AgentError, AuthRequired, InvalidParams
from serai.host.agents import SignInWay
from serai.host.host import Host

LOGIN_METHOD = "serai.login"
"""The id of the method that runs the catalogue's command."""

_log = logging.getLogger(__name__)

_PERSON = 600.0
"""Longest time for a person to sign in by the agent, in seconds."""
_AGAIN = 120.0
"""Longest time for an agent to repeat a sign-in, in seconds."""

T = TypeVar("T")


class LoginStage(IntEnum):
    """The step at which an agent asks for a sign-in. Some open sessions for anyone, and ask later."""

    OPENING = 1
    PROMPT = 2


class Login:
    """Knows whether a person has to sign in to one kind of agent, and signs them in.

    Args:
        found: The agent, as it is installed here.
        host: Starts it, masks its output, and keeps its answers for later.
        method: The agent's method by which someone has signed in before.
    """

    def __init__(self, found: FoundAgent, host: Host, *, method: str | None = None) -> None:
        self.method = method
        """The agent's method by which someone has signed in, also in an earlier run of the host."""
        self._found = found
        self._processes, self._mask = host.processes, host.redactor.redact
        self._memory = AgentMemory(host.home / FILE)
        self._handshake: Handshake | None = None
        self._refused: LoginStage | None = None
        self._is_in: bool | None = None
        self._asking = asyncio.Lock()

    # -- the agent's answers -------------------------------------------------------------------------------

    async def through(self, agent: Agent, attempt: Callable[[Agent], Awaitable[T]]) -> T:
        """Try something that may need a sign-in, such as opening a session.

        An agent that keeps its sign-in in its process has forgotten it in the next one. So the method that a
        person has chosen before is repeated if the agent asks for it.

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
        """Tell whether the sign-in was a method of the agent that it still offers."""
        return any(each.id == self.method for each in handshake.auth_methods)

    async def _heard(self, handshake: Handshake) -> None:
        self._handshake = handshake
        await asyncio.to_thread(self._memory.remember, self._found, handshake.capabilities)

    async def refused(self, stage: LoginStage) -> None:
        """Note that the agent wants a person to sign in."""
        await self._stands(stage, is_in=False)

    async def accepted(self, stage: LoginStage) -> None:
        """Note a success. Only after a refusal does it show that someone has signed in."""
        if self._refused is not None and stage >= self._refused:
            await self._stands(None, is_in=True)

    async def _stands(self, refused: LoginStage | None, *, is_in: bool | None) -> None:
        self._refused, self._is_in = refused, is_in
        await asyncio.to_thread(self._memory.remember, self._found, signed_in=is_in)

    async def ask(self, *, once: bool = False) -> Introduction | None:
        """Start the agent and ask it; `None` when that fails, or (`once`) when it was asked before."""
        async with self._asking:
            if once and self._handshake is not None:
                return None
            launch = self._found.launching()
            try:
                answers = await introduce(launch, self._processes, mask=self._mask, commands_within=0)
            except AuthRequired:
                await self.refused(LoginStage.OPENING)
                return None
            except AgentError as error:
                _log.info("%s did not say what it is: %s", self._found.id, error)
                return None
            await self._heard(answers.handshake)
            if isinstance(answers.problem, AuthRequired) and not self._can_repeat(answers.handshake):
                await self.refused(LoginStage.OPENING)
            return answers

    # -- the person's sign-in ------------------------------------------------------------------------------

    async def methods(self) -> SignInMethodsResult:
        """Return the methods, and whether someone is signed in. An agent that has not run yet is asked."""
        ways = await self._ways()
        return SignInMethodsResult(methods=[way.method for way in ways], signed_in=await self.standing())

    async def way(self, method_id: str | None) -> SignInWay:
        """Return one of the methods, by default the first.

        Raises:
            InvalidParams: There is no such method, or none at all.
        """
        ways = await self._ways()
        for way in ways:
            if method_id in (None, way.method.id):
                return way
        label, known = self._found.label, ", ".join(way.method.id for way in ways)
        if not ways:
            raise InvalidParams(f"no way to sign in to {label} is known", field="params.provider")
        what = f"{label} has no method {method_id!r}; there are: {known}"
        raise InvalidParams(what, field="params.methodId")

    async def authenticate(self, method_id: str) -> Introduction:
        """Have the agent sign a person in, and check that it then opens a session. Cancelling it ends it.

        Returns the agent's answers.

        Raises:
            AgentError: It did not start, or refused; `AuthRequired` when it still wants a sign-in.
        """

        async def sign_in(agent: Agent) -> None:
            await self._heard(agent.handshake)
            async with asyncio.timeout(_PERSON):
                await agent.authenticate(method_id)

        launch = self._found.launching()
        try:
            answers = await introduce(
                launch, self._processes, mask=self._mask, commands_within=0, before=sign_in
            )
            if answers.problem is not None:
                raise answers.problem
        except TimeoutError:
            what = f"nobody has signed in to {self._found.label} within {_PERSON / 60:g} minutes"
            raise AgentError(what, agent=self._found.id) from None
        except AuthRequired:
            await self.refused(LoginStage.OPENING)
            raise
        self.method = method_id
        self._refused = self._refused or LoginStage.OPENING  # the agent itself offers this as the solution
        await self.accepted(LoginStage.PROMPT)
        return answers

    async def check(self) -> Introduction | None:
        """Ask the agent whether someone has signed in. Returns its answers; `None` when it did not start."""
        before, self._refused, self._is_in = self._refused, None, None
        answers = await self.ask()
        is_in = self._is_in
        if answers is not None and answers.problem is None and before is LoginStage.OPENING:
            is_in = True
        await self._stands(self._refused, is_in=is_in)
        return answers

    async def standing(self) -> bool | None:
        """Return whether someone is signed in: by the agent's last answer, else by the files on the disk."""
        if self._is_in is not None:
            return self._is_in
        agent = self._found.definition
        return await asyncio.to_thread(lambda: is_signed_in(agent.signed_in, Surroundings.here(), agent.env))

    async def _ways(self) -> list[SignInWay]:
        await self.ask(once=True)
        return await asyncio.to_thread(
            lambda: list(ways_in(self._found, self._handshake, Surroundings.here()))
        )


# -- the methods -------------------------------------------------------------------------------------------


def ways_in(
    found: FoundAgent, handshake: Handshake | None, surroundings: Surroundings
) -> Iterator[SignInWay]:
    """Yield the methods of signing in that work here, the best first. It reads the disk.

    Args:
        found: The agent.
        handshake: Its handshake, if it has run.
        surroundings: The folders of programs.
    """
    env: Mapping[str, str] = found.launch.env if found.launch is not None else {}
    if argv := _login_argv(found, surroundings):
        command = list(found.definition.login)
        name, kind = " ".join(command), SignInKind.TERMINAL
        yield SignInWay(SignInMethod(id=LOGIN_METHOD, kind=kind, name=name, command=command), argv, env)
    offered = handshake.auth_methods if handshake is not None else ()
    ways = (_way(each, found, env, surroundings) for each in offered)
    kinds = list(SignInKind)  # in this order
    yield from sorted(filter(None, ways), key=lambda way: kinds.index(SignInKind(way.method.kind)))


def _way(
    offered: AuthMethod, found: FoundAgent, env: Mapping[str, str], surroundings: Surroundings
) -> SignInWay | None:
    kinds = {"agent": SignInKind.AGENT, "env_var": SignInKind.ENVIRONMENT, "terminal": SignInKind.TERMINAL}
    kind = SignInKind.TERMINAL if offered.command else kinds.get(offered.type)
    argv: tuple[str, ...] = ()
    if kind is SignInKind.TERMINAL:
        words = offered.login_command(found.launch.argv if found.launch is not None else ())
        argv = _found_program(words, surroundings)
        if not argv:
            return None
        env = {**env, **offered.environ}
    if kind is None or (kind is SignInKind.ENVIRONMENT and not offered.variables):
        return None
    method = SignInMethod(
        id=offered.id,
        kind=kind,
        name=offered.name,
        description=offered.description,
        command=list(argv) or None,
        variables=list(offered.variables) or None,
    )
    return SignInWay(method, argv, env if argv else {})


def _login_argv(found: FoundAgent, surroundings: Surroundings) -> tuple[str, ...]:
    """Return the catalogue's command as it can be started here; nothing when its program is missing."""
    words = found.definition.login
    if not words:
        return ()
    argv, own = found.launch.argv if found.launch is not None else (), str(found.path)
    if found.way is not None and found.way.program == words[0] and own in argv:
        # The agent's own program as it was found: another one may have the same name.
        return (*argv[: argv.index(own) + 1], *words[1:])
    within = next((one.within for one in found.definition.ways if one.program == words[0]), "")
    return _found_program(words, surroundings, within)


def _found_program(words: tuple[str, ...], surroundings: Surroundings, within: str = "") -> tuple[str, ...]:
    for path in find_program(words[0], surroundings) if words else ():
        if not within or within in str(path.resolve()):
            return (str(path), *words[1:])
    return ()
