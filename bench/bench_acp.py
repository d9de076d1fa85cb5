"""What it costs to hear an agent and to start one, beside the Python SDK of the protocol and a bare start.

The CPU is that of the reading process alone. On the host an update goes all the way: from the pipe to actions
that are masked, applied, committed to an encrypted file and published in envelopes to someone who follows.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import acp
from harness import Result, against_peer, as_served
from serai.acp.agent import Agent
from serai.acp.client_side import ClientSide
from serai.acp.process.connection import Launch
from serai.acp.prompt import Finished
from serai.acp.session import AcpSession
from serai.agents.catalogue.definitions import AgentDefinition, Way
from serai.agents.catalogue.finder import FoundAgent
from serai.ahp.actions import ActionOrigin, SessionTurnStartedAction
from serai.ahp.commands import CreateSessionParams
from serai.ahp.types import UserMessage
from serai.harness.acp.harness import AcpHarness
from serai.host.host import Host
from serai.host.session.session import Session
from serai.machine.processes.processes import Processes
from serai.serve.frames import text_frame
from serai.store.sqlite.store import SqliteStore

UPDATES = 20_000
AGENTS = 50
ROUNDS = 8
STARTS = 10
HERE = Path(__file__).parent
STREAMING = (sys.executable, "-I", "-S", str(HERE / "streaming_agent.py"))
TYPICAL = (sys.executable, str(HERE.parent / "tests/acp/agents/independent.py"))
HELLO = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}\n'


def benchmarks() -> Iterator[Result]:
    """An update from pipe to type, and to envelope; from 50 agents at once; a start until the handshake."""
    typed, told, many, theirs = (
        seconds / UPDATES * 1e6
        for seconds in _take_turns(
            lambda: asyncio.run(_hear(1, UPDATES)),
            lambda: asyncio.run(_host(1, UPDATES)),
            lambda: asyncio.run(_host(AGENTS, UPDATES // AGENTS)),
            lambda: asyncio.run(_hear_sdk(UPDATES)),
        )
    )
    sdk = "Python SDK, receive alone"
    name = "an agent's update"
    yield against_peer(f"{name}, from pipe to type", typed, "µs", peer=sdk, peer_figure=theirs, target=None)
    yield against_peer(f"{name}, to AHP envelope", told, "µs", peer=sdk, peer_figure=theirs, target=0.35)
    yield against_peer(
        f"the same, {AGENTS} agents at once", many, "µs", peer=sdk, peer_figure=theirs, target=None
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
    return await Agent.start(Launch(argv), processes, client=ClientSide(), mask=str, warn=print)


async def _hear(agents: int, updates: int) -> float:
    """CPU seconds to hear a turn of so many updates from each of so many agents."""
    processes = Processes()
    running = [await _agent(processes, (*STREAMING, str(updates))) for _ in range(agents)]
    sessions = [await agent.open_session(HERE) for agent in running]
    start = time.process_time()
    heard = await asyncio.gather(*map(_turn, sessions))
    took = time.process_time() - start
    _check(sum(heard), agents * updates)
    for agent in running:
        await agent.close()
    await processes.close()
    return took


async def _turn(session: AcpSession) -> int:
    """Prompt, and take all that is told until the end of the turn, which counts."""
    session.prompt("go")
    count = 0
    async for item in session.updates():
        count += 1
        if isinstance(item, Finished):
            break
    return count


class _Follower:
    """Someone who follows a session, and says when its turn is over."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.bytes = 0

    def publish(self, frames: bytes) -> None:
        """The journal's `Subscriber`."""
        self.bytes += len(frames)
        if b'"session/turnComplete"' in frames:
            self.over.set()


async def _host(agents: int, updates: int) -> float:
    """CPU seconds of a host to hear a turn of so many updates from each of so many agents, and to tell it."""
    argv = (*STREAMING, str(updates))
    way = Way(program=argv[0])
    found = FoundAgent(
        AgentDefinition(id="bench", label="Bench", ways=(way,)),
        installed=True,
        way=way,
        launch=Launch(argv=argv, name="bench"),
    )
    with tempfile.TemporaryDirectory() as directory:
        store = SqliteStore(Path(directory) / "history.db", os.urandom(32))
        host = Host(store, [], text_frame, home=Path(directory))
        await host.open()
        host.agent_list.add([AcpHarness(found, host)])
        try:
            sessions = [await _session(host, f"s{number}", directory) for number in range(agents)]
            followers = [_Follower() for _ in sessions]
            for session, follower in zip(sessions, followers, strict=True):
                host.journal.subscriptions.add(session.uri, follower)
            with as_served():
                start = time.process_time()
                for session, follower in zip(sessions, followers, strict=True):
                    action = SessionTurnStartedAction(turn_id="t", user_message=UserMessage(text="go"))
                    session.dispatch(action, ActionOrigin(client_id="bench", client_seq=1), follower)
                await asyncio.gather(*(follower.over.wait() for follower in followers))
                took = time.process_time() - start
            _check(sum(follower.bytes for follower in followers), agents * updates * 10)
        finally:
            await host.close()
    return took


async def _session(host: Host, name: str, folder: str) -> Session:
    uri = f"ahp-session:/{name}"
    params = CreateSessionParams(channel=uri, provider="bench", working_directory=Path(folder).as_uri())
    session = await host.create(params, "bench")
    while session.live.head.lifecycle == "creating":  # noqa: ASYNC110 - nothing is measured yet
        await asyncio.sleep(0.01)
    return session


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
    processes = Processes()
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
