"""Which channels there are."""

from __future__ import annotations

import pytest

from serai.ahp.codec import NOTIFICATIONS
from serai.telemetry.channels import (
    CAPABILITIES,
    LOGS,
    METHODS,
    METRICS,
    TRACES,
    Level,
    Signal,
    TelemetryChannel,
    parse,
)


def test_what_is_advertised_can_be_subscribed_to() -> None:
    assert (CAPABILITIES.logs, CAPABILITIES.traces, CAPABILITIES.metrics) == (LOGS, TRACES, METRICS)
    assert parse(TRACES) == TelemetryChannel(Signal.TRACES)
    assert parse(METRICS) == TelemetryChannel(Signal.METRICS)
    for level in Level:
        channel = TelemetryChannel(Signal.LOGS, level)
        assert parse(LOGS.replace("{level}", level)) == parse(channel.uri) == channel


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


def test_each_signal_has_a_notification_of_the_protocol() -> None:
    assert set(METHODS) == set(Signal)
    assert set(METHODS.values()) <= set(NOTIFICATIONS)
