"""A clock that the test moves, a listener for payloads, and a collector on loopback."""

from __future__ import annotations

import asyncio
import http.server
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest

from serai.telemetry.otlp import Cleaner, Level, Signal, TelemetryChannel

WITHIN = 30.0
SECRET = "hunter2-hunter2"
CANARY = "canary-in-a-coal-mine"


def mask(text: str) -> str:
    return text.replace(SECRET, "[masked]")


CLEANER = Cleaner(mask)


class Clock:
    """Moves only when it is told to."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000_000_000

    def __call__(self) -> int:
        return self.now

    def tick(self, seconds: float) -> None:
        self.now += int(seconds * 1e9)


class Listener:
    """Gets the payloads that followers would get."""

    def __init__(self) -> None:
        self.heard: list[tuple[TelemetryChannel, dict[str, Any]]] = []
        self._more = asyncio.Event()

    def __call__(self, channel: TelemetryChannel, payload: dict[str, Any]) -> None:
        self.heard.append((channel, payload))
        self._more.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(WITHIN):
            while not condition():
                self._more.clear()
                await self._more.wait()

    def payloads(self, signal: Signal, level: Level | None = None) -> list[dict[str, Any]]:
        return [payload for channel, payload in self.heard if channel == (signal, level)]

    def spans(self) -> list[dict[str, Any]]:
        return [span for payload in self.payloads(Signal.TRACES) for span in spans_of(payload)]

    def bodies(self, level: Level) -> list[str]:
        return [
            record["body"]["stringValue"]
            for payload in self.payloads(Signal.LOGS, level)
            for record in log_records_of(payload)
        ]


def spans_of(payload: dict[str, Any]) -> list[dict[str, Any]]:
    return [span for scope in payload["resourceSpans"][0]["scopeSpans"] for span in scope["spans"]]


def log_records_of(payload: dict[str, Any]) -> list[dict[str, Any]]:
    return [record for scope in payload["resourceLogs"][0]["scopeLogs"] for record in scope["logRecords"]]


def metrics_of(payload: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {metric["name"]: metric for metric in payload["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]}


def plain(attributes: list[dict[str, Any]]) -> dict[str, Any]:
    """OTLP's attributes as a dictionary; integers stay the strings that they are."""
    return {each["key"]: next(iter(each["value"].values())) for each in attributes}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture(autouse=True)
def no_otel_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("OTEL_"):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def logger_as_it_was() -> Iterator[logging.Logger]:
    """The logger `serai` at the level that hosts have; nothing of ours may stay on it."""
    logger = logging.getLogger("serai")
    before = logger.level
    logger.setLevel(logging.INFO)
    handlers = list(logger.handlers)
    yield logger
    assert logger.handlers == handlers
    assert logger.level == logging.INFO
    logger.setLevel(before)


class Receiver:
    """An OTLP endpoint that keeps what it gets. `answer` says with which status; `gate` holds it back."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.answer = 200
        self.gate = threading.Event()
        self.gate.set()
        self._more = threading.Condition()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with receiver._more:
                    headers = {name.lower(): value for name, value in self.headers.items()}
                    receiver.requests.append((self.path, headers, body))
                    receiver._more.notify_all()
                receiver.gate.wait(WITHIN)
                with suppress(OSError):
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

    def sent_to(self, path: str) -> list[tuple[str, dict[str, str], dict[str, Any]]]:
        return [one for one in self.requests if one[0] == path]

    def wait(self, count: int) -> None:
        with self._more:
            assert self._more.wait_for(lambda: len(self.requests) >= count, WITHIN)

    def close(self) -> None:
        self.gate.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(WITHIN)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()
