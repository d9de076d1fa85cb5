"""Counters, gauges and histograms of the host, read as OTLP's JSON.

Counting goes on without followers: it costs next to nothing, and later followers get true sums.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from threading import Lock

from serai.telemetry.otlp import SCOPE, Cleaner, Json, Labels, Scoped

CARDINALITY = 1000
"""Most labels that one instrument keeps apart. The others are counted together."""

_OVERFLOW: Labels = (("otel.metric.overflow", True),)
_CUMULATIVE = 2

_TOKEN_BOUNDS = tuple(float(4**power) for power in range(14))
"""Bounds of token counts, as the GenAI conventions have them."""
_OPERATION_BOUNDS = tuple(0.01 * 2**power for power in range(14))
"""Bounds of operations in seconds, as the GenAI conventions have them."""
_SHORT_BOUNDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
"""Bounds in seconds of what should take a millisecond."""


class _Instrument(ABC):
    def __init__(self, name: str, unit: str, description: str) -> None:
        self.head: Json = {"name": name, "description": description, "unit": unit}
        self._lock = Lock()

    @abstractmethod
    def read(self, times: Json, cleaner: Cleaner) -> Json | None:
        """Return OTLP's data of this instrument; `None` when there is none."""


class Total(_Instrument):
    """A number that only grows."""

    def __init__(self, name: str, unit: str, description: str) -> None:
        super().__init__(name, unit, description)
        self._sums: dict[Labels, int] = {}

    def add(self, amount: int = 1, labels: Labels = ()) -> None:
        """Add to the sum. Any thread may call this."""
        with self._lock:
            labels = _bounded(labels, self._sums)
            self._sums[labels] = self._sums.get(labels, 0) + amount

    def value(self) -> int:
        """Return the sum over all labels."""
        with self._lock:
            return sum(self._sums.values())

    def read(self, times: Json, cleaner: Cleaner) -> Json | None:
        """Return the sums since the start."""
        with self._lock:
            sums = dict(self._sums)
        points = [
            {"attributes": cleaner.attributes(dict(labels)), **times, "asInt": str(value)}
            for labels, value in sums.items()
        ]
        if not points:
            return None
        return {"sum": {"dataPoints": points, "aggregationTemporality": _CUMULATIVE, "isMonotonic": True}}


class Gauge(_Instrument):
    """A current number, which is asked for when it is read."""

    _source: Callable[[], float] | None = None

    def read_from(self, source: Callable[[], float]) -> None:
        """Set the source of the number."""
        self._source = source

    def read(self, times: Json, cleaner: Cleaner) -> Json | None:  # noqa: ARG002 - as the others
        """Return the current number."""
        if self._source is None:
            return None
        now = {"timeUnixNano": times["timeUnixNano"], "asInt": str(int(self._source()))}
        return {"gauge": {"dataPoints": [{"attributes": [], **now}]}}


class Histogram(_Instrument):
    """Measurements, counted in buckets: one up to and with each bound, and one above."""

    def __init__(self, name: str, unit: str, description: str, bounds: Sequence[float]) -> None:
        super().__init__(name, unit, description)
        self._bounds = bounds
        self._buckets: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}

    def record(self, value: float, labels: Labels = ()) -> None:
        """Record a measurement. Any thread may call this."""
        bucket = bisect_left(self._bounds, value)
        with self._lock:
            labels = _bounded(labels, self._sums)
            self._sums[labels] = self._sums.get(labels, 0.0) + value
            if labels not in self._buckets:
                self._buckets[labels] = [0] * (len(self._bounds) + 1)
            self._buckets[labels][bucket] += 1

    def read(self, times: Json, cleaner: Cleaner) -> Json | None:
        """Return the buckets since the start."""
        with self._lock:
            points = [
                {
                    "attributes": cleaner.attributes(dict(labels)),
                    **times,
                    "count": str(sum(buckets)),
                    "sum": self._sums[labels],
                    "bucketCounts": [str(count) for count in buckets],
                    "explicitBounds": list(self._bounds),
                }
                for labels, buckets in self._buckets.items()
            ]
        if not points:
            return None
        return {"histogram": {"dataPoints": points, "aggregationTemporality": _CUMULATIVE}}


def _bounded(labels: Labels, known: Mapping[Labels, object]) -> Labels:
    return labels if labels in known or len(known) < CARDINALITY else _OVERFLOW


class Metrics:
    """The instruments of a host."""

    def __init__(self, start_ns: int) -> None:
        self._start_ns = start_ns
        self.sessions = Gauge("serai.sessions", "{session}", "Sessions that there are")
        self.active_turns = Gauge("serai.turns.active", "{turn}", "Turns that are running")
        self.connections = Gauge("serai.connections", "{connection}", "Clients that are connected")
        self.actions = Total("serai.actions", "{action}", "Actions that were committed")
        self.commit_time = Histogram(
            "serai.commit.duration", "s", "How long a commit of a batch took", _SHORT_BOUNDS
        )
        self.publish_time = Histogram(
            "serai.publish.duration", "s", "How long it took to hand a batch to all who follow", _SHORT_BOUNDS
        )
        self.bytes_written = Total("serai.store.written", "By", "Bytes of actions that were written")
        self.deliveries = Total("serai.deliveries", "{delivery}", "Attempts to deliver, by how they ended")
        self.tool_calls = Total("serai.tool_calls", "{call}", "Tool calls, by how they ended")
        self.dropped = Total("serai.telemetry.dropped", "{record}", "Telemetry that was lost, by signal")
        self.token_usage = Histogram(
            "gen_ai.client.token.usage", "{token}", "Number of input and output tokens used", _TOKEN_BOUNDS
        )
        self.operation_time = Histogram(
            "gen_ai.client.operation.duration", "s", "GenAI operation duration", _OPERATION_BOUNDS
        )

    def read(self, now_ns: int, cleaner: Cleaner) -> list[Scoped]:
        """Read all instruments that have data."""
        times = {"startTimeUnixNano": str(self._start_ns), "timeUnixNano": str(now_ns)}
        instruments = [each for each in vars(self).values() if isinstance(each, _Instrument)]
        readings = ((each.head, each.read(times, cleaner)) for each in instruments)
        return [(SCOPE, head | data) for head, data in readings if data]
