"""Export as OTLP/JSON to a real receiver, read with OpenTelemetry's own messages."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.message import Message

from serai.telemetry.channels import Signal
from serai.telemetry.export import Exporter
from telemetry.conftest import CLEANER
from telemetry.oracle import (
    ExportLogsServiceRequest,
    ExportMetricsServiceRequest,
    ExportTraceServiceRequest,
    read,
)
from telemetry.receiving import WITHIN, Losses, Receiver, log_record, reading, span

AS_JSON = {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}


@pytest.mark.parametrize(
    ("signal", "record", "kind"),
    [
        (Signal.TRACES, span(), ExportTraceServiceRequest),
        (Signal.LOGS, log_record(), ExportLogsServiceRequest),
        (Signal.METRICS, reading().read(200, CLEANER), ExportMetricsServiceRequest),
    ],
)
def test_the_same_arrives_as_in_protobuf(
    receiver: Receiver, exporting: Callable[..., Exporter], signal: Signal, record: Any, kind: type[Message]
) -> None:
    for environ in ({}, AS_JSON):
        exporter = exporting(environ=environ)
        exporter.put(signal, [record])
        assert exporter.close(WITHIN)
    (_, _, protobuf), (path, headers, body) = receiver.requests
    assert path == f"/v1/{signal}"
    assert headers["content-type"] == "application/json"
    assert int(headers["content-length"]) == len(body)
    assert read(json.loads(body), kind) == kind.FromString(protobuf)


def test_json_has_what_otlp_asks_for_and_plain_json_does_not(
    receiver: Receiver, exporting: Callable[..., Exporter]
) -> None:
    exporter = exporting(environ=AS_JSON)
    exporter.put(Signal.TRACES, [span()])
    assert exporter.close(WITHIN)
    [(_, _, body)] = receiver.requests
    got = json.loads(body)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    assert (got["traceId"], got["parentSpanId"]) == (f"{1:032x}", "00f067aa0ba902b7")
    assert (got["kind"], got["startTimeUnixNano"], got["status"]["code"]) == (5, "100", 2)


@pytest.mark.parametrize(("how", "unpack"), [("gzip", gzip.decompress), ("deflate", zlib.decompress)])
def test_headers_and_compression_are_honoured(
    receiver: Receiver,
    exporting: Callable[..., Exporter],
    monkeypatch: pytest.MonkeyPatch,
    how: str,
    unpack: Callable[[bytes], bytes],
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=abc")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", how)
    exporter = exporting(environ=AS_JSON)
    exporter.put(Signal.TRACES, [span()])
    assert exporter.close(WITHIN)
    [(_, headers, body)] = receiver.requests
    assert (headers["x-key"], headers["content-encoding"]) == ("abc", how)
    assert json.loads(unpack(body))["resourceSpans"]


def test_each_signal_may_have_its_own_form(receiver: Receiver, exporting: Callable[..., Exporter]) -> None:
    exporter = exporting(environ={"OTEL_EXPORTER_OTLP_LOGS_PROTOCOL": "http/json"})
    exporter.put(Signal.TRACES, [span()])
    exporter.put(Signal.LOGS, [log_record()])
    assert exporter.close(WITHIN)
    forms = {path: headers["content-type"] for path, headers, _ in receiver.requests}
    assert forms == {"/v1/traces": "application/x-protobuf", "/v1/logs": "application/json"}


def test_what_is_refused_is_lost_and_told(
    receiver: Receiver, exporting: Callable[..., Exporter], losses: Losses
) -> None:
    receiver.answer = 400
    exporter = exporting(environ=AS_JSON)
    exporter.put(Signal.TRACES, [span()])
    assert exporter.close(WITHIN)
    assert losses.counts == {Signal.TRACES: 1}
