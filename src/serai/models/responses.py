"""What an agent answers, as pydantic-ai has it: text, thinking, and tools that the agent itself has used."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic_ai.messages import ModelResponseStreamEvent, NativeToolCallPart, NativeToolReturnPart
from pydantic_ai.models import StreamedResponse

from serai.acp.shapes import is_object
from serai.agents.ask.events import (
    AskResult,
    Event,
    TextAdded,
    ThinkingAdded,
    ToolCalled,
    ToolChanged,
    TurnFinished,
)
from serai.agents.ask.tools import ToolUse
from serai.models.endings import details_of, finish_reason, usage_of
from serai.models.history import SYSTEM
from serai.models.turns import Turn

__all__ = ["AgentResponse"]


@dataclass
class AgentResponse(StreamedResponse):
    """A turn of an agent, while it comes. `get` is the answer so far."""

    turn: Turn
    name: str
    _timestamp: datetime = field(default_factory=lambda: datetime.now(UTC))
    _message_id: str | None = None
    _has_text: bool = False
    _calls: dict[str, ToolUse] = field(default_factory=dict[str, ToolUse])
    _returned: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        self.provider_response_id = self.turn.session_id

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
        """There is none: the agent is a program."""
        return

    @property
    def timestamp(self) -> datetime:
        """When it began."""
        return self._timestamp

    async def close_stream(self) -> None:
        """Tell the agent to stop. pydantic-ai calls it when the stream is cancelled."""
        self.turn.cancel()

    def get_stream_cancel_errors(self) -> tuple[type[BaseException], ...]:
        """None: a turn that was cancelled comes to its end as any other."""
        return ()

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        async with aclosing(self.turn.events()) as events:
            async for event in events:
                for told in self._take(event):
                    yield told

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
                self._calls[call.id] = call
                yield manager.handle_part(vendor_part_id=("call", call.id), part=_called(call))
                yield from self._over(call)
            case ToolChanged(call):
                yield from self._changed(call)
                yield from self._over(call)
            case TurnFinished(result):
                self._end(result)
            case _:
                pass  # plans, modes and the like are not part of an answer

    def _paragraph(self, text: str, message_id: str | None) -> str:
        """The text; a message that follows another one is a new paragraph, as in `AskResult.text`."""
        is_next = self._has_text and message_id and self._message_id and message_id != self._message_id
        self._message_id = message_id
        self._has_text = True
        return f"\n\n{text}" if is_next else text

    def _changed(self, call: ToolUse) -> Iterator[ModelResponseStreamEvent]:
        """What is new of a call: often its arguments come only after its beginning."""
        before, self._calls[call.id] = self._calls[call.id], call
        args = _arguments(call) if call.input != before.input else None
        details = _details(call) if _details(call) != _details(before) else None
        if args is None and details is None:
            return
        told = self._parts_manager.handle_tool_call_delta(
            vendor_part_id=("call", call.id), args=args, provider_name=SYSTEM, provider_details=details
        )
        if told is not None:
            yield told

    def _over(self, call: ToolUse) -> Iterator[ModelResponseStreamEvent]:
        if not call.is_over:
            return
        told = self._parts_manager.handle_part(vendor_part_id=("return", call.id), part=_returned(call))
        if call.id not in self._returned:  # more of what came of it is kept, and not told as another return
            self._returned.add(call.id)
            yield told

    def _end(self, result: AskResult) -> None:
        self.provider_response_id = result.session_id
        self.finish_reason = finish_reason(result.stop_reason)
        self.provider_details = details_of(result)
        self._usage = usage_of(result)


def _called(call: ToolUse) -> NativeToolCallPart:
    return NativeToolCallPart(
        tool_name=call.name or call.kind,
        args=_arguments(call),
        tool_call_id=call.id,
        provider_name=SYSTEM,
        provider_details=_details(call),
    )


def _returned(call: ToolUse) -> NativeToolReturnPart:
    return NativeToolReturnPart(
        tool_name=call.name or call.kind,
        content=call.output if call.output is not None else call.text,
        tool_call_id=call.id,
        provider_name=SYSTEM,
        provider_details={**_details(call), "content": [dict(each) for each in call.content]},
        outcome="success" if call.status == "completed" else "failed",
    )


def _arguments(call: ToolUse) -> dict[str, Any] | None:
    if call.input is None:
        return None
    return dict(call.input) if is_object(call.input) else {"input": call.input}


def _details(call: ToolUse) -> dict[str, Any]:
    return {"title": call.title, "kind": call.kind, "locations": [dict(each) for each in call.locations]}
