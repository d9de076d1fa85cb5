"""The host's telemetry: measurements, and spans of the events in each session."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, ClassVar

import msgspec

from serai import jsonrpc
from serai.ahp import actions as a, codec
from serai.ahp.notifications import OtlpExportParams
from serai.ahp.types import SessionSummary, UsageInfo
from serai.contract import DeliveryMode, DeliveryReason, MessageReceipt, ReceiptStatus
from serai.journal.journal import Journal, Measured
from serai.journal.subscriptions import Subscriber
from serai.telemetry.otlp import METHODS, TelemetryChannel, parse
from serai.telemetry.spans import CONSUMER, Span
from serai.telemetry.telemetry import Telemetry

_log = logging.getLogger(__name__)


class HostTelemetry(Telemetry):
    """The telemetry of one host, on channels that have no state."""

    def __init__(
        self, journal: Journal, frame: Callable[[bytes], bytes], redact: Callable[[str], str]
    ) -> None:
        super().__init__(redact, time.time_ns, self._export)
        self._subscriptions = journal.subscriptions
        self._frame = frame
        journal.measured = self._measured

    def subscribe(self, uri: str, subscriber: Subscriber) -> None:
        """Let a subscriber follow a channel, if it is one of telemetry."""
        if parse(uri) is not None:
            self.follow(uri)
            self._subscriptions.add(uri, subscriber)

    def _export(self, channel: TelemetryChannel, payload: dict[str, Any]) -> None:
        """Deliver telemetry to its followers. Nothing depends on it, so it waits for nothing."""
        uri = channel.uri
        params = OtlpExportParams(channel=uri, payload=payload)
        message = codec.encode(jsonrpc.Notification(method=METHODS[channel.signal], params=params))
        self._subscriptions.deliver([(uri, self._frame(message))])

    def _measured(self, batch: Measured) -> None:
        metrics = self.metrics
        metrics.actions.add(batch.items)
        metrics.bytes_written.add(batch.size)
        metrics.commit_time.record(batch.commit_seconds)
        metrics.publish_time.record(batch.publish_seconds)


class SessionTelemetry:
    """Makes spans of one session's turns, tool calls and deliveries, and counts them when they end.

    The names are those of OpenTelemetry's GenAI conventions.
    """

    def __init__(self, telemetry: Telemetry, session: str, summary: SessionSummary) -> None:
        self._spans, self._metrics = telemetry.spans, telemetry.metrics
        self._summary = summary
        self._owner = {"gen_ai.agent.name": summary.provider, "gen_ai.conversation.id": session}
        self.turn: Span | None = None
        """The span of the running turn."""
        self._labels: dict[str, str] = {}  # what tells measurements of this turn from those of others
        self._usage: UsageInfo | None = None  # the last word on it counts
        self._calls: dict[str, tuple[str, Span]] = {}
        self._deliveries: dict[str, tuple[str, Span]] = {}
        self._begun_by: Span | None = None

    def happened(self, action: a.StateAction) -> None:
        """Observe an action that was applied."""
        observe = self._OBSERVED.get(type(action))
        if observe is None:
            return
        try:
            observe(self, action)
        except Exception:  # noqa: BLE001 - telemetry must not keep anything from happening
            _log.exception("%s was not observed", type(action).__name__)

    def _turn_started(self, action: a.SessionTurnStartedAction) -> None:
        agent, model = self._summary.provider, self._summary.model
        self._labels = {"gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": agent}
        self._labels |= {"gen_ai.request.model": model.id} if model else {}
        self._usage = None
        known = {**self._labels, **self._owner, "serai.turn.id": action.turn_id}
        self.turn = Span(self._spans, f"invoke_agent {agent}", known, parent=self._begun_by)
        if self._spans.content and self._spans.recording:
            masked = self._spans.cleaner.text(action.user_message.text)  # JSON would hide a secret
            message = {"role": "user", "parts": [{"type": "text", "content": masked}]}
            self.turn.set({"gen_ai.input.messages": msgspec.json.encode([message]).decode()})

    def _used(self, action: a.SessionUsageAction) -> None:
        if self.turn is not None:
            self._usage = usage = action.usage
            self.turn.set(
                {
                    "gen_ai.usage.input_tokens": _whole(usage.input_tokens),
                    "gen_ai.usage.output_tokens": _whole(usage.output_tokens),
                    "gen_ai.usage.cache_read.input_tokens": _whole(usage.cache_read_tokens),
                    "gen_ai.response.model": usage.model,
                }
            )

    def _call_started(self, action: a.SessionToolCallStartAction) -> None:
        if self.turn is not None:
            name, call_id = action.tool_name, action.tool_call_id
            known = {"gen_ai.operation.name": "execute_tool", **self._owner}
            known |= {"gen_ai.tool.name": name, "gen_ai.tool.call.id": call_id}
            span = Span(self._spans, f"execute_tool {name}", known, parent=self.turn)
            self._calls[call_id] = name, span

    def _call_confirmed(self, action: a.SessionToolCallConfirmedAction) -> None:
        if not action.approved:
            self._call_ended(action.tool_call_id, "cancelled")

    def _call_completed(self, action: a.SessionToolCallCompleteAction) -> None:
        error = action.result.error
        if action.result.success:
            self._call_ended(action.tool_call_id, "completed")
        else:
            code = error.code if error and error.code else "tool_error"
            self._call_ended(action.tool_call_id, "failed", code, error.message if error else None)

    def _call_ended(
        self, call_id: str, outcome: str, error_type: str | None = None, message: str | None = None
    ) -> None:
        name, span = self._calls.pop(call_id, ("", None))
        if span is not None:
            seconds = span.end(outcome, error_type, message)
            self._count({**self._labels, "gen_ai.operation.name": "execute_tool"}, error_type, seconds)
            self._metrics.tool_calls.add(1, (("gen_ai.tool.name", name), ("serai.outcome", outcome)))

    def _turn_ended(self, action: a.StateAction) -> None:
        for call_id in list(self._calls):
            self._call_ended(call_id, "cancelled")
        turn, self.turn = self.turn, None
        if turn is None:
            return
        error_type = message = None
        outcome = "completed" if isinstance(action, a.SessionTurnCompleteAction) else "cancelled"
        if isinstance(action, a.SessionErrorAction):
            outcome, error_type, message = "failed", action.error.error_type, action.error.message
        self._count(self._labels, error_type, turn.end(outcome, error_type, message))
        usage = self._usage or UsageInfo()
        for kind, tokens in (("input", usage.input_tokens), ("output", usage.output_tokens)):
            if tokens is not None:
                labels = self._labels | {"gen_ai.token.type": kind}
                self._metrics.token_usage.record(tokens, tuple(labels.items()))

    def _count(self, labels: dict[str, str], error_type: str | None, seconds: float) -> None:
        error = {"error.type": error_type} if error_type else {}
        self._metrics.operation_time.record(seconds, tuple((labels | error).items()))

    _OBSERVED: ClassVar[dict[type, Callable[[SessionTelemetry, Any], None]]] = {
        a.SessionTurnStartedAction: _turn_started,
        a.SessionUsageAction: _used,
        a.SessionToolCallStartAction: _call_started,
        a.SessionToolCallConfirmedAction: _call_confirmed,
        a.SessionToolCallCompleteAction: _call_completed,
        a.SessionTurnCompleteAction: _turn_ended,
        a.SessionTurnCancelledAction: _turn_ended,
        a.SessionTruncatedAction: _turn_ended,
        a.SessionErrorAction: _turn_ended,
    }

    def entered(self, delivery_id: str, mode: DeliveryMode, reason: DeliveryReason) -> None:
        """Begin the span of a delivery."""
        known: dict[str, str] = {}
        if self._spans.recording:  # there are many of them, and mostly nobody listens
            known = {"serai.delivery.mode": mode.value, "serai.delivery.id": delivery_id}
            known |= {"serai.delivery.reason": reason.value, **self._owner}
        self._deliveries[delivery_id] = mode.value, Span(self._spans, "deliver", known, kind=CONSUMER)

    def begins(self, delivery_id: str) -> None:
        """Note the delivery that begins the next turn."""
        _, self._begun_by = self._deliveries.get(delivery_id, ("", None))

    def receipt(self, delivery_id: str, receipt: MessageReceipt) -> None:
        """Note a receipt of a delivery."""
        if receipt.status is ReceiptStatus.ACCEPTED:
            return
        mode, span = self._deliveries.pop(delivery_id, ("", None))
        if span is not None:
            status = receipt.status.value
            failed = {"error.type": "delivery_failed"} if receipt.status is ReceiptStatus.FAILED else {}
            span.end(status, failed.get("error.type"))
            labels = {"serai.delivery.mode": mode, "serai.delivery.status": status, **failed}
            self._metrics.deliveries.add(1, tuple(labels.items()))


def _whole(tokens: float | None) -> int | None:
    return None if tokens is None else int(tokens)
