"""A Python function as an agent.

    async def shout(turn: Turn) -> None:
        await turn.say(turn.message.text.upper())

    harness = CallbackHarness("shout", shout)

The function is called once per turn, and answers by what it does with the turn (`serai.host.turn`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import msgspec

from serai import contract as c
from serai.ahp import wire
from serai.ahp.types import AgentInfo, SessionConfigSchema, SessionModelInfo, ToolDefinition
from serai.contract.events import OBSERVED_BY_HOST
from serai.host.agents import HostContext
from serai.host.session.deliveries import user_message
from serai.host.turn import Turn

Answer = Callable[[Turn], Coroutine[Any, Any, None]]
"""Function that answers a turn."""


def _declared(*modes: c.DeliveryMode) -> c.AgentSessionCapabilities:
    return c.AgentSessionCapabilities(
        messaging=c.MessagingCapabilities(receive=True),
        delivery=c.DeliveryCapabilities(modes=modes),
        # A function acts through its turn alone, so the host can observe all of it.
        events=c.EventCapabilities(emits=OBSERVED_BY_HOST),
        lifecycle=c.LifecycleCapabilities(release=True),
    )


CAPABILITIES = _declared(c.DeliveryMode.IMMEDIATE, c.DeliveryMode.ON_IDLE)
"""The capabilities of any function: it takes a message when it is idle, and can be observed."""

STEERABLE = _declared(c.DeliveryMode.IMMEDIATE, c.DeliveryMode.NEXT_TOOL_CALL, c.DeliveryMode.ON_IDLE)
"""The capabilities of a function that looks for messages while it works: it calls `turn.steering()`."""


class CallbackHarness:
    """An agent that is a function: it is called once per turn and answers through the turn's methods.

    Args:
        name: The provider id.
        answer: The function. The turn ends when it returns; when it raises, with the error.
        display_name: The agent's name for people.
        description: The agent's description for people.
        capabilities: The capabilities of its sessions. They promise this and nothing more.
        schema: The settings of its sessions.
        models: The models that it offers.
        tools: Its tools, for clients to show.

    Raises:
        TypeError: The function is not an `async` one.
    """

    def __init__(
        self,
        name: str,
        answer: Answer,
        *,
        display_name: str | None = None,
        description: str = "",
        capabilities: c.AgentSessionCapabilities = CAPABILITIES,
        schema: SessionConfigSchema | None = None,
        models: list[SessionModelInfo] | None = None,
        tools: list[ToolDefinition] | None = None,
    ) -> None:
        if not (inspect.iscoroutinefunction(answer) or inspect.iscoroutinefunction(type(answer).__call__)):
            raise TypeError(f"the agent {name!r} must be an async function of one turn, not {answer!r}")
        self.name = name
        self.tools = tools or []
        self.schema = schema or SessionConfigSchema(type="object", properties={})
        self.info = AgentInfo(
            provider=name, display_name=display_name or name, description=description, models=models or []
        )
        self._answer = answer
        self.in_process = True
        """True: a function reads its input from the journal, so what is committed there has got to it."""
        self.capabilities = capabilities
        """The capabilities of its sessions."""

    async def create(self, settings: Mapping[str, Any], context: HostContext) -> CallbackSession:  # noqa: ARG002 - a function has none
        """Make the agent of one session. A function needs no start; it reads `turn.settings`."""
        return CallbackSession(self._answer, context, self.capabilities)


class CallbackSession(c.BasicSession):
    """The function, in one session."""

    def __init__(
        self, answer: Answer, context: HostContext, capabilities: c.AgentSessionCapabilities
    ) -> None:
        super().__init__(context.identity, capabilities)
        self._answer = answer
        self._context = context

    async def receive_message(self, message: c.RelayMessage, context: c.MessageContext) -> c.MessageReceipt:
        """Call the function with the message; a repeat does not call it again.

        The journal has the message already: that is the evidence.
        """
        turn = self._context.turn(context.id)
        if turn.task is None:
            turn.message = user_message(message)
            turn.run(self._answer(turn))
        return c.Delivered(delivery_id=context.id, metadata={"evidence": "journal"})

    async def release(self, reason: str | None = None) -> None:
        """Do nothing: a function has started nothing."""

    async def fork(self) -> c.AgentSession:
        """Begin another session of the host that continues from here."""
        c.require(self.capabilities, c.LifecycleOperation.FORK, agent=self.identity.name)
        return await self._context.seat.fork()

    async def snapshot(self) -> dict[str, Any]:
        """Return the conversation and the settings: the whole state of a function's session."""
        c.require(self.capabilities, c.LifecycleOperation.SNAPSHOT, agent=self.identity.name)
        seat = self._context.seat
        turns = msgspec.json.decode(wire.encode(seat.turns))
        return {"turns": turns, "settings": dict(seat.settings)}
