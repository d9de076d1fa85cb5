"""What a host does, as telemetry: turns, tool calls and deliveries.

Each is a span, by the names of OpenTelemetry's GenAI conventions, and is counted when it ends. What was said
(prompts, answers, tool input and output, messages of errors) is content: it is left out unless it was asked
for with `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`, and then masked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

import msgspec

from serai.telemetry.metrics import Metrics
from serai.telemetry.records import Labels, Scalar, SpanKind
from serai.telemetry.tracing import Span, Tracer

__all__ = ["Activities", "Delivery", "ToolCall", "Turn", "wants_content"]

_CONTENT_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


def wants_content(environ: Mapping[str, str]) -> bool:
    """Whether content may stand in spans."""
    asked = environ.get(_CONTENT_VARIABLE, "").strip().lower()
    return asked in {"true", "span_only", "span_and_event"}


class Activities:
    """Where the host says what it begins.

    Args:
        tracer: Starts the spans.
        metrics: Counts what has ended.
        now_ns: The time, in nanoseconds since 1970.
        content: Whether content may stand in spans.
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
    ) -> Turn:
        """A turn begins. `parent` is the delivery that brought its message."""
        return Turn(self, agent, conversation, turn_id, provider, model, prompt, parent)

    def delivery(
        self,
        delivery_id: str,
        *,
        agent: str,
        conversation: str,
        mode: str,
        reason: str,
        parent: _Activity | None = None,
    ) -> Delivery:
        """A message is on its way into a session."""
        return Delivery(self, delivery_id, agent, conversation, mode, reason, parent)


class _Activity:
    """What all of them have: a span, and a time when it began."""

    __slots__ = ("_activities", "_ended", "_start_ns", "span")

    def __init__(
        self, activities: Activities, name: str, kind: SpanKind, parent: _Activity | None = None
    ) -> None:
        self._activities = activities
        self._ended = False
        self._start_ns = activities.now_ns()
        self.span: Span = activities.tracer.start(name, kind, parent.span if parent else None)

    @contextmanager
    def current(self) -> Generator[None]:
        """While this lasts, log records name it and what begins is part of it."""
        with self.span.current():
            yield

    def _content(self, attribute: str, text: str | None) -> None:
        if text is not None and self._activities.content:
            self.span.set({attribute: text})

    def _finish(self, outcome: str, error_type: str | None, message: str | None) -> float | None:
        """End the span. Returns how long it all took in seconds, and `None` when it had ended before."""
        if self._ended:
            return None
        self._ended = True
        span = self.span
        if span.recording:
            span.set({"serai.outcome": outcome})
            if error_type is not None:
                # an agent's words may quote what it was asked
                span.fail(error_type, message or "" if self._activities.content else "")
            span.end()
        return max(0, self._activities.now_ns() - self._start_ns) / 1e9


class _Ending(_Activity, ABC):
    """An operation of an agent: it completes, is cancelled, or fails."""

    __slots__ = ()

    def complete(self) -> None:
        """It went well."""
        self._end("completed", None, None)

    def cancel(self) -> None:
        """Someone stopped it, or did not allow it. That is no error."""
        self._end("cancelled", None, None)

    def fail(self, error_type: str, message: str | None = None) -> None:
        """It went wrong. `error_type` is a word out of few; the message is content."""
        self._end("failed", error_type, message)

    @abstractmethod
    def _end(self, outcome: str, error_type: str | None, message: str | None) -> None: ...


class Turn(_Ending):
    """A running turn: `invoke_agent {agent}`. Made by `Activities.turn`."""

    __slots__ = ("_agent", "_conversation", "_model", "_provider", "_tokens")

    def __init__(
        self,
        activities: Activities,
        agent: str,
        conversation: str,
        turn_id: str,
        provider: str,
        model: str | None,
        prompt: str | None,
        parent: _Activity | None,
    ) -> None:
        super().__init__(activities, f"invoke_agent {agent}", SpanKind.INTERNAL, parent)
        self._agent = agent
        self._conversation = conversation
        self._provider = provider
        self._model = model
        self._tokens: tuple[float | None, float | None] = (None, None)
        if self.span.recording:
            self.span.set(
                {
                    "gen_ai.operation.name": "invoke_agent",
                    "gen_ai.provider.name": provider,
                    "gen_ai.agent.name": agent,
                    "gen_ai.conversation.id": conversation,
                    "gen_ai.request.model": model,
                    "serai.turn.id": turn_id,
                }
            )
            self._messages("gen_ai.input.messages", "user", prompt)

    def tool(self, name: str, call_id: str, *, arguments: str | None = None) -> ToolCall:
        """The agent calls a tool."""
        return ToolCall(self._activities, self, name, call_id, arguments)

    def used(
        self,
        *,
        input_tokens: float | None = None,
        output_tokens: float | None = None,
        cache_read_tokens: float | None = None,
        model: str | None = None,
    ) -> None:
        """What the turn has used by now. The last word counts."""
        self._tokens = (input_tokens, output_tokens)
        self.span.set(
            {
                "gen_ai.usage.input_tokens": _whole(input_tokens),
                "gen_ai.usage.output_tokens": _whole(output_tokens),
                "gen_ai.usage.cache_read.input_tokens": _whole(cache_read_tokens),
                "gen_ai.response.model": model,
            }
        )

    def answered(self, text: str) -> None:
        """What the agent said. It is content."""
        self._messages("gen_ai.output.messages", "assistant", text)

    @property
    def labels(self) -> dict[str, Scalar]:
        """What its measurements are told apart by."""
        labels: dict[str, Scalar] = {"gen_ai.provider.name": self._provider}
        if self._model is not None:
            labels["gen_ai.request.model"] = self._model
        return labels

    @property
    def owner(self) -> dict[str, Scalar]:
        """Whose a tool call of this turn is."""
        return {"gen_ai.agent.name": self._agent, "gen_ai.conversation.id": self._conversation}

    def _messages(self, attribute: str, role: str, text: str | None) -> None:
        if text is None or not self._activities.content or not self.span.recording:
            return
        masked = self._activities.tracer.cleaner.text(text)  # while it is plain: JSON would hide a secret
        message = {"role": role, "parts": [{"type": "text", "content": masked}]}
        self.span.set({attribute: msgspec.json.encode([message]).decode()})

    def _end(self, outcome: str, error_type: str | None, message: str | None) -> None:
        seconds = self._finish(outcome, error_type, message)
        if seconds is None:
            return
        metrics = self._activities.metrics
        labels = {"gen_ai.operation.name": "invoke_agent", **self.labels}
        for kind, tokens in zip(("input", "output"), self._tokens, strict=True):
            if tokens is not None:
                metrics.token_usage.record(tokens, _key(labels | {"gen_ai.token.type": kind}))
        if error_type is not None:
            labels["error.type"] = error_type
        metrics.operation_time.record(seconds, _key(labels))


class ToolCall(_Ending):
    """A tool call: `execute_tool {tool}`. Made by `Turn.tool`."""

    __slots__ = ("_name", "_turn")

    def __init__(
        self, activities: Activities, turn: Turn, name: str, call_id: str, arguments: str | None
    ) -> None:
        super().__init__(activities, f"execute_tool {name}", SpanKind.INTERNAL, turn)
        self._name = name
        self._turn = turn
        if self.span.recording:
            self.span.set(
                {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": name,
                    "gen_ai.tool.call.id": call_id,
                    **turn.owner,
                }
            )
            self._content("gen_ai.tool.call.arguments", arguments)

    def returned(self, text: str) -> None:
        """What came of it. It is content."""
        self._content("gen_ai.tool.call.result", text)

    def _end(self, outcome: str, error_type: str | None, message: str | None) -> None:
        seconds = self._finish(outcome, error_type, message)
        if seconds is None:
            return
        metrics = self._activities.metrics
        metrics.tool_calls.add(1, (("gen_ai.tool.name", self._name), ("serai.outcome", outcome)))
        labels = {"gen_ai.operation.name": "execute_tool", **self._turn.labels}
        if error_type is not None:
            labels["error.type"] = error_type
        metrics.operation_time.record(seconds, _key(labels))


class Delivery(_Activity):
    """An attempt to deliver a message: `deliver`. Made by `Activities.delivery`."""

    __slots__ = ("_mode",)

    def __init__(
        self,
        activities: Activities,
        delivery_id: str,
        agent: str,
        conversation: str,
        mode: str,
        reason: str,
        parent: _Activity | None,
    ) -> None:
        super().__init__(activities, "deliver", SpanKind.CONSUMER, parent)
        self._mode = mode
        self.span.set(
            {
                "serai.delivery.id": delivery_id,
                "serai.delivery.mode": mode,
                "serai.delivery.reason": reason,
                "gen_ai.agent.name": agent,
                "gen_ai.conversation.id": conversation,
            }
        )

    def accepted(self) -> None:
        """Someone holds the message for its boundary. The delivery goes on."""
        self.span.event("accepted")

    def settle(self, status: str, *, error_type: str | None = None, message: str | None = None) -> None:
        """The attempt ended with a receipt: delivered, deferred, or (with `error_type`) failed."""
        self.span.set({"serai.delivery.status": status})
        if self._finish(status, error_type, message) is None:
            return
        labels: Labels = (("serai.delivery.mode", self._mode), ("serai.delivery.status", status))
        if error_type is not None:
            labels += (("error.type", error_type),)
        self._activities.metrics.deliveries.add(1, labels)


def _key(labels: dict[str, Scalar]) -> Labels:
    return tuple(labels.items())


def _whole(tokens: float | None) -> int | None:
    return None if tokens is None else int(tokens)
