"""Export: posts the same OTLP/JSON as the channels to the collector in `OTEL_EXPORTER_OTLP_ENDPOINT`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from serai.telemetry.logs import unheard
from serai.telemetry.otlp import Json, Signal, pairs

_log = logging.getLogger(__name__)

_WAITING = 4096
"""Most records of a signal that wait to be posted."""


class Target(NamedTuple):
    """Address for the posts of a signal, with headers and a timeout."""

    url: str
    headers: Mapping[str, str]
    timeout: float


def targets(environ: Mapping[str, str]) -> dict[Signal, Target]:
    """Read the address for each signal from the `OTEL_*` variables. Unsupported ones are logged.

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
    """Posts payloads to a collector, from the running loop. Meanwhile the next ones are gathered.

    Args:
        targets: The address for each signal.
        lost: Called with the number of records of a signal that were lost.
    """

    def __init__(self, targets: Mapping[Signal, Target], lost: Callable[[Signal, int], None]) -> None:
        from httpx2 import AsyncClient  # noqa: PLC0415 - slow to load, and most hosts export nothing

        self._targets = targets
        self._lost = lost
        self._client = AsyncClient()
        self._waiting: dict[Signal, list[tuple[Json, int]]] = {signal: [] for signal in targets}
        self._posting: dict[Signal, asyncio.Task[None]] = {}

    def put(self, signal: Signal, payload: Json, count: int) -> None:
        """Queue a payload with a number of records. What does not fit is lost, and counted.

        Newer readings of metrics replace older ones: they count from the start, so the newest has everything.
        """
        waiting = self._waiting[signal]
        if signal is Signal.METRICS:
            waiting.clear()
        if sum(records for _, records in waiting) + count > _WAITING:
            self._lost(signal, count)
            return
        waiting.append((payload, count))
        if signal not in self._posting:
            with unheard():
                self._posting[signal] = asyncio.create_task(self._post(signal), name=f"export of {signal}")

    async def close(self, timeout: float) -> None:  # noqa: ASYNC109 - what is under way is then given up
        """Post what waits, for at most `timeout` seconds, and close."""
        tasks = [*self._posting.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=timeout)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._client.aclose()
        for signal, waiting in self._waiting.items():
            if waiting:
                self._lost(signal, sum(count for _, count in waiting))

    async def _post(self, signal: Signal) -> None:
        try:
            while batch := self._waiting[signal]:
                self._waiting[signal] = []
                (name,) = batch[0][0]
                body = {name: [each for payload, _ in batch for each in payload[name]]}
                if not await self._is_taken(self._targets[signal], msgspec.json.encode(body)):
                    self._lost(signal, sum(count for _, count in batch))
        finally:
            del self._posting[signal]

    async def _is_taken(self, target: Target, body: bytes) -> bool:
        headers = {"Content-Type": "application/json", **target.headers}
        try:
            answer = await self._client.post(
                target.url, content=body, headers=headers, timeout=target.timeout
            )
        except Exception as error:  # noqa: BLE001 - whatever it is, only these records are lost
            _log.debug("telemetry could not be posted: %s", error)
            return False
        return answer.is_success
