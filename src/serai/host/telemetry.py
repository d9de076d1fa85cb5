"""The host's telemetry: what is measured, and how it reaches those who follow its channels."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from serai import jsonrpc
from serai.ahp import codec
from serai.ahp.notifications import OtlpExportParams
from serai.journal.journal import Measured
from serai.journal.subscriptions import Subscriber
from serai.telemetry.channels import METHODS, TelemetryChannel, parse
from serai.telemetry.telemetry import Telemetry

if TYPE_CHECKING:
    from serai.host.host import Host

__all__ = ["HostTelemetry"]


_BATCHES_UNCOUNTED = 100


class HostTelemetry(Telemetry):
    """The telemetry of one host, on channels that have no state."""

    def __init__(self, host: Host, frame: Callable[[bytes], bytes]) -> None:
        super().__init__(host.redactor.redact, time.time_ns, self._export)
        self._subscriptions = host.journal.subscriptions
        self._frame = frame
        self.metrics.sessions.read_from(host.sessions.count)
        self.metrics.active_turns.read_from(lambda: host.root.live.head.active_sessions or 0)
        self.metrics.connections.read_from(host.clients.count)
        self._batches: list[Measured] = []
        self.metrics.catch_up = self._count_batches
        host.journal.measured = self._measured

    def subscribe(self, uri: str, subscriber: Subscriber) -> bool:
        """Let someone follow a channel. Returns whether there is such a channel."""
        if parse(uri) is None:
            return False
        if not self._subscriptions.is_followed(uri):
            self.follow(uri)
        self._subscriptions.add(uri, subscriber)
        return True

    def left(self, uri: str) -> None:
        """Nobody follows a channel any more; it may be one of another kind."""
        if parse(uri) is not None:
            self.unfollow(uri)

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
