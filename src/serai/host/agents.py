"""The interfaces of kinds of agents, and the context that each session's agent gets."""

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
    """The context with which a harness makes the agent of one session."""

    identity: AgentIdentity
    logger: Logger
    session: str
    """The URI of the session."""
    turn: Callable[[str], Turn]
    """Returns the turn that a delivery begins: `context.turn(delivery_id)`."""
    seat: Seat
    """The agent's seat in its session, for all outside of its turns."""


class HostedHarness(Protocol):
    """A kind of agent that sessions can be made with."""

    @property
    def name(self) -> str:
        """The provider id."""
        ...

    @property
    def info(self) -> AgentInfo:
        """The entry in the root channel's list of agents."""
        ...

    @property
    def schema(self) -> SessionConfigSchema:
        """The settings of its sessions. A setting's `default` is its first value."""
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
class LimitedHarness(Protocol):
    """A kind of agent that cannot do all that a session offers, and says what it can."""

    async def learn(self) -> None:
        """Ask for its settings and models, unless they are known. It never fails."""
        return

    def problem_with(self, name: str, value: Any) -> str | None:  # noqa: ARG002 - for those who override it
        """Return the problem with a setting that has the right shape; `None` without one."""
        return None

    def refusal(self, session: str, action: StateAction) -> Judgement | None:
        """Refuse a client's action that a session of this kind cannot take; else return `None`."""
        ...


@runtime_checkable
class TranscriptHarness(Protocol):
    """A kind of agent whose sessions keep a transcript of their own.

    Its agents continue a turn that the end of the host has interrupted. See `TurnContinuer`.
    """

    async def examine(self, params: CreateSessionParams, directory: str | None) -> None:
        """Check the request for a new session, as it was made: nothing in it is masked yet.

        Raises:
            InvalidParams: There cannot be such a session.
        """
        ...

    def turn_begins(
        self, session: str, action: SessionTurnStartedAction, deliveries: Sequence[str], now: int
    ) -> tuple[Sequence[RelayWrite], Sequence[BlobRow]]:
        """Return the writes of the transaction in which a turn begins, given the deliveries that begin it."""
        ...


@dataclass(frozen=True, slots=True)
class SignInWay:
    """A way to sign in, with what it runs."""

    method: SignInMethod
    argv: tuple[str, ...] = ()
    """The command for a terminal, with the whole path of its program."""
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Variables to add to the host's own. They may be secrets."""


@runtime_checkable
class SignInHarness(Protocol):
    """A kind of agent that a person may have to sign in to."""

    async def sign_in_methods(self) -> SignInMethodsResult:
        """Return the ways to sign in, and whether someone is. The agent may have to be started and asked."""
        ...

    async def sign_in_way(self, method_id: str | None) -> SignInWay:
        """Return one of the ways to sign in, or the best.

        Raises:
            InvalidParams: There is no such way.
        """
        ...

    async def authenticate(self, method_id: str) -> bool | None:
        """Let the agent itself sign someone in. A person may take minutes; cancelling ends it.

        The result, and the effect on refused sessions, is that of `sign_in_over`.

        Raises:
            AgentError: Nobody is signed in.
        """
        ...

    async def sign_in_over(self) -> bool | None:
        """Find out whether someone has signed in by now. It never fails.

        Sessions that were refused begin anew with their next turn. Returns whether someone is signed in;
        `None` when nobody knows.
        """
        ...


@runtime_checkable
class ActionListener(Protocol):
    """The agent of a session that wants to hear of clients' actions."""

    def happened(self, action: StateAction) -> None:
        """Hear of a client's action that is committed. It must not block."""
        ...
