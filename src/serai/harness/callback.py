"""A Python function as an agent.

async def shout(turn):
    await turn.say(turn.message.text.upper())

host = Host(store, [CallbackHarness("shout", shout)], ...)
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, cast

from serai.ahp.types import AgentInfo, SessionConfigSchema, SessionModelInfo
from serai.contract import (
    AgentSessionCapabilities,
    AgentSessionEventType,
    BasicSession,
    Delivered,
    DeliveryCapabilities,
    DeliveryMode,
    EventCapabilities,
    LifecycleCapabilities,
    MessageContext,
    MessageReceipt,
    MessagingCapabilities,
    RelayMessage,
)
from serai.host.agents import HostContext
from serai.host.turn import Turn

__all__ = ["CAPABILITIES", "CallbackHarness"]

CAPABILITIES = AgentSessionCapabilities(
    messaging=MessagingCapabilities(receive=True),
    delivery=DeliveryCapabilities(
        modes=(DeliveryMode.IMMEDIATE, DeliveryMode.NEXT_TOOL_CALL, DeliveryMode.ON_IDLE)
    ),
    events=EventCapabilities(emits=(AgentSessionEventType.STATUS_CHANGED,)),
    lifecycle=LifecycleCapabilities(release=True),
)
"""What a function can do without doing anything for it."""


class CallbackHarness:
    """An agent that is a function: it is called once per turn and answers by what it does with the turn.

    Args:
        name: The provider id.
        answer: The function. The turn ends when it returns; when it raises, with the error.
        display_name: The agent's name for people.
        description: What it is for.
        capabilities: What its sessions declare.
        schema: Which settings its sessions have.
        models: Which models it offers.
    """

    def __init__(
        self,
        name: str,
        answer: Callable[[Turn], Awaitable[None]],
        *,
        display_name: str | None = None,
        description: str = "",
        capabilities: AgentSessionCapabilities = CAPABILITIES,
        schema: SessionConfigSchema | None = None,
        models: list[SessionModelInfo] | None = None,
    ) -> None:
        self.name = name
        self.schema = schema or SessionConfigSchema(type="object", properties={})
        self.info = AgentInfo(
            provider=name, display_name=display_name or name, description=description, models=models or []
        )
        self._answer = answer
        self._capabilities = capabilities

    async def create(self, settings: Mapping[str, Any], context: HostContext) -> BasicSession:  # noqa: ARG002
        """Make the agent of one session. A function needs no start."""
        return CallbackSession(self._answer, context, self._capabilities)


class CallbackSession(BasicSession):
    """The function, in one session."""

    def __init__(
        self,
        answer: Callable[[Turn], Awaitable[None]],
        context: HostContext,
        capabilities: AgentSessionCapabilities,
    ) -> None:
        super().__init__(context.identity, capabilities)
        self._answer = answer
        self._context = context

    async def receive_message(self, message: RelayMessage, context: MessageContext) -> MessageReceipt:  # noqa: ARG002
        """Call the function. The journal has the message already: that is the evidence."""
        turn = self._context.turn(context.id)
        turn.run(cast("Coroutine[Any, Any, None]", self._answer(turn)))
        return Delivered(delivery_id=context.id, metadata={"evidence": "journal"})

    async def release(self, reason: str | None = None) -> None:
        """Nothing was started, so nothing is left behind."""
