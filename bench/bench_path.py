"""The whole path of an action, from whoever lets it happen to those who hear of it.

All on an encrypted file; whatever is not a delta with a full sync per commit. The peers do the last step
alone: bare writes to the same sockets, or bare commits of the same rows.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median
from typing import cast

from bench_fanout import BURST, DELTA, RATE, SECONDS, SUBSCRIBERS, subscribers, taken
from bench_store import ACTION, SLOWEST, TASKS, Bare
from harness import Result, against_peer, as_served
from serai import jsonrpc
from serai.ahp import actions as a, codec
from serai.ahp.commands import CreateSessionParams, InitializeParams
from serai.ahp.notifications import DispatchActionParams
from serai.ahp.types import ROOT, MarkdownResponsePart, UsageInfo, UserMessage
from serai.contract import Role
from serai.harness.callback import CallbackHarness
from serai.host.host import Host
from serai.host.session.session import Session
from serai.host.turn import Turn
from serai.serve.ahp.commands import ahp_peer
from serai.serve.frames import text_frame
from serai.serve.websocket import WebSocket
from serai.store.sqlite.store import SqliteStore

ROUNDS = 12
STEADY_ROUNDS = 8
EACH = 25


def benchmarks() -> Iterator[Result]:
    """Fan-out, throughput and the echo."""
    yield from asyncio.run(_fan_out())
    yield from asyncio.run(_throughput())
    yield asyncio.run(_echo())


@asynccontextmanager
async def _host() -> AsyncGenerator[Host]:
    async def answer(turn: Turn) -> None:
        await asyncio.Event().wait()  # the benchmark speaks for the agent
        del turn

    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "history.db", os.urandom(32))
        host = Host(store, [CallbackHarness("bench", answer)], text_frame)
        await host.open()
        try:
            yield host
        finally:
            await host.close()


async def _session(host: Host, name: str) -> Session:
    """A session with a running turn of two parts: deltas to them in turn are not merged."""
    params = CreateSessionParams(channel=f"ahp-session:/{name}", provider="bench")
    session = await host.create(params, "bench")
    await host.journal.committed()
    session.act(a.SessionTurnStartedAction(turn_id="t", user_message=UserMessage(text="go")))
    for part in ("p0", "p1"):
        session.act(a.SessionResponsePartAction(turn_id="t", part=MarkdownResponsePart(id=part, content="")))
    await host.journal.committed()
    return session


# -- fan-out -----------------------------------------------------------------------------------------------


class _Watcher:
    """A subscriber that keeps the buffers, and says when so many deltas have come."""

    def __init__(self) -> None:
        self.buffers: list[bytes] = []
        self._missing = 0
        self._all = asyncio.Event()

    def publish(self, frames: bytes) -> None:
        """Count the deltas: each has a word of its own in it, also when several were merged."""
        self.buffers.append(frames)
        self._missing -= frames.count(b"words")
        if self._missing <= 0:
            self._all.set()

    def expect(self, deltas: int) -> None:
        """So many more are going to come."""
        self._missing += deltas
        self._all.clear()

    async def come(self) -> None:
        """Wait for them."""
        await self._all.wait()


async def _fan_out() -> list[Result]:  # noqa: C901 - the subjects stand side by side
    async with _host() as host, subscribers() as sockets, AsyncExitStack() as stack:
        session = await _session(host, "fan-out")
        watcher = _Watcher()
        for socket in sockets:
            host.journal.subscriptions.add(session.uri, ahp_peer(host, socket))
        host.journal.subscriptions.add(session.uri, watcher)
        actions = [
            a.SessionDeltaAction(turn_id="t", part_id=f"p{n % 2}", content="some words of text ")
            for n in range(BURST)
        ]

        async def burst() -> None:
            watcher.expect(BURST)
            for action in actions:
                session.act(action)
            await watcher.come()

        async def steady() -> None:
            start, count = time.perf_counter(), int(RATE * SECONDS)
            watcher.expect(count)
            for number in range(count):
                await asyncio.sleep(max(0.0, start + (number + 1) / RATE - time.perf_counter()))
                session.act(actions[number % 2])
            await watcher.come()

        async def same_buffers() -> None:
            """The same load: as many deltas come, and each buffer goes out when its last one has."""
            start, count, come, frames = time.perf_counter(), int(RATE * SECONDS), 0, iter(buffers)
            buffer = next(frames)
            for number in range(count):
                await asyncio.sleep(max(0.0, start + (number + 1) / RATE - time.perf_counter()))
                come += 1
                if come == buffer.count(b"words"):
                    for socket in sockets:
                        socket.transport.write(buffer)
                    come, buffer = 0, next(frames, b"")

        async def one_each(count: int, pause: float) -> None:
            start = time.perf_counter()
            for number in range(count):
                if pause:
                    await asyncio.sleep(max(0.0, start + (number + 1) * pause - time.perf_counter()))
                for socket in sockets:
                    socket.transport.write(DELTA)

        async def cpu(work: Coroutine[None, None, None]) -> float:
            start = time.process_time()
            await work
            await taken(sockets)
            return time.process_time() - start

        stack.enter_context(as_served())
        buffers: list[bytes] = []
        took: dict[str, list[float]] = {"burst": [], "each": [], "steady": [], "same": [], "steady each": []}
        for _ in range(ROUNDS):
            took["burst"].append(await cpu(burst()))
            took["each"].append(await cpu(one_each(BURST, 0)))
        for _ in range(STEADY_ROUNDS):
            watcher.buffers.clear()
            took["steady"].append(await cpu(steady()))
            buffers = list(watcher.buffers)
            took["same"].append(await cpu(same_buffers()))
            took["steady each"].append(await cpu(one_each(int(RATE * SECONDS), 1 / RATE)))
    # At a steady rate most of a second is sleep, and waking up is now cheap, now dear: the middle counts.
    best = {name: min(times) for name, times in took.items()}
    best |= {name: median(took[name]) for name in ("steady", "same", "steady each")}
    per_burst, per_second = BURST * SUBSCRIBERS / 1e6, RATE * SECONDS * SUBSCRIBERS / 1e6
    name = f"whole path to each of {SUBSCRIBERS}"
    return [
        against_peer(
            f"{name}, burst",
            best["burst"] / per_burst,
            "µs",
            peer="bare writes, one each",
            peer_figure=best["each"] / per_burst,
            target=0.1,
        ),
        against_peer(
            f"{name}, {RATE}/s",
            best["steady"] / per_second,
            "µs",
            peer="bare writes, same buffers",
            peer_figure=best["same"] / per_second,
            target=1.5,
        ),
        against_peer(
            f"{name}, {RATE}/s, batched",
            best["steady"] / per_second,
            "µs",
            peer="bare writes, one each",
            peer_figure=best["steady each"] / per_second,
            target=0.6,
        ),
    ]


# -- throughput --------------------------------------------------------------------------------------------


async def _throughput() -> list[Result]:
    """Sixteen sessions with durable actions, against sixteen tasks on a bare writer thread.

    Agents act and go on: what they do is durable before anyone hears of it. That is what the target is for.
    The other figure is for who waits for each action; nobody who uses a host does.
    """
    async with _host() as host:
        sessions = [await _session(host, f"s{n}") for n in range(TASKS)]
        action = a.SessionUsageAction(turn_id="t", usage=UsageInfo(input_tokens=1))

        async def agents() -> None:
            async def agent(session: Session) -> None:
                for _ in range(EACH):
                    session.act(action)
                    await asyncio.sleep(0)

            await asyncio.gather(*map(agent, sessions))
            await host.journal.committed()

        async def waiting(session: Session) -> None:
            loop = asyncio.get_running_loop()
            for _ in range(EACH):
                durable: asyncio.Future[None] = loop.create_future()
                session.act(action)
                host.journal.then(lambda _seq, durable=durable: durable.set_result(None))
                await durable

        with tempfile.TemporaryDirectory() as folder:
            bare = Bare(Path(folder) / "bare.db")

            async def theirs() -> None:
                for _ in range(EACH):
                    await bare.append(ACTION)

            best = [9e9, 9e9, 9e9]
            for _ in range(40):
                start = time.perf_counter()
                await agents()
                best[0] = min(best[0], time.perf_counter() - start)
                start = time.perf_counter()
                await asyncio.gather(*map(waiting, sessions))
                best[1] = min(best[1], time.perf_counter() - start)
                start = time.perf_counter()
                await asyncio.gather(*(theirs() for _ in range(TASKS)))
                best[2] = min(best[2], time.perf_counter() - start)
            bare.close()
    acting, each, peer = (seconds / (TASKS * EACH) * 1e6 for seconds in best)
    name, bare_thread = "a durable action of 16 sessions", "bare writer thread"
    waited = f"{name}, awaited"
    return [
        against_peer(name, acting, "µs", peer=bare_thread, peer_figure=peer, target=SLOWEST),
        against_peer(waited, each, "µs", peer=bare_thread, peer_figure=peer, target=None),
    ]


# -- the echo ----------------------------------------------------------------------------------------------


class _Link:
    """A connection that only says when something came."""

    remote = "bench"
    token_digest = ""
    path = "/"
    role = Role.OWNER
    is_open = True

    def __init__(self) -> None:
        self.came: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def admits(self, token_digest: str) -> bool:
        """See `Connection`."""
        return bool(token_digest)

    def send(self, frames: bytes) -> None:
        """Something came."""
        del frames
        if not self.came.done():
            self.came.set_result(None)

    respond = send

    async def respond_in_pieces(self, pieces: AsyncIterator[bytes]) -> None:
        """Take them all."""
        self.send(b"".join([piece async for piece in pieces]))

    def flush(self) -> None:
        """Nothing is kept back."""

    def close(self, code: int, reason: str) -> None:
        """Nobody closes."""


async def _echo() -> Result:
    """From a client's frame to its echo, against a commit of one row on a bare writer thread."""
    async with _host() as host:
        session = await _session(host, "echo")
        link = _Link()
        peer = ahp_peer(host, cast("WebSocket", link))
        hello = InitializeParams(channel=ROOT, protocol_versions=["0.2.0"], client_id="c")
        peer.received(codec.encode(jsonrpc.Request(id=1, method="initialize", params=hello)))
        await link.came
        host.journal.subscriptions.add(session.uri, peer)
        frames = [
            codec.encode(
                jsonrpc.Notification(
                    method="dispatchAction",
                    params=DispatchActionParams(
                        channel=session.uri, client_seq=0, action=a.SessionTitleChangedAction(title=f"{n}")
                    ),
                )
            )
            for n in range(200)
        ]
        with tempfile.TemporaryDirectory() as folder:
            bare = Bare(Path(folder) / "bare.db")
            echoes: list[float] = []
            commits: list[float] = []
            for frame in frames:
                link.came = asyncio.get_running_loop().create_future()
                start = time.perf_counter()
                peer.received(frame)
                await link.came
                echoes.append(time.perf_counter() - start)
                start = time.perf_counter()
                await bare.append(ACTION)
                commits.append(time.perf_counter() - start)
            bare.close()
    echoes.sort()
    commits.sort()
    middle = len(frames) // 2
    return against_peer(
        "echo to a single client",
        echoes[middle] * 1e6,
        "µs",
        peer="a bare durable commit",
        peer_figure=commits[middle] * 1e6,
        target=2.5,
    )
