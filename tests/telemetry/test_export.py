"""Export to a real receiver on loopback, read with OpenTelemetry's own messages."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

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


def posting(url: str, losses: Losses, **environ: str) -> Poster:
    return Poster(targets({"OTEL_EXPORTER_OTLP_ENDPOINT": url, **environ}), losses)


def span(number: int = 1) -> dict[str, Any]:
    return payload(Signal.TRACES, [], [("serai", {"traceId": f"{number:032x}", "spanId": f"{number:016x}"})])


async def test_what_gathers_while_a_request_is_under_way_goes_out_in_the_next(
    receiver: Receiver, losses: Losses
) -> None:
    headers = "x-key=abc,x-other=a%20b"
    poster = posting(f"{receiver.url}/", losses, OTEL_EXPORTER_OTLP_HEADERS=headers)
    receiver.gate.clear()
    for signal in (Signal.TRACES, Signal.METRICS):
        poster.put(signal, span() if signal is Signal.TRACES else {"resourceMetrics": [0]}, 1)
    await asyncio.to_thread(receiver.wait, 2)
    for number in (2, 3):
        poster.put(Signal.TRACES, span(number), 1)
        poster.put(Signal.METRICS, {"resourceMetrics": [number]}, 1)
    receiver.gate.set()
    await poster.close(WITHIN)
    assert losses == {}
    (_, _, first), (path, sent, last) = receiver.sent_to("/v1/traces")
    assert path == "/v1/traces"
    assert sent.items() >= {("content-type", "application/json"), ("x-key", "abc"), ("x-other", "a b")}
    got = [
        each.scope_spans[0].spans[0].trace_id.hex()
        for body in (first, last)
        for each in read(body, ExportTraceServiceRequest).resource_spans
    ]
    assert got == [f"{number:032x}" for number in (1, 2, 3)]
    # The newest reading says it all.
    assert [body for *_, body in receiver.sent_to("/v1/metrics")] == [
        {"resourceMetrics": [0]},
        {"resourceMetrics": [3]},
    ]


async def test_what_the_collector_does_not_take_is_counted_and_not_tried_again(
    receiver: Receiver, losses: Losses
) -> None:
    receiver.answer = 400
    poster = posting(receiver.url, losses)
    poster.put(Signal.TRACES, span(), 2)
    await poster.close(WITHIN)
    assert len(receiver.requests) == 1
    assert losses == {Signal.TRACES: 2}


async def test_what_is_for_a_collector_that_is_not_there_is_lost(receiver: Receiver, losses: Losses) -> None:
    receiver.close()
    poster = posting(receiver.url, losses)
    poster.put(Signal.LOGS, {"resourceLogs": []}, 2)
    await poster.close(WITHIN)
    assert losses == {Signal.LOGS: 2}


async def test_closing_gives_up_a_collector_that_holds_it_back(receiver: Receiver, losses: Losses) -> None:
    receiver.gate.clear()
    poster = posting(receiver.url, losses)
    poster.put(Signal.TRACES, span(), 1)
    await asyncio.to_thread(receiver.wait, 1)
    poster.put(Signal.TRACES, span(), 3)
    await poster.close(0.05)
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
