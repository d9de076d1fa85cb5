"""The whole: who follows gets what happens, and while nobody does nothing runs."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from serai.ahp import actions as a
from serai.ahp.types import SessionStatus, SessionSummary, ToolCallError, ToolCallResult, UserMessage
from serai.host.telemetry import SessionTelemetry
from serai.telemetry.otlp import METRICS, TRACES, Level, Signal, TelemetryChannel
from serai.telemetry.telemetry import Telemetry
from telemetry.conftest import (
    CANARY,
    SECRET,
    WITHIN,
    Clock,
    Listener,
    Receiver,
    log_records_of,
    mask,
    metrics_of,
    plain,
)
from telemetry.oracle import (
    ExportLogsServiceRequest,
    ExportMetricsServiceRequest,
    ExportTraceServiceRequest,
    read,
)

LOG = logging.getLogger("serai.host.host")


def quick(clock: Clock, listener: Listener, environ: Mapping[str, str]) -> Telemetry:
    return Telemetry(mask, clock, listener, environ=environ, batch_seconds=0.01, metrics_seconds=0.02)


def running() -> set[asyncio.Task[Any]]:
    return {task for task in asyncio.all_tasks() if task.get_name() == "telemetry"}


def logs(level: Level) -> str:
    return TelemetryChannel(Signal.LOGS, level).uri


@pytest.fixture
async def telemetry(clock: Clock, listener: Listener) -> AsyncIterator[Telemetry]:
    telemetry = quick(clock, listener, {})
    telemetry.start()
    yield telemetry
    await telemetry.stop()


def do_a_turn(telemetry: Telemetry) -> None:
    said = f"{CANARY} {SECRET}"
    summary = SessionSummary(
        resource="ahp-session:/1",
        provider="demo",
        title="",
        status=SessionStatus.IDLE,
        created_at=1,
        modified_at=1,
    )
    session = SessionTelemetry(telemetry, summary.resource, summary)
    session.happened(a.SessionTurnStartedAction(turn_id="t1", user_message=UserMessage(text=said)))
    assert session.turn is not None
    with session.turn.current():
        LOG.info("a turn runs")
    call: Any = {"turn_id": "t1", "tool_call_id": "c1"}
    failed = ToolCallResult(success=False, past_tense_message="", error=ToolCallError(message=said))
    session.happened(a.SessionToolCallStartAction(tool_name="bash", display_name="Bash", **call))
    session.happened(a.SessionToolCallCompleteAction(result=failed, **call))
    session.happened(a.SessionTurnCompleteAction(turn_id="t1"))


async def test_while_nobody_listens_nothing_runs(
    telemetry: Telemetry, listener: Listener, logger_as_it_was: logging.Logger
) -> None:
    assert not any(telemetry.wanted(signal) for signal in Signal)
    assert not running()
    handlers = list(logger_as_it_was.handlers)
    do_a_turn(telemetry)
    telemetry.follow(logs(Level.INFO))
    assert len(logger_as_it_was.handlers) == len(handlers) + 1
    (task,) = running()
    telemetry.unfollow(logs(Level.INFO))
    assert logger_as_it_was.handlers == handlers
    await asyncio.wait({task}, timeout=WITHIN)
    assert not running()
    assert listener.heard == []


async def test_who_follows_traces_gets_spans_and_nothing_else(
    telemetry: Telemetry, listener: Listener
) -> None:
    telemetry.follow(TRACES)
    assert [signal for signal in Signal if telemetry.wanted(signal)] == [Signal.TRACES]
    do_a_turn(telemetry)
    await listener.until(lambda: len(listener.spans()) == 2)
    assert [span["name"] for span in listener.spans()] == ["execute_tool bash", "invoke_agent demo"]
    assert {channel.signal for channel, _ in listener.heard} == {Signal.TRACES}
    for payload in listener.payloads(Signal.TRACES):
        resource = read(payload, ExportTraceServiceRequest).resource_spans[0].resource
        assert {each.key for each in resource.attributes} >= {"service.name", "service.instance.id"}


async def test_each_level_gets_its_own(telemetry: Telemetry, listener: Listener) -> None:
    for level in (Level.DEBUG, Level.WARN):
        telemetry.follow(logs(level))
    LOG.debug("fine")
    LOG.info("plain")
    LOG.warning("grave")
    LOG.critical("fatal")
    await listener.until(lambda: len(listener.bodies(Level.WARN)) == 2)
    assert listener.bodies(Level.DEBUG) == ["fine", "plain", "grave", "fatal"]
    assert listener.bodies(Level.WARN) == ["grave", "fatal"]
    for _, payload in listener.heard:
        assert read(payload, ExportLogsServiceRequest).resource_logs


async def test_metrics_come_soon_and_then_again_and_again(telemetry: Telemetry, listener: Listener) -> None:
    do_a_turn(telemetry)  # before anyone followed: it counts all the same
    telemetry.metrics.sessions.read_from(lambda: 3)
    telemetry.follow(METRICS)
    await listener.until(lambda: len(listener.heard) >= 3)
    for payload in listener.payloads(Signal.METRICS):
        found = metrics_of(payload)
        assert found["serai.sessions"]["gauge"]["dataPoints"][0]["asInt"] == "3"
        (calls,) = found["serai.tool_calls"]["sum"]["dataPoints"]
        assert calls["asInt"] == "1"
        assert read(payload, ExportMetricsServiceRequest).resource_metrics


async def everything_told(clock: Clock, listener: Listener, environ: dict[str, str]) -> str:
    telemetry = quick(clock, listener, environ)
    telemetry.start()
    for channel in (TRACES, METRICS, logs(Level.TRACE)):
        telemetry.follow(channel)
    do_a_turn(telemetry)
    await listener.until(lambda: {channel.signal for channel, _ in listener.heard} == set(Signal))
    await listener.until(lambda: len(listener.spans()) == 2)
    await telemetry.stop()
    return json.dumps(listener.heard)


async def test_what_was_said_is_in_no_payload(clock: Clock, listener: Listener) -> None:
    told = await everything_told(clock, listener, {})
    assert "invoke_agent demo" in told
    assert CANARY not in told
    assert SECRET not in told


async def test_what_was_said_is_there_when_asked_for_but_never_a_secret(
    clock: Clock, listener: Listener
) -> None:
    environ = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"}
    told = await everything_told(clock, listener, environ)
    assert CANARY in told
    assert SECRET not in told


async def test_a_flood_is_bounded_told_in_pieces_and_what_is_lost_is_said(
    telemetry: Telemetry, listener: Listener
) -> None:
    telemetry.follow(logs(Level.INFO))
    telemetry.follow(METRICS)
    for number in range(5000):
        LOG.info("line %d", number)
    await listener.until(lambda: any("were lost" in body for body in listener.bodies(Level.INFO)))
    bodies = listener.bodies(Level.INFO)
    assert len(bodies) == 4096 + 1
    assert bodies[:2] == ["line 0", "line 1"]
    assert bodies[-1].startswith("904 records of telemetry were lost")
    sizes = [len(log_records_of(payload)) for payload in listener.payloads(Signal.LOGS, Level.INFO)]
    assert max(sizes) == 512
    listener.heard.clear()
    await listener.until(lambda: bool(listener.payloads(Signal.METRICS)))
    (dropped,) = metrics_of(listener.payloads(Signal.METRICS)[0])["serai.telemetry.dropped"]["sum"][
        "dataPoints"
    ]
    assert (dropped["asInt"], plain(dropped["attributes"])) == ("904", {"serai.signal": "logs"})


async def test_telling_does_not_tell_of_itself(clock: Clock) -> None:
    class Talkative(Listener):
        def __call__(self, channel: TelemetryChannel, payload: dict[str, Any]) -> None:
            LOG.info("sent a record")
            asyncio.get_running_loop().call_soon(LOG.info, "sent it indeed")
            super().__call__(channel, payload)

    listener = Talkative()
    telemetry = quick(clock, listener, {})
    telemetry.start()
    telemetry.follow(logs(Level.INFO))
    for line in ("first", "second"):
        LOG.info("%s", line)
        await listener.until(lambda: line in listener.bodies(Level.INFO))  # noqa: B023 - asked at once
    await telemetry.stop()
    assert listener.bodies(Level.INFO) == ["first", "second"]


async def test_with_an_endpoint_all_signals_are_exported_also_to_nobody(
    clock: Clock, listener: Listener, receiver: Receiver
) -> None:
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url, "OTEL_SERVICE_NAME": "an-inn"}
    telemetry = quick(clock, listener, environ)
    telemetry.start()
    assert all(telemetry.wanted(signal) for signal in Signal)
    telemetry.follow(logs(Level.DEBUG))
    do_a_turn(telemetry)
    LOG.debug("too fine for the host's own log")
    await listener.until(lambda: len(listener.bodies(Level.DEBUG)) == 2)
    await telemetry.stop(WITHIN)
    sent = {
        path: json.dumps([body for at, _, body in receiver.requests if at == path])
        for path, _, _ in receiver.requests
    }
    assert set(sent) == {"/v1/traces", "/v1/logs", "/v1/metrics"}
    assert "invoke_agent demo" in sent["/v1/traces"]
    assert "execute_tool bash" in sent["/v1/traces"]
    assert "a turn runs" in sent["/v1/logs"]
    assert "too fine" not in sent["/v1/logs"]
    assert "serai.tool_calls" in sent["/v1/metrics"]
    for text in sent.values():
        assert "an-inn" in text
        assert CANARY not in text
        assert SECRET not in text
