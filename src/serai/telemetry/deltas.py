"""Sums since the start to what came since the last reading, for backends that want it so."""

from __future__ import annotations

from dataclasses import replace

from serai.telemetry.records import (
    Attributes,
    Distribution,
    DistributionPoint,
    Metric,
    NumberPoint,
    Sum,
)

__all__ = ["Deltas"]


class Deltas:
    """Remembers the last reading. Gauges pass as they are."""

    def __init__(self) -> None:
        self._numbers: dict[object, NumberPoint] = {}
        self._distributions: dict[object, DistributionPoint] = {}

    def take(self, metrics: list[Metric]) -> list[Metric]:
        """The difference between a reading and the one before. What did not change is left out."""
        return [taken for metric in metrics if (taken := self._metric(metric)).data.points]

    def _metric(self, metric: Metric) -> Metric:
        match metric.data:
            case Sum(points=points):
                numbers = [self._number(metric.name, point) for point in points]
                return replace(metric, data=Sum([point for point in numbers if point.value], delta=True))
            case Distribution(points=points, bounds=bounds):
                spreads = [self._distribution(metric.name, point) for point in points]
                found = [point for point in spreads if point.count]
                return replace(metric, data=Distribution(found, bounds, delta=True))
            case _:
                return metric

    def _number(self, name: str, point: NumberPoint) -> NumberPoint:
        key = _key(name, point.attributes)
        before = self._numbers.get(key)
        self._numbers[key] = point
        if before is None:
            return point
        return replace(point, start_ns=before.time_ns, value=point.value - before.value)

    def _distribution(self, name: str, point: DistributionPoint) -> DistributionPoint:
        key = _key(name, point.attributes)
        before = self._distributions.get(key)
        self._distributions[key] = point
        if before is None:
            return point
        return replace(
            point,
            start_ns=before.time_ns,
            count=point.count - before.count,
            sum=point.sum - before.sum,
            buckets=[now - then for now, then in zip(point.buckets, before.buckets, strict=True)],
            minimum=None,  # those of the time between are not known
            maximum=None,
        )


def _key(name: str, attributes: Attributes) -> object:
    return name, tuple(attributes.items())
