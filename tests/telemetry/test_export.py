"""Export to a real receiver on loopback, read with OpenTelemetry's own messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from serai.telemetry import export
from serai.telemetry.export import Poster, targets
from serai.telemetry.otlp import Signal, payload
from telemetry.conftest import WITHIN, Receiver
from telemetry.oracle import ExportTraceServiceRequest, read

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x:4318"}


class Losses(dict[Signal, int]):
    """What a poster says that it lost."""

    def __call__(self, signal: Signal, count: int) -> None:
        self[signal] = self.get(signal, 0) + count


@pytest.fixture
def losses() -> Losses:
    return Losses()


@pytest.fixture
def posting(losses: Losses) -> Iterator[Callable[..., Poster]]:
    made: list[Poster] = []

    def make(url: str, **environ: str) -> Poster:
        made.append(Poster(targets({"OTEL_EXPORTER_OTLP_ENDPOINT": url, **environ}), losses))
        return made[-1]

    yield make
    for each in made:
        each.close(WITHIN)


def span(number: int = 1) -> dict[str, Any]:
    return payload(Signal.TRACES, [], [("serai", {"traceId": f"{number:032x}", "spanId": f"{number:016x}"})])


def test_what_is_handed_over_goes_out_in_one_request(
    receiver: Receiver, posting: Callable[..., Poster], losses: Losses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "_GATHER_SECONDS", WITHIN)  # closing does not wait for more
    poster = posting(f"{receiver.url}/", OTEL_EXPORTER_OTLP_HEADERS="x-key=abc,x-other=a%20b")
    for number in (1, 2):
        poster.put(Signal.TRACES, span(number), 1)
        poster.put(Signal.METRICS, {"resourceMetrics": [number]}, 1)
    poster.close(WITHIN)
    (path, headers, body), (_, _, metrics) = receiver.requests
    assert path == "/v1/traces"
    expected = {("content-type", "application/json"), ("x-key", "abc"), ("x-other", "a b")}
    assert headers.items() >= expected
    got = read(body, ExportTraceServiceRequest).resource_spans
    assert [each.scope_spans[0].spans[0].trace_id.hex() for each in got] == [f"{1:032x}", f"{2:032x}"]
    assert metrics == {"resourceMetrics": [2]}  # the newest reading says it all
    assert losses == {}


def test_what_the_collector_does_not_take_is_counted_and_not_tried_again(
    receiver: Receiver, posting: Callable[..., Poster], losses: Losses
) -> None:
    receiver.answer = 400
    poster = posting(receiver.url)
    poster.put(Signal.TRACES, span(), 2)
    poster.close(WITHIN)
    assert len(receiver.requests) == 1
    assert losses == {Signal.TRACES: 2}


def test_closing_gives_up_a_collector_that_holds_it_back(
    receiver: Receiver, posting: Callable[..., Poster], losses: Losses
) -> None:
    receiver.gate.clear()
    poster = posting(receiver.url)
    poster.put(Signal.TRACES, span(), 1)
    receiver.wait(1)
    poster.put(Signal.TRACES, span(), 3)
    poster.close(0.05)
    assert losses == {Signal.TRACES: 3}
    receiver.gate.set()


@pytest.mark.parametrize(
    ("environ", "signals"),
    [
        ({}, set[Signal]()),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, set[Signal]()),
        (ENDPOINT, set(Signal)),
        ({"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://x"}, {Signal.LOGS}),
        (ENDPOINT | {"OTEL_SDK_DISABLED": "TRUE"}, set[Signal]()),
        (ENDPOINT | {"OTEL_TRACES_EXPORTER": "none"}, {Signal.LOGS, Signal.METRICS}),
        (ENDPOINT | {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, set(Signal)),
    ],
)
def test_the_variables_say_what_is_exported(
    environ: dict[str, str], signals: set[Signal], caplog: pytest.LogCaptureFixture
) -> None:
    assert set(targets(environ)) == signals
    assert caplog.records == []


def test_what_is_not_supported_is_said_and_not_done(caplog: pytest.LogCaptureFixture) -> None:
    assert targets(ENDPOINT | {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}) == {}
    assert "traces are not exported" in caplog.text
    assert targets({"OTEL_EXPORTER_OTLP_ENDPOINT": "file:///etc/passwd"}) == {}
