"""The host's telemetry: what is measured, and what happens in each session, as spans."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, ClassVar

from serai import jsonrpc
from serai.ahp import actions as a, codec
from serai.ahp.notifications import OtlpExportParams
from serai.ahp.types import SessionSummary
from serai.contract import DeliveryMode, DeliveryReason, MessageReceipt, ReceiptStatus
from serai.journal.journal import Journal, Measured
from serai.journal.subscriptions import Subscriber
from serai.telemetry.activities import Activities, DeliverySpan, ToolCallSpan, TurnSpan
from serai.telemetry.otlp import METHODS, TelemetryChannel
from serai.telemetry.telemetry import Telemetry

_log = logging.getLogger(__name__)

_BATCHES_UNCOUNTED = 100


class HostTelemetry(Telemetry):
    """The telemetry of one host, on channels that have no state."""

    def __init__(
        self,
        journal: Journal,
        frame: Callable[[bytes], bytes],
        redact: Callable[[str], str],
        *,
        sessions: Callable[[], int],
        active_turns: Callable[[], int],
        connections: Callable[[], int],
    ) -> None:
        super().__init__(redact, time.time_ns, self._export)
        self._subscriptions = journal.subscriptions
        self._frame = frame
        self.metrics.sessions.read_from(sessions)
        self.metrics.active_turns.read_from(active_turns)
        self.metrics.connections.read_from(connections)
        self._batches: list[Measured] = []
        self.metrics.catch_up = self._count_batches
        journal.measured = self._measured

    def subscribe(self, uri: str, subscriber: Subscriber) -> bool:
        """Let someone follow a channel. Returns whether there is such a channel."""
        if is_there := self.follow(uri):
            self._subscriptions.add(uri, subscriber)
        return is_there

    def _export(self, channel: TelemetryChannel, payload: dict[str, Any]) -> None:
        """Bring telemetry to those who follow it. Nothing else depends on it, so it waits for nothing."""
        uri = channel.uri
        params = OtlpExportParams(channel=uri, payload=payload)
        message = codec.encode(jsonrpc.Notification(method=METHODS[channel.signal], params=params))
        self._subscriptions.deliver([(uri, self._frame(message))])

    def _measured(self, batch: Measured) -> None:
        # Counting takes a while, and whoever follows a stream waits for it: it is done for many at once.
        self._batches.append(batch)
        if len(self._batches) >= _BATCHES_UNCOUNTED:
            self._count_batches()

    def _count_batches(self) -> None:
        batches, self._batches = self._batches, []
        metrics = self.metrics
        for batch in batches:
            metrics.actions.add(batch.items)
            metrics.bytes_written.add(batch.size)
            metrics.commit_time.record(batch.commit_seconds)
            metrics.publish_time.record(batch.publish_seconds)


class SessionTelemetry:
    """Makes spans of one session's turns, tool calls and deliveries."""

    def __init__(self, activities: Activities, session: str, summary: SessionSummary) -> None:
        self._activities = activities
        self._session = session
        self._summary = summary
        self.turn: TurnSpan | None = None
        """The turn that runs."""
        self._calls: dict[str, ToolCallSpan] = {}
        self._deliveries: dict[str, DeliverySpan] = {}
        self._begun_by: DeliverySpan | None = None

    def happened(self, action: a.StateAction) -> None:
        """An action was applied."""
        observe = self._OBSERVED.get(type(action))
        if observe is None:
            return
        try:
            observe(self, action)
        except Exception:  # noqa: BLE001 - telemetry must not keep anything from happening
            _log.exception("%s was not observed", type(action).__name__)

    def _turn_started(self, action: a.SessionTurnStartedAction) -> None:
        summary = self._summary
        self.turn = self._activities.turn(
            summary.provider,
            self._session,
            turn_id=action.turn_id,
            provider=summary.provider,
            model=summary.model.id if summary.model else None,
            prompt=action.user_message.text,
            parent=self._begun_by,
        )

    def _used(self, action: a.SessionUsageAction) -> None:
        if self.turn is not None:
            usage = action.usage
            self.turn.used(
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cache_read_tokens=usage.cache_read_tokens,
                model=usage.model,
            )

    def _call_started(self, action: a.SessionToolCallStartAction) -> None:
        if self.turn is not None:
            self._calls[action.tool_call_id] = self.turn.tool(action.tool_name, action.tool_call_id)

    def _call_confirmed(self, action: a.SessionToolCallConfirmedAction) -> None:
        if not action.approved and (call := self._calls.pop(action.tool_call_id, None)):
            call.end("cancelled")

    def _call_completed(self, action: a.SessionToolCallCompleteAction) -> None:
        call = self._calls.pop(action.tool_call_id, None)
        if call is None:
            return
        error = action.result.error
        if action.result.success:
            call.end("completed")
        else:
            code = error.code if error and error.code else "tool_error"
            call.end("failed", code, error.message if error else None)

    def _turn_ended(self, action: a.StateAction) -> None:
        for call in self._calls.values():
            call.end("cancelled")
        self._calls.clear()
        turn, self.turn = self.turn, None
        if turn is None:
            return
        if isinstance(action, a.SessionErrorAction):
            turn.end("failed", action.error.error_type, action.error.message)
        else:
            is_complete = isinstance(action, a.SessionTurnCompleteAction)
            turn.end("completed" if is_complete else "cancelled")

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
        """A message wants in."""
        self._deliveries[delivery_id] = self._activities.delivery(
            delivery_id,
            agent=self._summary.provider,
            conversation=self._session,
            mode=mode.value,
            reason=reason.value,
        )

    def begins(self, delivery_id: str) -> None:
        """The turn that starts next is begun by this delivery."""
        self._begun_by = self._deliveries.get(delivery_id)

    def receipt(self, delivery_id: str, receipt: MessageReceipt) -> None:
        """What became of a delivery so far."""
        is_open = receipt.status is ReceiptStatus.ACCEPTED
        if not is_open and (delivery := self._deliveries.pop(delivery_id, None)):
            failed = receipt.status is ReceiptStatus.FAILED
            delivery.end(receipt.status.value, "delivery_failed" if failed else None)
