"""Turns, tool calls and deliveries as telemetry.

Each is a span, by the names of OpenTelemetry's GenAI conventions, and is counted when it ends. What was said
(prompts, messages of errors) is left out unless `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` asks for
it, and then masked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from serai.telemetry.metrics import Metrics
from serai.telemetry.otlp import Attributes
from serai.telemetry.spans import CONSUMER, INTERNAL, Span, Tracer


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
        parent: DeliverySpan | None = None,
    ) -> TurnSpan:
        """Begin a turn. `parent` is the delivery that brought its message."""
        labels = {"gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": provider}
        labels |= {"gen_ai.request.model": model} if model else {}
        turn = TurnSpan(self, f"invoke_agent {agent}", INTERNAL, labels, parent)
        turn.owner = {"gen_ai.agent.name": agent, "gen_ai.conversation.id": conversation}
        turn.span.set({**labels, **turn.owner, "serai.turn.id": turn_id})
        if prompt is not None and self.content and turn.span.recording:
            masked = self.tracer.cleaner.text(prompt)  # while it is plain: JSON would hide a secret
            message = {"role": "user", "parts": [{"type": "text", "content": masked}]}
            turn.span.set({"gen_ai.input.messages": msgspec.json.encode([message]).decode()})
        return turn

    def delivery(
        self, delivery_id: str, *, agent: str, conversation: str, mode: str, reason: str
    ) -> DeliverySpan:
        """Begin an attempt to deliver a message to a session."""
        labels = {"serai.delivery.mode": mode}
        delivery = DeliverySpan(self, "deliver", CONSUMER, labels)
        delivery.span.set(
            {
                **labels,
                "serai.delivery.id": delivery_id,
                "serai.delivery.reason": reason,
                "gen_ai.agent.name": agent,
                "gen_ai.conversation.id": conversation,
            }
        )
        return delivery


class _Activity:
    """A span, and what is counted when it ends. Its labels tell measurements apart."""

    def __init__(
        self,
        activities: Activities,
        name: str,
        kind: int,
        labels: dict[str, str],
        parent: _Activity | None = None,
    ) -> None:
        self._activities = activities
        self._labels = labels
        self._ended = False
        self._start_ns = activities.now_ns()
        self.span: Span = activities.tracer.start(name, kind, parent.span if parent else None)
        self.current = self.span.current
        """While this context lasts, log records name the activity and what begins is part of it."""

    def end(self, outcome: str, error_type: str | None = None, message: str | None = None) -> None:
        """End it, well or not; ending it again does nothing.

        Args:
            outcome: How it ended: `completed`, `cancelled`, `failed`, or the status of a receipt.
            error_type: A word out of few, when it failed. To be stopped, or not allowed, is no error.
            message: What went wrong. It is content: an agent's words may quote what it was asked.
        """
        if self._ended:
            return
        self._ended = True
        self.span.set({"serai.outcome": outcome})
        if error_type is not None:
            self.span.fail(error_type, message or "" if self._activities.content else "")
        self.span.end()
        seconds = max(0, self._activities.now_ns() - self._start_ns) / 1e9
        self._count(outcome, {"error.type": error_type} if error_type else {}, seconds)

    def _count(self, outcome: str, error: dict[str, str], seconds: float) -> None:  # noqa: ARG002 - for others
        self._activities.metrics.operation_time.record(seconds, tuple((self._labels | error).items()))


class TurnSpan(_Activity):
    """A running turn: `invoke_agent {agent}`. Made by `Activities.turn`."""

    owner: Attributes
    _tokens: tuple[float | None, float | None] = (None, None)

    def tool(self, name: str, call_id: str) -> ToolCallSpan:
        """Begin a tool call of the agent."""
        operation = {"gen_ai.operation.name": "execute_tool"}
        call = ToolCallSpan(
            self._activities, f"execute_tool {name}", INTERNAL, self._labels | operation, self
        )
        call.name = name
        call.span.set({**operation, **self.owner, "gen_ai.tool.name": name, "gen_ai.tool.call.id": call_id})
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

    def _count(self, outcome: str, error: dict[str, str], seconds: float) -> None:
        super()._count(outcome, error, seconds)
        for kind, tokens in zip(("input", "output"), self._tokens, strict=True):
            if tokens is not None:
                labels = self._labels | {"gen_ai.token.type": kind}
                self._activities.metrics.token_usage.record(tokens, tuple(labels.items()))


class ToolCallSpan(_Activity):
    """A tool call: `execute_tool {tool}`. Made by `TurnSpan.tool`."""

    name: str

    def _count(self, outcome: str, error: dict[str, str], seconds: float) -> None:
        super()._count(outcome, error, seconds)
        labels = (("gen_ai.tool.name", self.name), ("serai.outcome", outcome))
        self._activities.metrics.tool_calls.add(1, labels)


class DeliverySpan(_Activity):
    """An attempt to deliver a message: `deliver`. Made by `Activities.delivery`."""

    def _count(self, outcome: str, error: dict[str, str], seconds: float) -> None:  # noqa: ARG002 - as the others
        labels = {**self._labels, "serai.delivery.status": outcome, **error}
        self._activities.metrics.deliveries.add(1, tuple(labels.items()))


def _whole(tokens: float | None) -> int | None:
    return None if tokens is None else int(tokens)
