"""Export to an OTLP endpoint, as the standard `OTEL_*` variables say, on a thread of its own.

The thread loads OpenTelemetry's SDK (the extra `otel`), keeps bounded queues, and never makes the loop wait.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import Any, NamedTuple, Protocol

from serai.telemetry.channels import Signal
from serai.telemetry.logs import unheard
from serai.telemetry.records import Attributes

__all__ = ["Exporter", "Plan", "metric_interval", "plan_export"]

_log = logging.getLogger(__name__)

_JSON = "http/json"
_NO_ANSWER = 1.0
"""So long an endpoint is waited for at the end that did not take the last batch, or never took one."""
_CLOSE_GRACE = 0.5
"""How long the thread may take to see that it has to give up."""


class Plan(NamedTuple):
    """What is to be exported, and what of it cannot be."""

    signals: frozenset[Signal]
    problems: tuple[str, ...] = ()


def plan_export(environ: Mapping[str, str]) -> Plan:
    """What the variables ask for.

    A signal is exported when there is an endpoint for it or for all, or when `OTEL_<SIGNAL>_EXPORTER` says
    `otlp`; not when that says `none`, and nothing is when `OTEL_SDK_DISABLED` is `true`.
    """
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return Plan(frozenset())
    signals: set[Signal] = set()
    problems: list[str] = []
    for signal in Signal:
        if not _is_asked_for(signal, environ, problems):
            continue
        protocol = _setting("PROTOCOL", signal, environ) or "http/protobuf"
        if protocol in {"http/protobuf", _JSON}:
            signals.add(signal)
        else:
            problems.append(
                f"{signal} are not exported, since OTLP over {protocol!r} is not supported. "
                "Set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf or http/json, and an endpoint that speaks it"
            )
    return Plan(frozenset(signals), tuple(problems))


def _is_asked_for(signal: Signal, environ: Mapping[str, str], problems: list[str]) -> bool:
    variable = f"OTEL_{signal.upper()}_EXPORTER"
    names = [name.strip() for name in environ.get(variable, "").split(",") if name.strip()]
    if not names:
        return _setting("ENDPOINT", signal, environ) is not None
    others = [name for name in names if name not in {"none", "otlp", "otlp_proto_http"}]
    if others:
        problems.append(f"{variable} names {', '.join(others)}: only 'otlp' and 'none' are supported")
    return "none" not in names and len(others) < len(names)


def _setting(name: str, signal: Signal, environ: Mapping[str, str]) -> str | None:
    """A setting of a signal, else that of all; what is empty is not set."""
    for variable in (f"OTEL_EXPORTER_OTLP_{signal.upper()}_{name}", f"OTEL_EXPORTER_OTLP_{name}"):
        if value := environ.get(variable, "").strip():
            return value
    return None


def metric_interval(environ: Mapping[str, str]) -> float:
    """How often metrics are exported, in seconds."""
    return _positive(environ, "OTEL_METRIC_EXPORT_INTERVAL", 60_000) / 1000


def _positive(environ: Mapping[str, str], variable: str, default: int) -> int:
    value = environ.get(variable, "").strip()
    if value.isascii() and value.isdigit() and int(value) > 0:
        return int(value)
    if value:
        _log.warning("%s is not a positive number, so it is %d", variable, default)
    return default


class _Out(Protocol):
    def send(self, batch: Sequence[Any], /) -> bool: ...
    def shutdown(self) -> None: ...


@dataclass(slots=True)
class _Lane:
    """What waits of one signal."""

    bound: int
    batch: int
    delay: float
    newest: bool = False
    """Whether a later record says all that the earlier ones said."""
    queue: deque[Any] = field(default_factory=deque[Any])
    due: float = 0.0
    out: _Out | None = None

    def wait(self, now: float, closing: bool) -> float | None:
        """How long until a batch should go; `None` when there is nothing to send."""
        if not self.queue:
            return None
        return 0.0 if closing or len(self.queue) >= self.batch else max(0.0, self.due - now)

    def put(self, records: Sequence[Any]) -> int:
        """Take what fits. Returns how many were lost."""
        if self.newest:
            self.queue.extend(records)
            while len(self.queue) > self.bound:
                self.queue.popleft()
            return 0
        fits = max(0, self.bound - len(self.queue))
        self.queue.extend(records[:fits])
        return max(0, len(records) - fits)

    def take(self, now: float) -> list[Any]:
        self.due = now + self.delay
        return [self.queue.popleft() for _ in range(min(self.batch, len(self.queue)))]


def _lanes(signals: frozenset[Signal], environ: Mapping[str, str]) -> dict[Signal, _Lane]:
    lanes: dict[Signal, _Lane] = {}
    for signal, prefix, delay in ((Signal.TRACES, "OTEL_BSP", 5000), (Signal.LOGS, "OTEL_BLRP", 1000)):
        if signal in signals:
            bound = _positive(environ, f"{prefix}_MAX_QUEUE_SIZE", 2048)
            batch = _positive(environ, f"{prefix}_MAX_EXPORT_BATCH_SIZE", 512)
            seconds = _positive(environ, f"{prefix}_SCHEDULE_DELAY", delay) / 1000
            lanes[signal] = _Lane(bound, min(batch, bound), seconds)
    if Signal.METRICS in signals:
        lanes[Signal.METRICS] = _Lane(bound=4, batch=4, delay=0.0, newest=True)
    return lanes


class Exporter:
    """Sends telemetry to an OTLP endpoint.

    Args:
        signals: What to export: see `plan_export`.
        resource: Who is telling.
        environ: Where the form (protobuf or JSON) and the bounds of the queues are set. The SDK reads the
            environment of the process.
        lost: Is told how many records of a signal were lost, on either thread.
        failed: Is told, on the thread, when nothing can be exported at all; `signals` is empty then.
    """

    def __init__(
        self,
        signals: frozenset[Signal],
        resource: Attributes,
        environ: Mapping[str, str],
        lost: Callable[[Signal, int], None],
        failed: Callable[[], None],
    ) -> None:
        self.signals: frozenset[Signal] = signals
        """What is exported."""
        self._resource = resource
        self._lost = lost
        self._failed = failed
        self._as_json = {signal for signal in signals if _setting("PROTOCOL", signal, environ) == _JSON}
        self._lanes = _lanes(signals, environ)
        self._changed = Condition()
        self._closing = False
        self._over = False
        self._answers = False
        """Whether the endpoint took the last batch."""
        self._quiet_since: float | None = None
        """Since when it is asked in vain; `None` while it answers, and before it is asked at all."""
        self._thread = Thread(target=self._run, name="serai-otlp", daemon=True)
        self._thread.start()

    def put(self, signal: Signal, records: Sequence[Any]) -> None:
        """Hand over records; for metrics, one reading. What is too much is lost, and told so.

        Of metrics the older readings give way: they count from the start, so the newest says it all.
        """
        with self._changed:
            if signal not in self.signals or self._closing:
                return
            lane = self._lanes[signal]
            if not lane.queue:
                lane.due = time.monotonic() + lane.delay
            lost = lane.put(records)
            self._changed.notify()
        if lost:
            self._lost(signal, lost)

    def close(self, timeout: float) -> bool:
        """Send what waits, for at most so many seconds, and end. Returns whether all was tried.

        An endpoint that does not answer is not waited for that long. This blocks: call it on a thread. What
        is left is lost, and told so.
        """
        began = time.monotonic()
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            while not self._over and (left := self._patience(began, timeout)) > 0:
                self._changed.wait(left)
            over = self._over
        if over:
            self._thread.join()
            return True
        with self._changed:
            left = {signal: len(lane.queue) for signal, lane in self._lanes.items() if lane.queue}
            for lane in self._lanes.values():
                lane.queue.clear()
            outs = [lane.out for lane in self._lanes.values() if lane.out]
        for signal, count in left.items():
            self._lost(signal, count)
        for out in outs:
            out.shutdown()  # ends the wait before the next try
        self._thread.join(_CLOSE_GRACE)
        return False

    def _patience(self, began: float, timeout: float) -> float:
        """How long closing goes on."""
        until = began + timeout
        if self._quiet_since is not None:
            until = min(until, max(began, self._quiet_since) + _NO_ANSWER)
        return until - time.monotonic()

    # -- on the thread -------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            with unheard():
                if self._load():
                    self._send_all()
        finally:
            with self._changed:
                self._over = True
                self._changed.notify_all()

    def _send_all(self) -> None:
        while (work := self._next()) is not None:
            signal, out, batch = work
            took = self._send(signal, out, batch)
            with self._changed:
                self._answers = took
                if took:
                    self._quiet_since = None
                self._changed.notify_all()
            if not took:
                self._lost(signal, len(batch))
        for lane in self._lanes.values():
            if lane.out:
                lane.out.shutdown()

    def _load(self) -> bool:
        """Load the SDK and make its exporters."""
        try:
            from serai.telemetry import sdk  # noqa: PLC0415 - an extra, and slow to load

            makers: dict[Signal, Callable[..., _Out]] = {
                Signal.TRACES: sdk.TracesOut,
                Signal.LOGS: sdk.LogsOut,
                Signal.METRICS: sdk.MetricsOut,
            }
            outs = {
                signal: makers[signal](self._resource, as_json=signal in self._as_json)
                for signal in self.signals
            }
        except ModuleNotFoundError as error:
            _log.warning(
                "telemetry is not exported, since %s is not installed. Run: pip install 'serai[otel]'",
                error.name,
            )
            return self._give_up()
        except Exception:  # noqa: BLE001 - a variable that the SDK refuses, a certificate that is not there
            _log.exception("telemetry is not exported: the exporter could not be set up")
            return self._give_up()
        with self._changed:
            for signal, out in outs.items():
                self._lanes[signal].out = out
        return True

    def _give_up(self) -> bool:
        with self._changed:
            self.signals = frozenset()
            for lane in self._lanes.values():
                lane.queue.clear()
        self._failed()
        return False

    def _next(self) -> tuple[Signal, _Out, list[Any]] | None:
        """Wait for the next batch; `None` when all is sent and the exporter closes."""
        with self._changed:
            while True:
                now = time.monotonic()
                waits = {
                    signal: wait
                    for signal, lane in self._lanes.items()
                    if (wait := lane.wait(now, self._closing)) is not None
                }
                for signal, wait in waits.items():
                    out = self._lanes[signal].out
                    if wait <= 0 and out:
                        if not self._answers and self._quiet_since is None:
                            self._quiet_since = now
                            self._changed.notify_all()
                        return signal, out, self._lanes[signal].take(now)
                if self._closing and not waits:
                    return None
                self._changed.wait(min(waits.values(), default=None))

    def _send(self, signal: Signal, out: _Out, batch: list[Any]) -> bool:
        try:
            return out.send(batch)
        except Exception:  # noqa: BLE001 - the next batch may get through
            _log.exception("%s could not be exported", signal)
            return False
