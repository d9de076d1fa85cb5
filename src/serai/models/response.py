"""An agent's answer in pydantic-ai's terms: text, thinking, its own tools, and usage."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from pydantic_ai.messages import (
    FinishReason,
    ModelResponseStreamEvent,
    NativeToolCallPart,
    NativeToolReturnPart,
)
from pydantic_ai.models import StreamedResponse
from pydantic_ai.usage import RequestUsage

from serai.acp.shapes import is_object
from serai.acp.tool_calls import AgentToolCall
from serai.agents.ask.costs import TurnTokens
from serai.agents.ask.events import (
    AskResult,
    Event,
    TextAdded,
    ThinkingAdded,
    ToolCalled,
    ToolChanged,
    TurnFinished,
)
from serai.agents.ask.permissions import PermissionAsked
from serai.agents.ask.turn import AgentStream
from serai.errors import SeraiError
from serai.models.history import SYSTEM
from serai.models.problems import failure_of, warn

_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "cancelled": "stop",
    "max_tokens": "length",
    "refusal": "content_filter",
}


def usage_of(result: AskResult) -> RequestUsage:
    """Return the tokens of the turn, if the agent reports them, and the cost of the turn alone.

    An agent reports the cost of its session, which is the sum of all turns, so that is not here. For
    pydantic-ai, cached tokens are input, and thoughts are output.
    """
    usage = RequestUsage(unmeasured_requests=1)
    if result.usage:
        tokens = TurnTokens.read(result.usage)
        usage = RequestUsage(
            input_tokens=tokens.input + tokens.cached_read + tokens.cached_write,
            output_tokens=tokens.output + tokens.thought,
            cache_read_tokens=tokens.cached_read,
            cache_write_tokens=tokens.cached_write,
            output_reasoning_tokens=tokens.thought,
        )
    if result.cost_usd is not None:
        usage.cost = Decimal(str(result.cost_usd))
    return usage


def details_of(result: AskResult) -> dict[str, Any]:
    """Return the details that pydantic-ai has no field for; `finish_reason` is the agent's own word."""
    cost = result.cost
    details = {
        "finish_reason": result.stop_reason,
        "agent": result.agent,
        "session_id": result.session_id,
        "context_used": result.context_used,
        "context_size": result.context_size,
        "session_cost": {"amount": cost.amount, "currency": cost.currency} if cost else None,
    }
    return {name: value for name, value in details.items() if value is not None}


@dataclass
class AgentResponse(StreamedResponse):
    """The answer of an agent, as it streams. `get` returns the answer so far."""

    turn: AgentStream
    name: str
    _timestamp: datetime = field(default_factory=lambda: datetime.now(UTC))
    _message_id: str | None = None
    _has_text: bool = False
    _calls: dict[str, AgentToolCall] = field(default_factory=dict[str, AgentToolCall])

    _first: Event | None = None

    async def began(self) -> None:
        """Wait for the first event of the answer.

        Raises:
            ModelAPIError: The agent cannot be asked. The error's cause is Serai's.
        """
        self._first = await self._next()

    async def _next(self) -> Event:
        try:
            return await anext(self.turn)
        except SeraiError as error:
            raise failure_of(error, self.name, in_stream=self._first is not None) from error

    @property
    def model_name(self) -> str:
        """The agent's name."""
        return self.name

    @property
    def provider_name(self) -> str:
        """Serai."""
        return SYSTEM

    @property
    def provider_url(self) -> None:
        """None: the agent is a program."""
        return

    @property
    def timestamp(self) -> datetime:
        """The time at which it began."""
        return self._timestamp

    async def close_stream(self) -> None:
        """Tell the agent to stop. pydantic-ai calls it when the stream is cancelled."""
        self.turn.cancel()

    def get_stream_cancel_errors(self) -> tuple[type[BaseException], ...]:
        """Return none: a cancelled turn ends like any other."""
        return ()

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        event = self._first or await self._next()
        while not isinstance(event, TurnFinished):
            for update in self._take(event):
                yield update
            event = await self._next()
        result = event.result
        self.provider_response_id = result.session_id
        self.finish_reason = _REASONS.get(result.stop_reason)  # none where pydantic-ai has no word for it
        self.provider_details = details_of(result)
        self._usage = usage_of(result)
        if kinds := ", ".join(result.dropped):  # in the words of `agents.ask`
            warn(f'Agent "{result.agent}" does not take these parts of a prompt — dropped: {kinds}.')

    def _take(self, event: Event) -> Iterator[ModelResponseStreamEvent]:
        manager = self._parts_manager
        match event:
            case TextAdded(text, message_id):
                yield from manager.handle_text_delta(
                    vendor_part_id=None, content=self._paragraph(text, message_id)
                )
            case ThinkingAdded(text):
                yield from manager.handle_thinking_delta(vendor_part_id=None, content=text)
            case ToolCalled(call):
                self._has_text = False
                yield from self._used(call)
            case ToolChanged(call):
                yield from self._used(call)
            case PermissionAsked(is_open=True):
                event.cancel()
                warn(f'Agent "{self.name}" asks for permission, and nobody could answer — cancelled.')
            case _:
                pass  # plans, modes and the like are not part of an answer

    def _paragraph(self, text: str, message_id: str | None) -> str:
        """Return the text. A message that follows another one is a new paragraph, as in `AskResult.text`."""
        is_next = self._has_text and message_id and self._message_id and message_id != self._message_id
        self._message_id = message_id
        self._has_text = True
        return f"\n\n{text}" if is_next else text

    def _used(self, call: AgentToolCall) -> Iterator[ModelResponseStreamEvent]:
        """Yield the events for what is new of a call. Often its arguments come only after its beginning."""
        before, self._calls[call.id] = self._calls.get(call.id), call
        manager, part_id = self._parts_manager, ("call", call.id)
        if before is None:
            part = NativeToolCallPart(
                tool_name=call.name or call.kind,
                args=_arguments(call),
                tool_call_id=call.id,
                provider_name=SYSTEM,
                provider_details=_details(call),
            )
            yield manager.handle_part(vendor_part_id=part_id, part=part)
        elif (call.input, _details(call)) != (before.input, _details(before)):
            args = _arguments(call) if call.input != before.input else None
            update = manager.handle_tool_call_delta(
                vendor_part_id=part_id, args=args, provider_name=SYSTEM, provider_details=_details(call)
            )
            if update is not None:
                yield update
        if call.is_over:
            update = manager.handle_part(vendor_part_id=("return", call.id), part=_returned(call))
            if before is None or not before.is_over:  # more results are no second return
                yield update


def _returned(call: AgentToolCall) -> NativeToolReturnPart:
    return NativeToolReturnPart(
        tool_name=call.name or call.kind,
        content=call.output if call.output is not None else call.text,
        tool_call_id=call.id,
        provider_name=SYSTEM,
        provider_details={**_details(call), "content": [dict(each) for each in call.content]},
        outcome="success" if call.status == "completed" else "failed",
    )


def _arguments(call: AgentToolCall) -> dict[str, Any] | None:
    if call.input is None:
        return None
    return dict(call.input) if is_object(call.input) else {"input": call.input}


def _details(call: AgentToolCall) -> dict[str, Any]:
    return {"title": call.title, "kind": call.kind, "locations": [dict(each) for each in call.locations]}
