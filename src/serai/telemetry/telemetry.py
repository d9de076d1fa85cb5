"""Telemetry of a host: who follows what, and the one task that tells them.

    telemetry = Telemetry(redactor.redact, time.time_ns, emit)
    telemetry.start()
    telemetry.follow(channel)                        # someone subscribed to an `ahp-otlp:` channel
    turn = telemetry.activities.turn("demo", session, turn_id=turn_id, provider="demo")
    turn.complete()
    await telemetry.stop()

While nobody follows and no endpoint is set, there is no task, no handler on the logger and no span.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from threading import Lock
from typing import TypeAlias, TypeVar

from serai.ahp.types import URI
from serai.telemetry.activities import Activities, wants_content
from serai.telemetry.channels import Channel, Level, Signal, parse
from serai.telemetry.cleaning import Cleaner
from serai.telemetry.export import Exporter, metric_interval, plan_export
from serai.telemetry.logs import LogTap, unheard
from serai.telemetry.metrics import Metrics
from serai.telemetry.otlp import Json, logs_payload, metrics_payload, traces_payload
from serai.telemetry.records import LogRecord, SpanRecord
from serai.telemetry.resource import resource_attributes
from serai.telemetry.tracing import Tracer

__all__ = ["Emit", "Telemetry"]

_log = logging.getLogger(__name__)

Emit: TypeAlias = Callable[[Signal, Level | None, Json], None]
"""Brings a payload to those who follow a signal; logs come once for each level that is followed."""

_T = TypeVar("_T")

_BOUND = 4096
"""How many records of a signal may wait to be told."""
_PAYLOAD = 512
"""How many of them one payload has at most."""
_COMPLAINT_SECONDS = 10.0
"""How often the log says that telemetry is lost."""


class Telemetry:
    """What a host tells of itself.

    Args:
        mask: Takes secrets out of a text.
        now_ns: The time, in nanoseconds since 1970.
        emit: Gets the payloads, on the loop. What it raises is logged.
        environ: Where the `OTEL_*` variables are.
        batch_seconds: How long logs and spans wait for company.
        metrics_seconds: How often followers get metrics.
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
        self._resource = self._cleaner.attributes(resource_attributes(environ))
        self._logs: deque[LogRecord] = deque()
        self._spans: deque[SpanRecord] = deque()
        self._tap = LogTap(self._cleaner, now_ns, self._take_log, lambda: self._lose(Signal.LOGS, 1))
        self.metrics = Metrics(now_ns())
        self.tracer = Tracer(self._cleaner, now_ns, self._take_span)
        self.activities = Activities(self.tracer, self.metrics, now_ns, content=wants_content(environ))
        self._followers: Counter[Channel] = Counter()
        self._exporter: Exporter | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._woken = asyncio.Event()
        self._waking = False
        self._tapped: tuple[Level | None, bool] | None = None
        self._reading_due: dict[str, float] = {}
        self._lost: Counter[Signal] = Counter()
        self._losing = Lock()
        self._complained = float("-inf")

    # -- who wants what ------------------------------------------------------------------------------------

    def wanted(self, signal: Signal) -> bool:
        """Whether anyone follows a signal, or it is exported."""
        return self._is_followed(signal) or self._is_exported(signal)

    def follow(self, channel: URI) -> bool:
        """Someone subscribed to a channel. Returns whether there is one of that name."""
        found = parse(channel)
        if found is None:
            return False
        self._followers[found] += 1
        self._adjust()
        return True

    def unfollow(self, channel: URI) -> None:
        """Someone who followed a channel does not any more."""
        found = parse(channel)
        if found is None or self._followers[found] < 1:
            return
        self._followers[found] -= 1
        self._adjust()

    def start(self) -> None:
        """Begin, on the running loop; export begins too when the environment asks for it."""
        self._loop = asyncio.get_running_loop()
        plan = plan_export(self._environ)
        for problem in plan.problems:
            _log.warning("%s", problem)
        if plan.signals:
            self._exporter = Exporter(
                plan.signals, self._resource, self._environ, self._lose, self._export_failed
            )
        self._adjust()

    async def stop(self, timeout: float = 5.0) -> None:  # noqa: ASYNC109 - the thread needs to know it
        """Tell what waits, export it for at most `timeout` seconds, and end.

        Cancelling it leaves the export to its thread, which gives up after the same time.
        """
        if self._loop is None:
            return
        self._flush()
        exporter, self._exporter = self._exporter, None
        if exporter:
            exporter.put(Signal.METRICS, [self.metrics.read(self._now_ns(), self._cleaner)])
        self._followers.clear()
        task = self._task
        self._adjust()
        self._loop = None
        if task:
            await asyncio.wait({task})
        if exporter:
            await asyncio.to_thread(exporter.close, timeout)
        self._complain()

    def _is_followed(self, signal: Signal) -> bool:
        return any(count for channel, count in self._followers.items() if channel.signal is signal)

    def _is_exported(self, signal: Signal) -> bool:
        return self._exporter is not None and signal in self._exporter.signals

    def _adjust(self) -> None:
        """Let run what is wanted, and nothing else."""
        if self._loop is None:
            return
        self.tracer.recording = self.wanted(Signal.TRACES)
        if not self.tracer.recording:
            self._spans.clear()  # nothing is replayed
        self._adjust_tap()
        now = self._loop.time()
        if not self._is_followed(Signal.METRICS):
            self._reading_due.pop("follow", None)
        elif "follow" not in self._reading_due:  # the first reading soon, but after the subscription
            self._reading_due["follow"] = now + self._batch_seconds
            self._wake()
        if not self._is_exported(Signal.METRICS):
            self._reading_due.pop("export", None)
        else:
            self._reading_due.setdefault("export", now + metric_interval(self._environ))
        anything = any(map(self.wanted, Signal))
        if anything and self._task is None:
            self._task = self._loop.create_task(self._run(), name="telemetry")
        elif not anything and self._task is not None:
            self._task.cancel()
            self._task = None

    def _adjust_tap(self) -> None:
        levels = [channel.level for channel, count in self._followers.items() if count and channel.level]
        finest = min(levels, key=lambda level: level.severity, default=None)
        wish = (finest, self._is_exported(Signal.LOGS)) if self.wanted(Signal.LOGS) else None
        if wish == self._tapped:
            return
        self._tapped = wish
        if wish is None:
            self._tap.close()
            self._logs.clear()  # nothing is replayed
        else:
            self._tap.open(finest, own=wish[1])

    def _export_failed(self) -> None:
        """The SDK is not there: on the exporter's thread."""
        if self._loop:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._adjust)

    # -- what comes in, on any thread ----------------------------------------------------------------------

    def _take_log(self, record: LogRecord) -> None:
        self._take(Signal.LOGS, self._logs, record)

    def _take_span(self, span: SpanRecord) -> None:
        self._take(Signal.TRACES, self._spans, span)

    def _take(self, signal: Signal, waiting: deque[_T], record: _T) -> None:
        if len(waiting) >= _BOUND:
            self._lose(signal, 1)
            return
        waiting.append(record)
        self._wake()

    def _lose(self, signal: Signal, count: int) -> None:
        self.metrics.dropped.add(count, (("serai.signal", signal.value),))
        with self._losing:
            self._lost[signal] += count
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
            due = min(self._reading_due.values(), default=None)
            with suppress(TimeoutError):
                async with asyncio.timeout_at(due):
                    await self._woken.wait()
            if self._woken.is_set():
                await asyncio.sleep(self._batch_seconds)
                self._flush()
                self._complain_now_and_then(loop.time())
            self._read_metrics(loop.time())

    def _flush(self) -> None:
        """Tell what waits."""
        self._woken.clear()
        self._waking = False
        for records in _pieces(self._logs):
            for channel in self._followed(Signal.LOGS):
                level = channel.level
                admitted = [each for each in records if level and level.admits(each.severity)]
                if admitted:
                    self._tell(channel, logs_payload(self._resource, admitted))
            if self._exporter and self._is_exported(Signal.LOGS):
                own = self._tap.own
                self._exporter.put(Signal.LOGS, [each for each in records if own.admits(each.severity)])
        for spans in _pieces(self._spans):
            for channel in self._followed(Signal.TRACES):
                self._tell(channel, traces_payload(self._resource, spans))
            if self._exporter:
                self._exporter.put(Signal.TRACES, spans)

    def _read_metrics(self, now: float) -> None:
        due = {who for who, time in self._reading_due.items() if time <= now}
        if not due:
            return
        reading = self.metrics.read(self._now_ns(), self._cleaner)
        if "follow" in due:
            self._reading_due["follow"] = now + self._metrics_seconds
            for channel in self._followed(Signal.METRICS):
                self._tell(channel, metrics_payload(self._resource, reading))
        if "export" in due and self._exporter:
            self._reading_due["export"] = now + metric_interval(self._environ)
            self._exporter.put(Signal.METRICS, [reading])

    def _followed(self, signal: Signal) -> list[Channel]:
        return [channel for channel, count in self._followers.items() if count and channel.signal is signal]

    def _tell(self, channel: Channel, payload: Json) -> None:
        with unheard():
            try:
                self._emit(channel.signal, channel.level, payload)
            except Exception:  # noqa: BLE001 - it is the host's, and the others still want theirs
                _log.exception("telemetry could not be brought to those who follow %s", channel.uri)

    def _complain_now_and_then(self, now: float) -> None:
        if self._lost and now >= self._complained + _COMPLAINT_SECONDS:
            self._complained = now
            self._complain()

    def _complain(self) -> None:
        """Say in the log what was lost."""
        with self._losing:
            lost, self._lost = self._lost, Counter()
        for signal, count in lost.items():
            _log.warning(
                "%d records of telemetry (%s) were lost: there was too much, or no way out", count, signal
            )


def _pieces(waiting: deque[_T]) -> Iterator[list[_T]]:
    """Take what waits now, in pieces of a payload's size. What comes meanwhile is for the next time."""
    left = len(waiting)
    while left:
        piece = [waiting.popleft() for _ in range(min(left, _PAYLOAD))]
        left -= len(piece)
        yield piece
