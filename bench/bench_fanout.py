"""What it costs to tell 200 subscribers of a delta: frames built once, and one write per tick.

The clients live in a process of their own, so only the serving side's CPU is counted. The peers are bare
writes to the very same sockets.
"""

from __future__ import annotations

import asyncio
import gc
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import cast

from harness import Result, against_peer
from serai import jsonrpc
from serai.ahp import codec
from serai.ahp.actions import ActionEnvelope, SessionDeltaAction
from serai.config.settings import Settings
from serai.serve.frames import text_frame
from serai.serve.port import serve_port
from serai.serve.websocket import WebSocket

SUBSCRIBERS = 200
BURST = 100
BATCH = 10
WINDOW = 0.005
RATE = 500
SECONDS = 1.0
ROUNDS = 15
STEADY_ROUNDS = 4

DELTA = text_frame(
    codec.encode(
        jsonrpc.Notification(
            method="action",
            params=ActionEnvelope(
                channel="ahp-session:/0d5b2c3e-1111-4222-8333-444455556666",
                action=SessionDeltaAction(turn_id="turn-12", part_id="part-3", content="some words of text "),
                server_seq=123_456,
            ),
        )
    )
)

Subject = Callable[[list[WebSocket]], Awaitable[None]]


def benchmarks() -> Iterator[Result]:
    """Batches against bare writes of the same buffers, and against a bare write of each delta."""
    ours, same = asyncio.run(_measure(ROUNDS, BURST, _batches, _bare_batches))
    bare = "bare writes"
    name = f"a delta to each of {SUBSCRIBERS}"
    yield against_peer(
        f"{name}, in tens", ours, "µs", peer=f"{bare}, same buffers", peer_figure=same, target=1.5
    )
    ours, each = asyncio.run(_measure(ROUNDS, BURST, _one_batch, _bare_each))
    yield against_peer(f"{name}, burst", ours, "µs", peer=f"{bare}, one each", peer_figure=each, target=0.1)
    count = int(RATE * SECONDS)
    ours, each = asyncio.run(_measure(STEADY_ROUNDS, count, _windows, _bare_steady))
    yield against_peer(
        f"{name}, {RATE}/s", ours, "µs", peer=f"{bare}, one each", peer_figure=each, target=0.6
    )


# -- the subjects: each tells all subscribers of BURST deltas, or of RATE * SECONDS --------------------------


async def _batches(sockets: list[WebSocket]) -> None:
    frames = DELTA * BATCH
    for _ in range(BURST // BATCH):
        for one in sockets:
            one.send(frames)
        await asyncio.sleep(0)


async def _bare_batches(sockets: list[WebSocket]) -> None:
    frames = DELTA * BATCH
    for _ in range(BURST // BATCH):
        for one in sockets:
            one.transport.write(frames)
        await asyncio.sleep(0)


async def _one_batch(sockets: list[WebSocket]) -> None:
    frames = DELTA * BURST
    for one in sockets:
        one.send(frames)
    await asyncio.sleep(0)


async def _bare_each(sockets: list[WebSocket]) -> None:
    for _ in range(BURST):
        for one in sockets:
            one.transport.write(DELTA)
    await asyncio.sleep(0)


async def _windows(sockets: list[WebSocket]) -> None:
    """What has come within a window goes out in one write, as the journal publishes it."""
    start, told, count = time.perf_counter(), 0, int(RATE * SECONDS)
    while told < count:
        await asyncio.sleep(WINDOW)
        due = min(count, int((time.perf_counter() - start) * RATE))
        frames = DELTA * (due - told)
        told = due
        for one in sockets:
            one.send(frames)


async def _bare_steady(sockets: list[WebSocket]) -> None:
    start, told, count = time.perf_counter(), 0, int(RATE * SECONDS)
    while told < count:
        await asyncio.sleep(max(0.0, start + (told + 1) / RATE - time.perf_counter()))
        told += 1
        for one in sockets:
            one.transport.write(DELTA)


# -- measuring ------------------------------------------------------------------------------------------


async def _measure(rounds: int, deltas: int, *subjects: Subject) -> list[float]:
    """The least CPU per delivered delta, in microseconds, of subjects that take turns."""
    best = [float("inf")] * len(subjects)
    async with subscribers() as sockets:
        gc.collect()
        gc.disable()
        try:
            for _ in range(rounds):
                for number, subject in enumerate(subjects):
                    start = time.process_time()
                    await subject(sockets)
                    await taken(sockets)
                    best[number] = min(best[number], time.process_time() - start)
        finally:
            gc.enable()
    return [seconds / deltas / SUBSCRIBERS * 1e6 for seconds in best]


async def taken(sockets: list[WebSocket]) -> None:
    """Wait until the system has taken everything."""
    while any(one.transport.get_write_buffer_size() for one in sockets):  # noqa: ASYNC110 - it has no event
        await asyncio.sleep(0.01)


class _Subscriber:
    """A peer that only listens."""

    def received(self, data: bytes) -> None:
        """Clients say nothing here."""

    def holds_up(self, go_on: Callable[[], None]) -> bool:  # noqa: ARG002 - nothing does
        """Never."""
        return False

    def disconnected(self) -> None:
        """They leave when the benchmark is over."""


@asynccontextmanager
async def subscribers() -> AsyncGenerator[list[WebSocket]]:
    """A port, and clients in another process, all connected."""
    sockets: list[WebSocket] = []
    complete = asyncio.Event()
    started: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def factory(connection: WebSocket) -> _Subscriber:
        sockets.append(connection)
        if len(sockets) == SUBSCRIBERS:
            complete.set()
        return _Subscriber()

    port = asyncio.create_task(
        serve_port(Settings(port=0), factory, lambda: (True, {}), started=started.set_result)
    )
    clients = await asyncio.create_subprocess_exec(
        sys.executable, __file__, str(await started), stdout=subprocess.DEVNULL
    )
    try:
        await asyncio.wait_for(complete.wait(), 20)
        yield sockets
    finally:
        clients.terminate()
        await clients.wait()
        port.cancel()
        await asyncio.wait({port})


def _read_for_ever(port: int) -> None:
    """The clients: they connect, and throw away all that they hear."""
    selector = selectors.DefaultSelector()
    for _ in range(SUBSCRIBERS):
        client = socket.create_connection(("127.0.0.1", port))
        client.sendall(
            b"GET /ahp HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        selector.register(client, selectors.EVENT_READ)
    buffer = bytearray(262_144)  # one for all: who listens should not take the machine from who is measured
    while selector.get_map():
        for key, _ in selector.select():
            if not cast("socket.socket", key.fileobj).recv_into(buffer):
                selector.unregister(key.fileobj)


if __name__ == "__main__":
    _read_for_ever(int(sys.argv[1]))
