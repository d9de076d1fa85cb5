"""Export: posts the channels' own OTLP/JSON to a collector, on a thread of its own.

`OTEL_EXPORTER_OTLP_ENDPOINT` says where. The thread keeps a bounded queue and never makes the loop wait.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from threading import Condition, Thread
from typing import NamedTuple

import msgspec

from serai.telemetry.logs import unheard
from serai.telemetry.otlp import Json, Signal, pairs

_log = logging.getLogger(__name__)

_WAITING = 4096
"""Most records of a signal that wait to be posted."""
_GATHER_SECONDS = 1.0
"""Time that a payload waits for others, so that they go in one request."""


class Target(NamedTuple):
    """Where a signal is posted to, and how."""

    url: str
    headers: Mapping[str, str]
    timeout: float


def targets(environ: Mapping[str, str]) -> dict[Signal, Target]:
    """Read from the `OTEL_*` variables where each signal goes. What cannot be done is logged and left out.

    A signal is exported when there is an endpoint for it or for all, unless `OTEL_<SIGNAL>_EXPORTER` is
    `none` or `OTEL_SDK_DISABLED` is `true`.
    """
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return {}
    found = {signal: _target(signal, environ) for signal in Signal}
    return {signal: target for signal, target in found.items() if target}


def _target(signal: Signal, environ: Mapping[str, str]) -> Target | None:
    def setting(name: str) -> str:
        return environ.get(f"OTEL_{name}", "").strip()

    url = setting(f"EXPORTER_OTLP_{signal.upper()}_ENDPOINT")
    if not url and (base := setting("EXPORTER_OTLP_ENDPOINT")):
        url = f"{base.rstrip('/')}/v1/{signal}"
    if not url or setting(f"{signal.upper()}_EXPORTER") == "none":
        return None
    if not url.startswith(("http://", "https://")) or setting("EXPORTER_OTLP_PROTOCOL") == "grpc":
        _log.warning("%s are not exported: only OTLP over http:// or https:// is supported, not gRPC", signal)
        return None
    headers = pairs(environ, "OTEL_EXPORTER_OTLP_HEADERS")
    milliseconds = setting("EXPORTER_OTLP_TIMEOUT")
    return Target(url, headers, int(milliseconds) / 1000 if milliseconds.isdecimal() else 10.0)


class Poster:
    """Posts payloads to a collector.

    Args:
        targets: Where each signal goes.
        lost: Is told how many records of a signal were lost, on either thread.
    """

    def __init__(self, targets: Mapping[Signal, Target], lost: Callable[[Signal, int], None]) -> None:
        self._targets = targets
        self._lost = lost
        self._changed = Condition()
        self._queue: list[tuple[Signal, Json, int]] = []
        self._closing = False
        self._thread = Thread(target=self._run, name="serai-otlp", daemon=True)
        self._thread.start()

    def put(self, signal: Signal, payload: Json, count: int) -> None:
        """Hand over a payload of so many records. What is too much is lost, and told so.

        Of metrics the older readings give way: they count from the start, so the newest says it all.
        """
        with self._changed:
            if signal is Signal.METRICS:
                self._queue = [each for each in self._queue if each[0] is not signal]
            waiting = sum(records for kind, _, records in self._queue if kind is signal)
            fits = waiting + count <= _WAITING
            if fits:
                self._queue.append((signal, payload, count))
                self._changed.notify_all()
        if not fits:
            self._lost(signal, count)

    def close(self, timeout: float) -> None:
        """Post what waits, for at most so many seconds, and end. Blocks: call it on a thread."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(timeout)
        with self._changed:
            queue, self._queue = self._queue, []
        for signal, _, count in queue:
            self._lost(signal, count)

    # -- on the thread -------------------------------------------------------------------------------------

    def _run(self) -> None:
        with unheard():
            while batch := self._gather():
                for signal, target in self._targets.items():
                    payloads = [payload for kind, payload, _ in batch if kind is signal]
                    if not payloads:
                        continue
                    (name,) = payloads[0]
                    body = {name: [each for payload in payloads for each in payload[name]]}
                    if not _post(target, msgspec.json.encode(body)):
                        self._lost(signal, sum(count for kind, _, count in batch if kind is signal))

    def _gather(self) -> list[tuple[Signal, Json, int]]:
        """Wait for payloads, then a moment for more. Nothing comes when all is posted and it closes."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closing)
            self._changed.wait_for(lambda: self._closing, _GATHER_SECONDS)
            batch, self._queue = self._queue, []
        return batch


def _post(target: Target, body: bytes) -> bool:
    """Post a body. Returns whether it was taken."""
    from urllib import request  # noqa: PLC0415 - slow to load, and most hosts export nothing

    headers = {"Content-Type": "application/json", **target.headers}
    asked = request.Request(target.url, body, headers, method="POST")  # noqa: S310 - http, as `targets` saw to
    try:
        with request.urlopen(asked, timeout=target.timeout):  # noqa: S310 - the same
            return True
    except (OSError, ValueError) as error:
        _log.debug("telemetry could not be posted: %s", error)
        return False
