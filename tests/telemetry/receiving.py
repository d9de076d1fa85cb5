"""A receiver on loopback, and what is sent to it."""

from __future__ import annotations

import http.server
import threading
from typing import Any

from serai.telemetry.channels import Signal
from serai.telemetry.metrics import Metrics
from serai.telemetry.records import LogRecord, SpanEvent, SpanKind, SpanRecord, StatusCode

__all__ = ["ALL", "RESOURCE", "WITHIN", "Losses", "Receiver", "log_record", "reading", "span"]

WITHIN = 30.0
ALL = frozenset(Signal)
RESOURCE = {"service.name": "inn", "process.pid": 7}


class Receiver:
    """An OTLP endpoint that keeps what it gets. `answer` says with which status; `gate` holds it back."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.answer = 200
        self.gate = threading.Event()
        self.gate.set()
        self._more = threading.Condition()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with receiver._more:
                    headers = {name.lower(): value for name, value in self.headers.items()}
                    receiver.requests.append((self.path, headers, body))
                    receiver._more.notify_all()
                receiver.gate.wait(WITHIN)
                self.send_response(receiver.answer)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is given
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()

    def wait(self, count: int) -> None:
        with self._more:
            assert self._more.wait_for(lambda: len(self.requests) >= count, WITHIN)

    def close(self) -> None:
        self.gate.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(WITHIN)


class Losses:
    """What an exporter says that it lost, and whether it gave up."""

    def __init__(self) -> None:
        self.counts: dict[Signal, int] = {}
        self.failed = threading.Event()

    def __call__(self, signal: Signal, count: int) -> None:
        self.counts[signal] = self.counts.get(signal, 0) + count


def span(number: int = 1) -> SpanRecord:
    return SpanRecord(
        trace_id=f"{number:032x}",
        span_id=f"{number:016x}",
        parent_id="00f067aa0ba902b7",
        name="invoke_agent demo",
        kind=SpanKind.CONSUMER,
        start_ns=100,
        end_ns=250,
        attributes={"gen_ai.agent.name": "demo", "n": 1, "list": ["a", "b"]},
        events=[SpanEvent(120, "accepted", {"held": True})],
        status=StatusCode.ERROR,
        message="it broke",
    )


def log_record() -> LogRecord:
    return LogRecord(
        time_ns=100,
        observed_ns=101,
        severity=13,
        severity_text="WARN",
        body="the disk is nearly full",
        scope="serai.store",
        attributes={"code.line.number": 12},
        trace_id=f"{1:032x}",
        span_id=f"{2:016x}",
    )


def reading() -> Any:
    metrics = Metrics(100)
    metrics.actions.add(5)
    metrics.sessions.read_from(lambda: 2)
    metrics.commit_time.record(0.002)
    return metrics
