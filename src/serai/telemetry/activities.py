"""Turns, tool calls and deliveries as telemetry.

Each is a span, by the names of OpenTelemetry's GenAI conventions, and is counted when it ends. What was said
(prompts, messages of errors) is left out unless `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` asks for
it, and then masked. A span that begins while nobody listens is counted, and not told.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec

from serai.telemetry.metrics import Metrics
from serai.telemetry.otlp import SCOPE, Attributes, Cleaner, Json, Scalar, Scoped

INTERNAL = 1
"""OTLP's kind of a span that is a step of our own work."""
CONSUMER = 5
"""OTLP's kind of a span that handles a message."""

_ERROR = 2
_SAMPLED_LOCAL_PARENT = 0x101

_current: ContextVar[Span | None] = ContextVar("serai_span", default=None)


def current_span() -> Span | None:
    """The span that this piece of work is part of."""
    return _current.get()


def wants_content(environ: Mapping[str, str]) -> bool:
    """True when the environment asks for prompts and messages of errors in spans."""
    asked = environ.get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "").strip().lower()
    return asked in {"true", "span_only", "span_and_event"}


class Activities:
    """Starts the spans of what the host does, and hands them on when they have ended.

    Args:
        cleaner: Masks all text.
        metrics: Counts what has ended.
        now_ns: The time, in nanoseconds since 1970.
        sink: Gets the spans that have ended.
        content: Whether prompts and messages of errors may stand in spans.
    """

    def __init__(
        self,
        cleaner: Cleaner,
        metrics: Metrics,
        now_ns: Callable[[], int],
        sink: Callable[[Scoped], None],
        *,
        content: bool,
    ) -> None:
        self.cleaner = cleaner
        self.metrics = metrics
        self.now_ns = now_ns
        self.sink = sink
        self.content = content
        self.recording = False
        """True while somebody listens."""

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
        turn.set({**labels, **turn.owner, "serai.turn.id": turn_id})
        if prompt is not None and self.content and self.recording:
            masked = self.cleaner.text(prompt)  # while it is plain: JSON would hide a secret
            message = {"role": "user", "parts": [{"type": "text", "content": masked}]}
            turn.set({"gen_ai.input.messages": msgspec.json.encode([message]).decode()})
        return turn

    def delivery(
        self, delivery_id: str, *, agent: str, conversation: str, mode: str, reason: str
    ) -> DeliverySpan:
        """Begin an attempt to deliver a message to a session."""
        labels = {"serai.delivery.mode": mode}
        delivery = DeliverySpan(self, "deliver", CONSUMER, labels)
        if delivery.span_id:  # there are many of them, and mostly nobody listens
            delivery.set(
                {
                    **labels,
                    "serai.delivery.id": delivery_id,
                    "serai.delivery.reason": reason,
                    "gen_ai.agent.name": agent,
                    "gen_ai.conversation.id": conversation,
                }
            )
        return delivery


class Span:
    """Something that takes time, counted and told when it has ended. Labels tell measurements apart."""

    def __init__(
        self,
        activities: Activities,
        name: str,
        kind: int,
        labels: dict[str, str],
        parent: Span | None = None,
    ) -> None:
        self._activities = activities
        self._name = name
        self._kind = kind
        self._labels = labels
        self._attributes: dict[str, Scalar | None] = {}
        self._ended = False
        self._start_ns = activities.now_ns()
        self.trace_id = self.span_id = self.parent_id = ""  # as long as nobody listens
        if activities.recording:
            parent = parent or _current.get()
            self.parent_id = parent.span_id if parent else ""
            self.trace_id = parent.trace_id if parent and self.parent_id else os.urandom(16).hex()
            self.span_id = os.urandom(8).hex()

    def set(self, attributes: Attributes) -> None:
        """Set attributes. One that is `None` is left out."""
        if self.span_id:
            self._attributes |= {name: value for name, value in attributes.items() if value is not None}

    @contextmanager
    def current(self) -> Generator[None]:
        """While this lasts, log records name the span, and what begins is part of it."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

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
        ended_ns = max(self._start_ns, self._activities.now_ns())
        error = {"error.type": error_type} if error_type else {}
        self.set({"serai.outcome": outcome, **error})
        if self.span_id and self._activities.recording:
            said = message if error and self._activities.content else None
            self._activities.sink((SCOPE, self._record(ended_ns, said, has_failed=bool(error))))
        self._count(outcome, error, (ended_ns - self._start_ns) / 1e9)

    def _record(self, ended_ns: int, message: str | None, *, has_failed: bool) -> Json:
        cleaner = self._activities.cleaner
        said = {"message": cleaner.text(message)} if message else {}
        return {
            "traceId": self.trace_id,
            "spanId": self.span_id,
            **({"parentSpanId": self.parent_id} if self.parent_id else {}),
            "flags": _SAMPLED_LOCAL_PARENT,
            "name": cleaner.text(self._name),
            "kind": self._kind,
            "startTimeUnixNano": str(self._start_ns),
            "endTimeUnixNano": str(ended_ns),
            "attributes": cleaner.attributes(self._attributes),
            "status": {"code": _ERROR, **said} if has_failed else {},
        }

    def _count(self, outcome: str, error: dict[str, str], seconds: float) -> None:  # noqa: ARG002 - for others
        self._activities.metrics.operation_time.record(seconds, tuple((self._labels | error).items()))


class TurnSpan(Span):
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
        call.set({**operation, **self.owner, "gen_ai.tool.name": name, "gen_ai.tool.call.id": call_id})
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
        self.set(
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


class ToolCallSpan(Span):
    """A tool call: `execute_tool {tool}`. Made by `TurnSpan.tool`."""

    name: str

    def _count(self, outcome: str, error: dict[str, str], seconds: float) -> None:
        super()._count(outcome, error, seconds)
        labels = (("gen_ai.tool.name", self.name), ("serai.outcome", outcome))
        self._activities.metrics.tool_calls.add(1, labels)


class DeliverySpan(Span):
    """An attempt to deliver a message: `deliver`. Made by `Activities.delivery`."""

    def _count(self, outcome: str, error: dict[str, str], seconds: float) -> None:  # noqa: ARG002 - as the others
        labels = {**self._labels, "serai.delivery.status": outcome, **error}
        self._activities.metrics.deliveries.add(1, tuple(labels.items()))


def _whole(tokens: float | None) -> int | None:
    return None if tokens is None else int(tokens)
