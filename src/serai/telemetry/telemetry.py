"""Telemetry of a host: its followers, and the task that sends records to them.

    telemetry = Telemetry(redactor.redact, time.time_ns, emit)
    telemetry.start()
    telemetry.follow(channel)                        # someone subscribed to an `ahp-otlp:` channel
    step = Span(telemetry.spans, "a step", {})
    step.end("completed")
    await telemetry.stop()

While nobody follows and no endpoint is set, there is no task, no handler on the logger and no span.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TypeAlias

from serai.ahp.types import URI
from serai.telemetry.export import Poster, targets
from serai.telemetry.logs import LogTap, unheard
from serai.telemetry.metrics import Metrics
from serai.telemetry.otlp import (
    Cleaner,
    Json,
    Scoped,
    Signal,
    TelemetryChannel,
    parse,
    payload,
    resource_of,
)
from serai.telemetry.spans import Spans, wants_content

_log = logging.getLogger(__name__)

Emit: TypeAlias = Callable[[TelemetryChannel, Json], None]
"""Sends a payload to the followers of a channel."""

_WAITING = 4096
"""Most records of a signal that wait to be sent."""
_PAYLOAD = 512
"""Most records in one payload."""
_COMPLAINT_SECONDS = 10.0
"""Shortest time between two log lines about lost telemetry, in seconds."""


class Telemetry:
    """Collects the telemetry of a host, and sends it to followers and to a collector.

    Args:
        mask: Masks secrets in a text.
        now_ns: Returns the time, in nanoseconds since 1970.
        emit: Receives the payloads, on the loop. Its errors are logged.
        environ: The environment with the `OTEL_*` variables.
        batch_seconds: Time that logs and spans wait for others, in seconds.
        metrics_seconds: Time between two readings of metrics, in seconds.
    """

    def __init__(
        self,
        mask: Callable[[str], str],
        now_ns: Callable[[], int],
        emit: Emit,
        *,
        environ: Mapping[str, str] = os.environ,
        batch_seconds: float = 0.2,
        metrics_seconds: float = 10.0,
    ) -> None:
        self._now_ns = now_ns
        self._emit = emit
        self._environ = environ
        self._batch_seconds = batch_seconds
        self._metrics_seconds = metrics_seconds
        self._cleaner = Cleaner(mask)
        self._resource = self._cleaner.attributes(resource_of(environ))
        self._waiting: dict[Signal, deque[Scoped]] = {Signal.LOGS: deque(), Signal.TRACES: deque()}
        self._tap = LogTap(
            self._cleaner,
            now_ns,
            lambda record: self._receive(Signal.LOGS, record),
            lambda: self._lose(Signal.LOGS, 1),
        )
        self.metrics = Metrics(now_ns())
        self.spans = Spans(
            self._cleaner,
            now_ns,
            lambda span: self._receive(Signal.TRACES, span),
            content=wants_content(environ),
        )
        self._followed: set[TelemetryChannel] = set()
        self._exported: set[TelemetryChannel] = set()
        self._poster: Poster | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._woken = asyncio.Event()
        self._waking = False
        self._reading_due: float | None = None
        self._lost_logged = 0
        self._complained = float("-inf")

    # -- who wants what ------------------------------------------------------------------------------------

    def wanted(self, signal: Signal) -> bool:
        """Tell whether anyone follows a signal, or it is exported."""
        return any(self._channels(signal))

    def follow(self, channel: URI) -> None:
        """Add a follower of a channel."""
        if (found := parse(channel)) is not None:
            self._followed.add(found)
            self._adjust()

    def unfollow(self, channel: URI) -> None:
        """Remove the last follower of a channel; it may be one of another kind."""
        if (found := parse(channel)) is not None:
            self._followed.discard(found)
            self._adjust()

    def start(self) -> None:
        """Start on the running loop; also start the export if the environment asks for it."""
        self._loop = asyncio.get_running_loop()
        if found := targets(self._environ):
            self._poster = Poster(found, self._lose)
            own = {Signal.LOGS: self._tap.own_level()}  # finer records are for those who follow them
            self._exported = {TelemetryChannel(signal, own.get(signal)) for signal in found}
        self._adjust()

    async def stop(self, timeout: float = 5.0) -> None:  # noqa: ASYNC109 - what waits is then given up
        """Send what waits, export it for at most `timeout` seconds, and stop."""
        if self._loop is None:
            return
        self._flush()
        if self._poster:
            self._send(Signal.METRICS, self.metrics.read(self._now_ns(), self._cleaner))
        self._followed.clear()
        self._exported.clear()
        poster, self._poster = self._poster, None
        task = self._task
        self._adjust()
        self._loop = None
        if task:
            await asyncio.wait({task})
        if poster:
            await poster.close(timeout)
        self._complain()

    def _channels(self, signal: Signal) -> Iterator[TelemetryChannel]:
        """Return the channels of a signal that are followed or exported."""
        return (channel for channel in self._followed | self._exported if channel.signal is signal)

    def _adjust(self) -> None:
        """Start what is wanted, and stop the rest."""
        if self._loop is None:
            return
        self.spans.recording = self.wanted(Signal.TRACES)
        levels = [channel.level for channel in self._channels(Signal.LOGS) if channel.level]
        self._tap.listen(min(levels, key=lambda level: level.severity, default=None))
        for signal, waiting in self._waiting.items():
            if not self.wanted(signal):
                waiting.clear()  # nothing is replayed
        if not self.wanted(Signal.METRICS):
            self._reading_due = None
        elif self._reading_due is None:  # the first reading soon, but after the subscription
            self._reading_due = self._loop.time() + self._batch_seconds
            self._wake()
        anything = any(map(self.wanted, Signal))
        if anything and self._task is None:
            self._task = self._loop.create_task(self._run(), name="telemetry")
        elif not anything and self._task is not None:
            self._task.cancel()
            self._task = None

    # -- what comes in, on any thread ----------------------------------------------------------------------

    def _receive(self, signal: Signal, record: Scoped) -> None:
        waiting = self._waiting[signal]
        if len(waiting) >= _WAITING:
            self._lose(signal, 1)
            return
        waiting.append(record)
        self._wake()

    def _lose(self, signal: Signal, count: int) -> None:
        self.metrics.dropped.add(count, (("serai.signal", signal.value),))
        self._wake()

    def _wake(self) -> None:
        loop = self._loop
        if loop is None or self._waking:
            return
        self._waking = True
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(self._woken.set)

    # -- the task ------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(self._reading_due):
                    await self._woken.wait()
            if self._woken.is_set():
                await asyncio.sleep(self._batch_seconds)
                self._flush()
            now = loop.time()
            if now >= self._complained + _COMPLAINT_SECONDS and self._complain():
                self._complained = now
            if self._reading_due is not None and self._reading_due <= now:
                self._reading_due = now + self._metrics_seconds
                self._send(Signal.METRICS, self.metrics.read(self._now_ns(), self._cleaner))

    def _flush(self) -> None:
        """Send the logs and spans that wait now, in payloads of bounded size."""
        self._woken.clear()
        self._waking = False
        for signal, waiting in self._waiting.items():
            left = len(waiting)
            while left:
                piece = [waiting.popleft() for _ in range(min(left, _PAYLOAD))]
                left -= len(piece)
                self._send(signal, piece)

    def _send(self, signal: Signal, records: list[Scoped]) -> None:
        """Send records to the channels of their signal, to the followers and to the collector."""
        for channel in self._channels(signal):
            lowest = channel.level.severity if channel.level else 0
            admitted = [each for each in records if each[1].get("severityNumber", lowest) >= lowest]
            if not admitted:
                continue
            made = payload(signal, self._resource, admitted)
            if self._poster and channel in self._exported:
                self._poster.put(signal, made, len(admitted))
            if channel in self._followed:
                with unheard():
                    try:
                        self._emit(channel, made)
                    except Exception:  # noqa: BLE001 - it is the host's, and the others still want theirs
                        _log.exception("telemetry could not be brought to those who follow %s", channel.uri)

    def _complain(self) -> bool:
        """Log the number of records that were lost since the last time. Returns whether there were any."""
        lost = self.metrics.dropped.value() - self._lost_logged
        if lost:
            self._lost_logged += lost
            _log.warning("%d records of telemetry were lost: there was too much, or no way out", lost)
        return bool(lost)
