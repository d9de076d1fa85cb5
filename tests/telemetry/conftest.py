"""A clock that the test moves, a listener for payloads, and an environment without `OTEL_*`."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from serai.telemetry.channels import Level, Signal
from serai.telemetry.cleaning import Cleaner
from serai.telemetry.export import Exporter
from telemetry.receiving import ALL, RESOURCE, WITHIN, Losses, Receiver

SECRET = "hunter2-hunter2"


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
        self.heard: list[tuple[Signal, Level | None, dict[str, Any]]] = []
        self._more = asyncio.Event()

    def __call__(self, signal: Signal, level: Level | None, payload: dict[str, Any]) -> None:
        self.heard.append((signal, level, payload))
        self._more.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(WITHIN):
            while not condition():
                self._more.clear()
                await self._more.wait()

    def payloads(self, signal: Signal, level: Level | None = None) -> list[dict[str, Any]]:
        return [payload for told, at, payload in self.heard if (told, at) == (signal, level)]

    def spans(self) -> list[dict[str, Any]]:
        return [span for payload in self.payloads(Signal.TRACES) for span in spans_of(payload)]

    def bodies(self, level: Level) -> list[str]:
        return [
            record["body"]["stringValue"]
            for payload in self.payloads(Signal.LOGS, level)
            for record in log_records_of(payload)
        ]


def spans_of(payload: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        span for each in payload["resourceSpans"] for scope in each["scopeSpans"] for span in scope["spans"]
    ]


def log_records_of(payload: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        record
        for each in payload["resourceLogs"]
        for scope in each["scopeLogs"]
        for record in scope["logRecords"]
    ]


def metrics_of(payload: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        metric["name"]: metric
        for each in payload["resourceMetrics"]
        for scope in each["scopeMetrics"]
        for metric in scope["metrics"]
    }


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


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    receiver = Receiver()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
    yield receiver
    receiver.close()


@pytest.fixture
def losses() -> Losses:
    return Losses()


@pytest.fixture
def exporting(losses: Losses) -> Iterator[Callable[..., Exporter]]:
    made: list[Exporter] = []

    def make(signals: frozenset[Signal] = ALL, environ: dict[str, str] | None = None) -> Exporter:
        made.append(Exporter(signals, RESOURCE, environ or {}, losses, losses.failed.set))
        return made[-1]

    yield make
    for each in made:
        each.close(WITHIN)
