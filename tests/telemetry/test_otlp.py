"""Which channels there are; and OTLP's JSON: values, masked text, payloads, and who is telling."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from serai.telemetry.otlp import (
    CAPABILITIES,
    LOGS,
    METRICS,
    TRACES,
    Cleaner,
    Level,
    Signal,
    TelemetryChannel,
    parse,
    payload,
    resource_of,
)
from telemetry.conftest import CLEANER, SECRET, mask
from telemetry.oracle import ExportTraceServiceRequest, read, values


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


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        ("text", {"stringValue": "text"}),
        (True, {"boolValue": True}),
        (0, {"intValue": "0"}),
        (2**63 - 1, {"intValue": "9223372036854775807"}),
        (2**63, {"doubleValue": 9223372036854775808.0}),
        (1.5, {"doubleValue": 1.5}),
    ],
)
def test_every_kind_of_value_has_its_form(value: Any, encoded: dict[str, Any]) -> None:
    attributes = CLEANER.attributes({"it": value, "nothing": None})
    assert attributes == [{"key": "it", "value": encoded}]
    message = read(payload(Signal.TRACES, attributes, []), ExportTraceServiceRequest)
    assert values(message.resource_spans[0].resource.attributes) == {"it": value}


def test_secrets_are_masked_before_long_text_is_cut() -> None:
    assert CLEANER.text(f"the password is {SECRET}") == "the password is [masked]"
    assert "hunter" not in repr(CLEANER.attributes({"a": SECRET}))
    cut = Cleaner(mask).text("x" * (16 * 1024 - 3) + SECRET)
    assert cut.endswith("x[ma… (5 more)")


def test_text_that_json_cannot_hold_is_mended() -> None:
    assert CLEANER.text("a\udce9b ü 🎉") == "a?b ü 🎉"
    assert msgspec.json.encode(CLEANER.text("\ud800"))


def test_the_variables_go_before_what_is_found(caplog: pytest.LogCaptureFixture) -> None:
    environ = {
        "OTEL_RESOURCE_ATTRIBUTES": "service.name=a, place=a%20b%2Cc,secretword",
        "OTEL_SERVICE_NAME": "b",
    }
    attributes = resource_of(environ)
    assert (attributes["service.name"], attributes["place"]) == ("b", "a b,c")
    assert len(caplog.records) == 1
    assert "secretword" not in caplog.text
