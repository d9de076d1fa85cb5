"""What the host needs to know of a kind of agent, and what it gives to each of its sessions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from logging import Logger
from typing import Any, Protocol, runtime_checkable

from serai.ahp.actions import SessionTurnStartedAction, StateAction
from serai.ahp.commands import CreateSessionParams
from serai.ahp.extensions import SignInMethod, SignInMethodsResult
from serai.ahp.rules import Judgement
from serai.ahp.types import AgentInfo, SessionConfigSchema, ToolDefinition
from serai.contract import AgentIdentity, AgentSession
from serai.host.seat import Seat
from serai.host.turn import Turn
from serai.store.contract import BlobRow, RelayWrite


@dataclass(frozen=True, slots=True)
class HostContext:
    """What a harness gets in order to make the agent of one session."""

    identity: AgentIdentity
    logger: Logger
    session: str
    """The URI of the session."""
    turn: Callable[[str], Turn]
    """The turn that a delivery begins: `context.turn(delivery_id)`."""
    seat: Seat
    """The agent's place in its session, beside its turns."""


class HostedHarness(Protocol):
    """A kind of agent that sessions can be made with."""

    @property
    def name(self) -> str:
        """The provider id."""
        ...

    @property
    def info(self) -> AgentInfo:
        """What the root channel lists."""
        ...

    @property
    def schema(self) -> SessionConfigSchema:
        """Which settings its sessions have. A setting's `default` is its first value."""
        ...

    @property
    def tools(self) -> list[ToolDefinition]:
        """The tools that its agents bring along, for clients to show."""
        ...

    async def create(self, settings: Mapping[str, Any], context: HostContext) -> AgentSession:
        """Make the agent of one session: start a process, attach, connect, resume, or wrap what is there.

        Calls may overlap. Cancelling undoes what has been started and makes no session.
        """
        ...


@runtime_checkable
class Particular(Protocol):
    """A kind of agent that cannot do all that a session offers, and has to be asked what it can."""

    async def learn(self) -> None:
        """Ask which settings and models it has, unless that is known. It never fails."""
        return

    def problem_with(self, name: str, value: Any) -> str | None:  # noqa: ARG002 - for those who override it
        """What is the matter with a setting that has the right shape; `None` when nothing is."""
        return None

    def refusal(self, session: str, action: StateAction) -> Judgement | None:
        """Why a client's action cannot be for a session of this kind, given its URI; `None` when it can."""
        ...


@runtime_checkable
class Examining(Protocol):
    """A kind of agent that looks at what a new session is to be before there is one."""

    async def examine(self, params: CreateSessionParams, directory: str | None) -> None:
        """Look at what was asked for, as it was asked for: nothing in it is masked yet.

        Raises:
            InvalidParams: There cannot be such a session.
        """
        ...


@runtime_checkable
class Transcribing(Protocol):
    """A kind of agent whose sessions keep a transcript of their own."""

    def turn_begins(
        self, session: str, action: SessionTurnStartedAction, deliveries: Sequence[str], now: int
    ) -> tuple[Sequence[RelayWrite], Sequence[BlobRow]]:
        """What is written in the transaction in which a turn begins, given the deliveries that begin it."""
        ...


@dataclass(frozen=True, slots=True)
class WayIn:
    """A way to sign in, with what it runs."""

    method: SignInMethod
    argv: tuple[str, ...] = ()
    """The command for a terminal, with the whole path of its program."""
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Variables to add to the host's own. They may be secrets."""


@runtime_checkable
class Guarded(Protocol):
    """A kind of agent that a person may have to sign in to."""

    async def sign_in_methods(self) -> SignInMethodsResult:
        """How one signs in, and whether someone is. The agent may have to be started and asked."""
        ...

    async def way_in(self, method_id: str | None) -> WayIn:
        """One of the ways, or the best.

        Raises:
            InvalidParams: There is no such way.
        """
        ...

    async def authenticate(self, method_id: str) -> bool | None:
        """Have the agent itself sign someone in. A person may take minutes; cancelling ends it.

        Returns, and does with sessions that were refused, as `sign_in_over`.

        Raises:
            AgentError: Nobody is signed in.
        """
        ...

    async def sign_in_over(self) -> bool | None:
        """Someone may have signed in by now: find out. It never fails.

        Sessions that were refused begin anew with their next turn. Returns whether someone is signed in;
        `None` when nobody knows.
        """
        ...


@runtime_checkable
class Attentive(Protocol):
    """The agent of a session that wants to know what clients do there."""

    def happened(self, action: StateAction) -> None:
        """A client's action is committed. It must not block."""
        ...
