"""Counters, gauges and histograms of the host.

Counting goes on whether anyone follows or not: it costs next to nothing, and who comes later gets true sums.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import TypeAlias

from serai.telemetry.cleaning import Cleaner
from serai.telemetry.records import (
    Distribution,
    DistributionPoint,
    Gauge,
    Labels,
    Metric,
    NumberPoint,
    Sum,
)

__all__ = ["CARDINALITY", "Counter", "Histogram", "Metrics", "Observed"]

_log = logging.getLogger(__name__)

CARDINALITY = 1000
"""How many different labels one instrument keeps apart. The rest is counted together."""

_OVERFLOW: Labels = (("otel.metric.overflow", True),)

_TOKEN_BOUNDS = tuple(float(4**power) for power in range(14))
_OPERATION_BOUNDS = tuple(0.01 * 2**power for power in range(14))
"""Those of the GenAI conventions."""
_SHORT_BOUNDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
"""For what should take a millisecond."""

Reading: TypeAlias = Callable[[], int | float]


class Counter:
    """What only grows. It may be counted here, or read from someone who counts already."""

    def __init__(self, name: str, unit: str, description: str) -> None:
        self.name = name
        self.unit = unit
        self.description = description
        self._lock = Lock()
        self._sums: dict[Labels, int | float] = {}
        self._source: Reading | None = None

    def add(self, amount: float = 1, labels: Labels = ()) -> None:
        """Count. Any thread may."""
        with self._lock:
            if labels not in self._sums and len(self._sums) >= CARDINALITY:
                labels = _OVERFLOW
            self._sums[labels] = self._sums.get(labels, 0) + amount

    def read_from(self, source: Reading) -> None:
        """Take the total from elsewhere, each time it is read."""
        self._source = source

    def read(self, start_ns: int, now_ns: int, cleaner: Cleaner) -> Sum:
        """The sums so far."""
        with self._lock:
            sums = dict(self._sums)
        if self._source:
            sums[()] = sums.get((), 0) + self._source()
        points = [
            NumberPoint(cleaner.attributes(dict(labels)), start_ns, now_ns, value)
            for labels, value in sums.items()
        ]
        return Sum(points)


class Observed:
    """What is, now: read when it is told."""

    def __init__(self, name: str, unit: str, description: str) -> None:
        self.name = name
        self.unit = unit
        self.description = description
        self._source: Reading | None = None

    def read_from(self, source: Reading) -> None:
        """Where to look."""
        self._source = source

    def read(self, start_ns: int, now_ns: int, cleaner: Cleaner) -> Gauge:  # noqa: ARG002 - as the others
        """The number now; nothing when nobody knows it."""
        return Gauge([NumberPoint({}, 0, now_ns, self._source())] if self._source else [])


@dataclass(slots=True)
class _Spread:
    buckets: list[int]
    count: int = 0
    sum: float = 0.0
    minimum: float = float("inf")
    maximum: float = float("-inf")

    def copy(self) -> _Spread:
        return replace(self, buckets=list(self.buckets))


class Histogram:
    """What was measured, in buckets."""

    def __init__(self, name: str, unit: str, description: str, bounds: Sequence[float]) -> None:
        self.name = name
        self.unit = unit
        self.description = description
        self._bounds = bounds
        self._lock = Lock()
        self._spreads: dict[Labels, _Spread] = {}

    def record(self, value: float, labels: Labels = ()) -> None:
        """Take a measurement. Any thread may."""
        bucket = bisect_left(self._bounds, value)
        with self._lock:
            spread = self._spreads.get(labels)
            if spread is None:
                if len(self._spreads) >= CARDINALITY:
                    labels = _OVERFLOW
                spread = self._spreads.setdefault(labels, _Spread([0] * (len(self._bounds) + 1)))
            spread.count += 1
            spread.sum += value
            spread.buckets[bucket] += 1
            spread.minimum = min(spread.minimum, value)
            spread.maximum = max(spread.maximum, value)

    def read(self, start_ns: int, now_ns: int, cleaner: Cleaner) -> Distribution:
        """The buckets so far."""
        with self._lock:
            spreads = [(labels, spread.copy()) for labels, spread in self._spreads.items()]
        points = [
            DistributionPoint(
                cleaner.attributes(dict(labels)),
                start_ns,
                now_ns,
                spread.count,
                spread.sum,
                spread.buckets,
                spread.minimum,
                spread.maximum,
            )
            for labels, spread in spreads
        ]
        return Distribution(points, self._bounds)


class Metrics:
    """The instruments of a host."""

    def __init__(self, start_ns: int) -> None:
        self._start_ns = start_ns
        self._broken: set[str] = set()
        self.catch_up: Callable[[], None] = _nothing
        """Is called before the instruments are read: someone may count in bulk."""
        self.sessions = Observed("serai.sessions", "{session}", "Sessions that there are")
        self.active_turns = Observed("serai.turns.active", "{turn}", "Turns that are running")
        self.connections = Observed("serai.connections", "{connection}", "Clients that are connected")
        self.actions = Counter("serai.actions", "{action}", "Actions that were committed")
        self.commit_time = Histogram(
            "serai.commit.duration", "s", "How long a commit of a batch took", _SHORT_BOUNDS
        )
        self.publish_time = Histogram(
            "serai.publish.duration", "s", "How long it took to hand a batch to all who follow", _SHORT_BOUNDS
        )
        self.bytes_written = Counter("serai.store.written", "By", "Bytes of actions that were written")
        self.deliveries = Counter("serai.deliveries", "{delivery}", "Attempts to deliver, by how they ended")
        self.tool_calls = Counter("serai.tool_calls", "{call}", "Tool calls, by how they ended")
        self.dropped = Counter("serai.telemetry.dropped", "{record}", "Telemetry that was lost, by signal")
        self.token_usage = Histogram(
            "gen_ai.client.token.usage", "{token}", "Number of input and output tokens used", _TOKEN_BOUNDS
        )
        self.operation_time = Histogram(
            "gen_ai.client.operation.duration", "s", "GenAI operation duration", _OPERATION_BOUNDS
        )

    def read(self, now_ns: int, cleaner: Cleaner) -> list[Metric]:
        """Read all instruments. One that cannot be read is left out, and the log says so once."""
        self.catch_up()
        found: list[Metric] = []
        for instrument in self._instruments():
            try:
                data = instrument.read(self._start_ns, now_ns, cleaner)
            except Exception:  # noqa: BLE001 - the source is someone else's, and the others are to be read
                if instrument.name not in self._broken:
                    self._broken.add(instrument.name)
                    _log.warning("the metric %s cannot be read", instrument.name, exc_info=True)
                continue
            if data.points:
                found.append(Metric(instrument.name, instrument.unit, instrument.description, data))
        return found

    def _instruments(self) -> list[Counter | Observed | Histogram]:
        return [each for each in vars(self).values() if isinstance(each, Counter | Observed | Histogram)]


def _nothing() -> None:
    """Nobody counts in bulk."""
