"""Which channels there are."""

from __future__ import annotations

import pytest

from serai.ahp.methods import NOTIFICATIONS
from serai.telemetry.channels import (
    CAPABILITIES,
    LOGS,
    METHODS,
    METRICS,
    TRACES,
    Channel,
    Level,
    Signal,
    parse,
)


def test_what_is_advertised_can_be_subscribed_to() -> None:
    assert (CAPABILITIES.logs, CAPABILITIES.traces, CAPABILITIES.metrics) == (LOGS, TRACES, METRICS)
    assert parse(TRACES) == Channel(Signal.TRACES)
    assert parse(METRICS) == Channel(Signal.METRICS)
    for level in Level:
        assert parse(LOGS.replace("{level}", level)) == Channel(Signal.LOGS, level)


@pytest.mark.parametrize("level", Level)
def test_a_channel_is_found_again_by_its_uri(level: Level) -> None:
    channel = Channel(Signal.LOGS, level)
    assert parse(channel.uri) == channel
    assert channel.uri == f"ahp-otlp:/logs/{level}"


@pytest.mark.parametrize(
    "uri",
    [
        "ahp-otlp:/logs",
        "ahp-otlp:/logs/",
        "ahp-otlp:/logs/{level}",
        "ahp-otlp:/logs/verbose",
        "ahp-otlp:/logs/INFO",
        "ahp-otlp:/logs/info/more",
        "ahp-otlp:/traces/info",
        "ahp-otlp:/profiles",
        "ahp-session:/logs/info",
        "",
    ],
)
def test_what_is_not_there_is_none(uri: str) -> None:
    assert parse(uri) is None


def test_levels_begin_at_the_numbers_of_otlp() -> None:
    assert [level.severity for level in Level] == [1, 5, 9, 13, 17, 21]
    assert [level for level in Level if level.admits(13)] == [
        Level.TRACE,
        Level.DEBUG,
        Level.INFO,
        Level.WARN,
    ]
    assert not Level.WARN.admits(12)


def test_each_signal_has_a_notification_of_the_protocol() -> None:
    assert set(METHODS) == set(Signal)
    assert set(METHODS.values()) <= set(NOTIFICATIONS)
