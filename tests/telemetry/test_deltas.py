"""Differences between readings."""

from __future__ import annotations

from serai.telemetry.deltas import Deltas
from serai.telemetry.metrics import Metrics
from serai.telemetry.records import Distribution, Gauge, Sum
from telemetry.conftest import CLEANER


def test_a_difference_begins_where_the_last_one_ended() -> None:
    metrics, deltas = Metrics(100), Deltas()
    metrics.actions.add(5)
    metrics.commit_time.record(0.002)
    first = deltas.take(metrics.read(200, CLEANER))
    metrics.actions.add(2)
    metrics.commit_time.record(0.004)
    second = deltas.take(metrics.read(300, CLEANER))
    sums = [each.data for reading in (first, second) for each in reading if isinstance(each.data, Sum)]
    assert [(each.delta, each.points[0].value, each.points[0].start_ns) for each in sums] == [
        (True, 5, 100),
        (True, 2, 200),
    ]
    spread = next(each.data for each in second if isinstance(each.data, Distribution))
    (point,) = spread.points
    assert spread.delta
    assert (point.count, point.start_ns, sum(point.buckets)) == (1, 200, 1)
    assert round(point.sum, 9) == 0.004
    assert (point.minimum, point.maximum) == (None, None)


def test_what_did_not_change_is_left_out_and_gauges_pass() -> None:
    metrics, deltas = Metrics(100), Deltas()
    metrics.actions.add(5)
    metrics.commit_time.record(1)
    metrics.sessions.read_from(lambda: 1)
    assert len(deltas.take(metrics.read(200, CLEANER))) == 3
    (left,) = deltas.take(metrics.read(300, CLEANER))
    assert isinstance(left.data, Gauge)
