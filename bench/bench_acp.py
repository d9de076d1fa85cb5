"""What it costs to hear an agent and to start one, beside the Python SDK of the protocol and a bare start.

The CPU is that of the reading process alone. From a typed update on, the host adds its own path: the mapping
to actions, and the envelopes (`bench_host.py`).
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import acp
from harness import Result, against_peer
from serai.acp import Agent, BasicClient, Launch
from serai.processes.processes import Processes

UPDATES = 20_000
AGENTS = 50
ROUNDS = 5
STARTS = 10
HERE = Path(__file__).parent
STREAMING = (sys.executable, "-I", "-S", str(HERE / "streaming_agent.py"))
TYPICAL = (sys.executable, str(HERE.parent / "tests/acp/agents/independent.py"))
HELLO = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}\n'


def benchmarks() -> Iterator[Result]:
    """An update from pipe to type; the same from 50 agents at once; a start until the handshake."""
    ours, theirs = _take_turns(
        lambda: asyncio.run(_hear(1, UPDATES)), lambda: asyncio.run(_hear_sdk(UPDATES))
    )
    yield against_peer(
        "an agent's update, from pipe to type",
        ours / UPDATES * 1e6,
        "µs",
        peer="Python SDK, receive alone",
        peer_figure=theirs / UPDATES * 1e6,
        target=0.35,
    )
    many, one = _take_turns(
        lambda: asyncio.run(_hear(AGENTS, UPDATES // AGENTS)), lambda: asyncio.run(_hear(1, UPDATES))
    )
    yield against_peer(
        f"the same, {AGENTS} agents at once",
        many / UPDATES * 1e6,
        "µs",
        peer="one agent",
        peer_figure=one / UPDATES * 1e6,
        target=None,
    )
    started, bare = _take_turns(lambda: asyncio.run(_start()), _start_bare, rounds=STARTS)
    yield against_peer(
        "start of an agent", started * 1e3, "ms", peer="its bare start", peer_figure=bare * 1e3, target=1.1
    )


def _take_turns(*subjects: Callable[[], float], rounds: int = ROUNDS) -> list[float]:
    """The least of several rounds for each subject, which measures itself."""
    best = [float("inf")] * len(subjects)
    for _ in range(rounds):
        for number, subject in enumerate(subjects):
            best[number] = min(best[number], subject())
    return best


async def _agent(processes: Processes, argv: tuple[str, ...]) -> Agent:
    return await Agent.start(Launch(argv), processes, client=BasicClient(), mask=str, warn=print)


async def _hear(agents: int, updates: int) -> float:
    """CPU seconds to hear a turn of so many updates from each of so many agents."""
    with tempfile.TemporaryDirectory() as directory:
        processes = Processes(Path(directory))
        running = [await _agent(processes, (*STREAMING, str(updates))) for _ in range(agents)]
        heard: list[Any] = []
        sessions = [await agent.new_session(HERE, on_update=heard.append) for agent in running]
        start = time.process_time()
        await asyncio.gather(*(session.prompt("go").finished() for session in sessions))
        took = time.process_time() - start
        _check(len(heard), agents * updates)
        for agent in running:
            await agent.close()
        await processes.close()
    return took


async def _hear_sdk(updates: int) -> float:
    heard: list[Any] = []

    class Client:
        async def session_update(self, **update: Any) -> None:
            heard.append(update["update"])

    client = cast("acp.Client", Client())
    async with acp.spawn_agent_process(client, *STREAMING, str(updates)) as (connection, _):
        await connection.initialize(protocol_version=1)
        session = await connection.new_session(cwd=str(HERE), mcp_servers=[])
        start = time.process_time()
        await connection.prompt(prompt=[acp.text_block("go")], session_id=session.session_id)
        while len(heard) < updates:  # noqa: ASYNC110 - the SDK says nothing of it
            await asyncio.sleep(0)
        took = time.process_time() - start
    _check(len(heard), updates)
    return took


async def _start() -> float:
    with tempfile.TemporaryDirectory() as directory:
        processes = Processes(Path(directory))
        start = time.perf_counter()
        agent = await _agent(processes, TYPICAL)
        took = time.perf_counter() - start
        await agent.close()
        await processes.close()
    return took


def _start_bare() -> float:
    start = time.perf_counter()
    process = subprocess.Popen(
        TYPICAL, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        raise RuntimeError("no pipes")
    stdin.write(HELLO)
    stdin.flush()
    answer = stdout.readline()
    took = time.perf_counter() - start
    stdin.close()
    stdout.close()
    process.wait()
    if b'"result"' not in answer:
        raise RuntimeError(f"no handshake: {answer!r}")
    return took


def _check(heard: int, told: int) -> None:
    if heard < told:
        raise RuntimeError(f"only {heard} of {told} updates were heard")
