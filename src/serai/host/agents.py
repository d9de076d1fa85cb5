"""What the host needs to know of a kind of agent, and what it gives to each of its sessions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from logging import Logger
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from serai.ahp.actions import StateAction
from serai.ahp.rules import Judgement
from serai.ahp.types import AgentInfo, SessionConfigSchema, ToolDefinition
from serai.contract import AgentIdentity, AgentSession
from serai.customizations import Definition

if TYPE_CHECKING:
    from serai.host.seat import Seat
    from serai.host.turn import Turn

__all__ = ["Attentive", "HostContext", "HostedHarness", "Learning", "Particular"]


@dataclass(frozen=True, slots=True)
class HostContext:
    """What a harness gets in order to make the agent of one session: the contract's `HarnessContext`."""

    workspace: str
    identity: AgentIdentity
    environment: Mapping[str, str]
    secrets: Mapping[str, str]
    logger: Logger
    session: str
    """The URI of the session."""
    working_directory: str | None
    """The session's working directory, as a URI."""
    turn: TurnOf
    """The turn that a delivery begins: `context.turn(delivery_id)`."""
    definitions: Callable[[], Awaitable[tuple[Definition, ...]]]
    """The customisations of the session, as they are when it is asked. Use those that are `enabled`, and run
    nothing of those that are not `runnable`."""
    seat: Seat
    """The agent's place in its session, beside its turns."""


class TurnOf(Protocol):
    """Finds the turn that a delivery began."""

    def __call__(self, delivery_id: str) -> Turn:
        """The turn. Its `run` takes the coroutine that answers it."""
        ...


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
        """Make the agent of one session. See `serai.contract.Harness.create`."""
        ...


@runtime_checkable
class Particular(Protocol):
    """A kind of agent that cannot do all that a session offers."""

    def refusal(self, session: str, action: StateAction) -> Judgement | None:
        """Why a client's action cannot be for a session of this kind; `None` when it can.

        Args:
            session: The URI of the session.
            action: What the client wants.
        """
        ...


@runtime_checkable
class Learning(Protocol):
    """A kind of agent that has to be asked which settings and models it has."""

    async def learn(self) -> None:
        """Ask, unless that is known. It never fails: what is not told stays unknown."""
        ...


@runtime_checkable
class Attentive(Protocol):
    """The agent of a session that wants to know what clients do there."""

    def happened(self, action: StateAction) -> None:
        """A client's action is committed. It must not block."""
        ...
