"""What the host takes to open, to list and to bring a delta from an agent to a client."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from harness import Result, against_limit, as_served
from serai.ahp import actions as a, wire
from serai.ahp.commands import CreateSessionParams
from serai.ahp.types import MarkdownResponsePart, SessionState, SessionSummary, Turn, UserMessage
from serai.harness.callback import CallbackHarness
from serai.host.host import Host
from serai.host.turn import Turn as AgentTurn
from serai.journal.sessions import KeptSession
from serai.serve.frames import text_frame
from serai.store.contract import Batch, Row
from serai.store.sqlite.store import SqliteStore

KEY = b"0123456789abcdef0123456789abcdef"
HERE = Path(__file__).parent


def benchmarks() -> Iterator[Result]:
    """All on encrypted SQLite with full sync."""
    with tempfile.TemporaryDirectory() as folder:
        yield asyncio.run(_open_long_session(Path(folder)))
    with tempfile.TemporaryDirectory() as folder:
        yield from asyncio.run(_list_sessions(Path(folder)))
    with tempfile.TemporaryDirectory() as folder, as_served():
        yield from asyncio.run(_latency(Path(folder)))
    with tempfile.TemporaryDirectory() as folder:
        yield _memory(Path(folder))


def _state(uri: str, *turns: Turn) -> SessionState:
    return SessionState(
        summary=SessionSummary(
            resource=uri, provider="bench", title=f"Session {uri}", status=1, created_at=0, modified_at=0
        ),
        lifecycle="ready",
        turns=list(turns),
    )


def _host(folder: Path) -> Host:
    async def answer(turn: AgentTurn) -> None:
        await turn.say(turn.message.text)

    return Host(SqliteStore(folder / "history.db", KEY), [CallbackHarness("bench", answer)], text_frame)


async def _open_long_session(folder: Path) -> Result:
    """100,000 actions in 100 turns, as an agent streams them, opened in a host that has just started."""
    uri = "ahp-session:/long"
    store = SqliteStore(folder / "history.db", KEY)
    await store.open()
    kept = KeptSession.create(uri, _state(uri))
    for number in range(100):
        turn = f"t{number}"
        actions: list[a.StateAction] = [
            a.SessionTurnStartedAction(turn_id=turn, user_message=UserMessage(text="go on")),
            *(
                a.SessionResponsePartAction(turn_id=turn, part=MarkdownResponsePart(id=f"p{n}", content=""))
                for n in range(2)
            ),
            *(
                a.SessionDeltaAction(turn_id=turn, part_id=f"p{n % 2}", content="some words of text ")
                for n in range(996)
            ),
            a.SessionTurnCompleteAction(turn_id=turn),
        ]
        for start in range(0, len(actions), 100):
            batch = Batch(durable=False)
            for action in actions[start : start + 100]:
                kept.apply(action, number)
                batch.items.append(Row(uri, wire.encode(action)))
            kept.wrote([sum(len(row.action) for row in batch.items if row)])
            kept.save(batch, len(batch.items) - 1)
            await store.append(batch)
    await store.close()
    best = float("inf")
    for _ in range(5):
        host = _host(folder)
        await host.open()
        start = time.perf_counter()
        session = await host.sessions.bring(uri)
        best = min(best, time.perf_counter() - start)
        if session is None or len(session.live.head.turns) != 100:
            raise RuntimeError("the session did not come back whole")
        await host.close()
    return against_limit("open a session of 100,000 actions", best * 1e3, "ms", limit=50)


async def _list_sessions(folder: Path) -> Iterator[Result]:
    store = SqliteStore(folder / "history.db", KEY)
    await store.open()
    batch = Batch()
    for number in range(10_000):
        kept = KeptSession.create(f"ahp-session:/{number}", _state(f"ahp-session:/{number}"))
        kept.save(batch, -1)
    await store.append(batch)
    await store.close()
    ready, listed = float("inf"), float("inf")
    for _ in range(5):
        host = _host(folder)
        start = time.perf_counter()
        await host.open()
        ready = min(ready, time.perf_counter() - start)
        start = time.perf_counter()
        wire.encode(host.sessions.summaries())
        listed = min(listed, time.perf_counter() - start)
        await host.close()
    return iter(
        [
            against_limit("list 10,000 sessions", listed, "s", limit=0.1),
            against_limit("open a host with 10,000 sessions", ready, "s", limit=1.0),
        ]
    )


class _Clock:
    """A subscriber that reads when a delta was said, and compares."""

    def __init__(self, waits: list[float]) -> None:
        self._waits = waits

    def publish(self, frames: bytes) -> None:
        now = time.perf_counter()
        at = frames.find(b"said:")
        while at >= 0:
            self._waits.append(now - float(frames[at + 5 : at + 21]))
            at = frames.find(b"said:", at + 21)


async def _latency(folder: Path) -> Iterator[Result]:
    """100 sessions, 20 deltas a second each, for five seconds: from the agent's call to the subscriber's."""
    waits: list[float] = []
    clock = _Clock(waits)

    async def answer(turn: AgentTurn) -> None:
        number = int(turn.message.text)
        loop = asyncio.get_running_loop()
        begin = loop.time() + number / 2000
        for step in range(100):
            await asyncio.sleep(max(0.0, begin + step / 20 - loop.time()))
            await turn.say(f"said:{time.perf_counter():016.6f} some words of text ")

    host = Host(SqliteStore(folder / "history.db", KEY), [CallbackHarness("bench", answer)], text_frame)
    await host.open()
    sessions = [
        await host.create(CreateSessionParams(channel=f"ahp-session:/{n}", provider="bench"), "c")
        for n in range(100)
    ]
    await host.journal.committed()
    await _until(lambda: all(session.live.head.lifecycle == "ready" for session in sessions))
    origin = a.ActionOrigin(client_id="c", client_seq=0)
    for number, session in enumerate(sessions):
        host.journal.subscriptions.add(session.uri, clock)
        session.dispatch(
            a.SessionTurnStartedAction(turn_id="t", user_message=UserMessage(text=str(number))), origin, clock
        )
    await _until(lambda: all(session.live.head.turns for session in sessions))
    await host.close()
    waits.sort()
    count = len(waits)
    return iter(
        [
            against_limit("delta, agent to subscriber, p50", waits[count // 2] * 1e3, "ms", limit=1.5),
            against_limit("delta, agent to subscriber, p99", waits[count * 99 // 100] * 1e3, "ms", limit=8),
            against_limit("delta, agent to subscriber, longest", waits[-1] * 1e3, "ms", limit=50),
        ]
    )


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - a benchmark looks from outside, now and then
        await asyncio.sleep(0.05)


def _memory(folder: Path) -> Result:
    """A process with 1,000 idle sessions of 200 kB each and 200 connections: what it takes in all."""
    run = subprocess.run(
        [sys.executable, str(HERE / "idle_host.py"), str(folder)], check=True, capture_output=True, text=True
    )
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return against_limit(
        "1,000 idle sessions, 200 connections", json.loads(run.stdout)["mb"], "MB", limit=150
    )
