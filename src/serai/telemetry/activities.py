"""Turns, tool calls and deliveries as telemetry.

Each is a span, by the names of OpenTelemetry's GenAI conventions, and is counted when it ends. What was said
(prompts, messages of errors) is left out unless `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` asks for
it, and then masked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar

import msgspec

from serai.telemetry.metrics import Metrics
from serai.telemetry.otlp import Labels, Scalar
from serai.telemetry.spans import CONSUMER, INTERNAL, Span, Tracer

__all__ = ["Activities", "DeliverySpan", "ToolCallSpan", "TurnSpan", "wants_content"]


def wants_content(environ: Mapping[str, str]) -> bool:
    """True when the environment asks for prompts and messages of errors in spans."""
    asked = environ.get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "").strip().lower()
    return asked in {"true", "span_only", "span_and_event"}


class Activities:
    """Starts the spans of what the host does.

    Args:
        tracer: Starts the spans.
        metrics: Counts what has ended.
        now_ns: The time, in nanoseconds since 1970.
        content: Whether prompts and messages of errors may stand in spans.
    """

    def __init__(self, tracer: Tracer, metrics: Metrics, now_ns: Callable[[], int], *, content: bool) -> None:
        self.tracer = tracer
        self.metrics = metrics
        self.now_ns = now_ns
        self.content = content

    def turn(
        self,
        agent: str,
        conversation: str,
        *,
        turn_id: str,
        provider: str,
        model: str | None = None,
        prompt: str | None = None,
        parent: _Activity | None = None,
    ) -> TurnSpan:
        """Begin a turn. `parent` is the delivery that brought its message."""
        turn = TurnSpan(self, f"invoke_agent {agent}", INTERNAL, parent)
        turn.owner = {"gen_ai.agent.name": agent, "gen_ai.conversation.id": conversation}
        turn.labels = {"gen_ai.operation.name": turn.operation, "gen_ai.provider.name": provider}
        if model:
            turn.labels["gen_ai.request.model"] = model
        turn.span.set({**turn.labels, **turn.owner, "serai.turn.id": turn_id})
        if prompt is not None and self.content and turn.span.recording:
            masked = self.tracer.cleaner.text(prompt)  # while it is plain: JSON would hide a secret
            message = {"role": "user", "parts": [{"type": "text", "content": masked}]}
            turn.span.set({"gen_ai.input.messages": msgspec.json.encode([message]).decode()})
        return turn

    def delivery(
        self, delivery_id: str, *, agent: str, conversation: str, mode: str, reason: str
    ) -> DeliverySpan:
        """Begin an attempt to deliver a message to a session."""
        delivery = DeliverySpan(self, "deliver", CONSUMER)
        delivery.mode = mode
        delivery.span.set(
            {
                "serai.delivery.id": delivery_id,
                "serai.delivery.mode": mode,
                "serai.delivery.reason": reason,
                "gen_ai.agent.name": agent,
                "gen_ai.conversation.id": conversation,
            }
        )
        return delivery


class _Activity:
    """A span, and the time when it began."""

    def __init__(self, activities: Activities, name: str, kind: int, parent: _Activity | None = None) -> None:
        self._activities = activities
        self._ended = False
        self._start_ns = activities.now_ns()
        self.span: Span = activities.tracer.start(name, kind, parent.span if parent else None)
        self.current = self.span.current
        """While this context lasts, log records name the activity and what begins is part of it."""

    def _finish(self, outcome: str, error_type: str | None, message: str | None) -> float | None:
        """End the span. Returns how long it took in seconds, or `None` when it had ended before."""
        if self._ended:
            return None
        self._ended = True
        self.span.set({"serai.outcome": outcome})
        if error_type is not None:  # an agent's words may quote what it was asked
            self.span.fail(error_type, message or "" if self._activities.content else "")
        self.span.end()
        return max(0, self._activities.now_ns() - self._start_ns) / 1e9


class _Operation(_Activity, ABC):
    """An operation of an agent: it completes, is cancelled, or fails."""

    operation: ClassVar[str]
    labels: dict[str, str]
    """Operation, provider and model, by which measurements are told apart."""

    def complete(self) -> None:
        """End it well."""
        self._end("completed", None, None)

    def cancel(self) -> None:
        """End it because someone stopped it, or did not allow it. That is no error."""
        self._end("cancelled", None, None)

    def fail(self, error_type: str, message: str | None = None) -> None:
        """End it with an error. `error_type` is a word out of few; the message is content."""
        self._end("failed", error_type, message)

    def _end(self, outcome: str, error_type: str | None, message: str | None) -> None:
        seconds = self._finish(outcome, error_type, message)
        if seconds is not None:
            self._count(outcome)
            labels = self.labels | ({"error.type": error_type} if error_type else {})
            self._activities.metrics.operation_time.record(seconds, tuple(labels.items()))

    @abstractmethod
    def _count(self, outcome: str) -> None:
        """Count what is particular to the operation."""


class TurnSpan(_Operation):
    """A running turn: `invoke_agent {agent}`. Made by `Activities.turn`."""

    operation = "invoke_agent"
    owner: Mapping[str, Scalar]
    """Agent and session, for the spans of its tool calls."""
    _tokens: tuple[float | None, float | None] = (None, None)

    def tool(self, name: str, call_id: str) -> ToolCallSpan:
        """Begin a tool call of the agent."""
        call = ToolCallSpan(self._activities, f"execute_tool {name}", INTERNAL, self)
        call.name = name
        operation = {"gen_ai.operation.name": call.operation}
        call.labels = self.labels | operation
        names = {"gen_ai.tool.name": name, "gen_ai.tool.call.id": call_id}
        call.span.set({**operation, **names, **self.owner})
        return call

    def used(
        self,
        *,
        input_tokens: float | None = None,
        output_tokens: float | None = None,
        cache_read_tokens: float | None = None,
        model: str | None = None,
    ) -> None:
        """Take the turn's usage so far. The last word counts."""
        self._tokens = (input_tokens, output_tokens)
        self.span.set(
            {
                "gen_ai.usage.input_tokens": _whole(input_tokens),
                "gen_ai.usage.output_tokens": _whole(output_tokens),
                "gen_ai.usage.cache_read.input_tokens": _whole(cache_read_tokens),
                "gen_ai.response.model": model,
            }
        )

    def _count(self, outcome: str) -> None:  # noqa: ARG002 - tokens count however it ended
        for kind, tokens in zip(("input", "output"), self._tokens, strict=True):
            if tokens is not None:
                labels = self.labels | {"gen_ai.token.type": kind}
                self._activities.metrics.token_usage.record(tokens, tuple(labels.items()))


class ToolCallSpan(_Operation):
    """A tool call: `execute_tool {tool}`. Made by `TurnSpan.tool`."""

    operation = "execute_tool"
    name: str

    def _count(self, outcome: str) -> None:
        labels = (("gen_ai.tool.name", self.name), ("serai.outcome", outcome))
        self._activities.metrics.tool_calls.add(1, labels)


class DeliverySpan(_Activity):
    """An attempt to deliver a message: `deliver`. Made by `Activities.delivery`."""

    mode: str

    def accepted(self) -> None:
        """Note that someone holds the message for its boundary. The delivery goes on."""
        self.span.event("accepted")

    def settle(self, status: str, *, error_type: str | None = None) -> None:
        """End the attempt with a receipt: delivered, deferred, or (with `error_type`) failed."""
        self.span.set({"serai.delivery.status": status})
        if self._finish(status, error_type, None) is None:
            return
        labels: Labels = (("serai.delivery.mode", self.mode), ("serai.delivery.status", status))
        if error_type is not None:
            labels += (("error.type", error_type),)
        self._activities.metrics.deliveries.add(1, labels)


def _whole(tokens: float | None) -> int | None:
    return None if tokens is None else int(tokens)
