"""What a message of the relay takes, from its sending to `delivered`.

All on encrypted SQLite with full sync, and with sessions whose agents answer at once. The bare writer writes
the very rows that the relay has written, in the same transactions, and does nothing else.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from bench_store import ACTION, Bare
from harness import Result, against_limit, against_peer, as_served
from serai.ahp import actions as a
from serai.ahp.commands import CreateSessionParams
from serai.ahp.types import UserMessage
from serai.config.settings import RelayPolicy, Settings
from serai.contract import (
    DeliveryState,
    InboxParams,
    RelayMessage,
    Role,
    SearchParams,
    SendParams,
    TokenCreateParams,
    WaitFor,
    encode,
)
from serai.harness.callback import CallbackHarness
from serai.host.host import Host
from serai.host.turn import Turn
from serai.relay.tokens import Caller
from serai.relay.workspace import Workspace
from serai.serve.frames import text_frame
from serai.serve.port import serve_port
from serai.serve.relay import RelayPeer
from serai.store.contract import Batch
from serai.store.sqlite.connection import SQL, Database, connect
from serai.store.sqlite.file import PAGE_SIZE
from serai.store.sqlite.migrations import MIGRATIONS
from serai.store.sqlite.store import SqliteStore

KEY = os.urandom(32)
HERE = Path(__file__).parent
POLICY = RelayPolicy(me="owner", rate=10**9, max_hops=10**9)
OWNER = Caller(Role.OWNER)
SESSIONS, IN_FLIGHT, MESSAGES, ROUNDS = 4, 256, 2_000, 7
REMOTE, CLOSED, TURNS = 2_000, 300, 150
STORED = 1_000_000
AGENT_RELAY = "agent-relay@1.6.0"
TIMES, ITS_MESSAGES = 20, 5
WORDS = (
    "please",
    "look",
    "at",
    "the",
    "last",
    "commit",
    "of",
    "this",
    "branch",
    "and",
    "think",
    "about",
    "it",
)


def benchmarks() -> Iterator[Result]:
    """Each beside its peer, in one run."""
    with as_served():
        yield from asyncio.run(_between_sessions())
        yield from asyncio.run(_one_at_a_time())
    yield _burst()
    with tempfile.TemporaryDirectory() as folder, as_served():
        yield from asyncio.run(_with_many_stored(Path(folder)))
    yield from _beside_agent_relay()


# -- a house with four sessions ----------------------------------------------------------------------------


class Recording(SqliteStore):
    """A store that remembers what it was given to write."""

    batches: list[Batch]
    records = True

    def append(self, batch: Batch) -> asyncio.Future[int]:
        """See `Store`."""
        if self.records:
            self.batches.append(batch)
        return super().append(batch)


@dataclass
class House:
    """A host with its relay, and those who talk there."""

    host: Host
    workspace: Workspace
    store: Recording
    agents: list[Caller] = field(default_factory=list)

    async def send(self, sender: Caller, to: str, text: str, wait_for: WaitFor = WaitFor.DELIVERED) -> None:
        """Send a message, and see to it that it comes so far."""
        params = SendParams(to=to, text=text, wait_for=wait_for, timeout_ms=120_000)
        sent = await self.workspace.call(sender, "messages.send", params)
        if wait_for != WaitFor.ACCEPTED and sent.deliveries[0].state != DeliveryState.DELIVERED:
            raise RuntimeError(f"not delivered: {sent.deliveries[0]}")

    async def talk(
        self, count: int, in_flight: int = IN_FLIGHT, wait_for: WaitFor = WaitFor.DELIVERED
    ) -> float:
        """Have all sessions send to each other. Returns how many seconds a message took."""
        numbers = iter(range(count))

        async def speak(shift: int) -> None:
            for number in numbers:
                sender = self.agents[number % SESSIONS]
                to = self.agents[(number + 1 + shift % (SESSIONS - 1)) % SESSIONS].participant
                await self.send(sender, to.handle if to else "", f"Please look at {number}.", wait_for)

        start = time.perf_counter()
        await asyncio.gather(*(speak(shift) for shift in range(in_flight)))
        return (time.perf_counter() - start) / count


@asynccontextmanager
async def house(folder: Path) -> AsyncGenerator[House]:
    """Open a host with four sessions."""

    async def answer(turn: Turn) -> None:
        await turn.say("done")

    (home := folder / "home").mkdir(exist_ok=True)
    store = Recording(folder / "history.db", KEY)
    store.batches = []
    host = Host(store, [CallbackHarness("bench", answer)], text_frame, user_home=home)
    await host.open()
    workspace = Workspace(host, POLICY)
    await workspace.open()
    built = House(host, workspace, store)
    for number in range(SESSIONS):
        uri = f"ahp-session:/{number}"
        session = await host.sessions.bring(uri)
        if session is None:
            session = await host.create(CreateSessionParams(channel=uri, provider="bench"), "bench")
        await session.ready()
        built.agents.append(Caller(Role.AGENT, workspace.identities.of_session(uri)))
    try:
        yield built
    finally:
        workspace.runner.stop_waiting()
        await workspace.close()
        await host.close()


# -- many at once ------------------------------------------------------------------------------------------


def bare_database(path: Path) -> Database:
    """A database with the same tables, written as the host writes."""
    path.touch()
    database = connect(path, KEY, salt=os.urandom(16))
    database.pragma("page_size", PAGE_SIZE)
    database.pragma("journal_mode", "wal")
    database.pragma("synchronous", "full")
    for step in MIGRATIONS:
        database.execute(step.script)
    return database


def write_bare(database: Database, batches: list[Batch], first: int) -> int:
    """Write the rows of journal and relay, and nothing else. Returns the next number."""
    for batch in batches:
        rows = [(seq, 1, row.action, row.origin, 0) for seq, row in enumerate(batch.items, first) if row]
        database.execute("BEGIN IMMEDIATE")
        database.executemany(SQL["insert_rows"], rows)
        for statement, group in groupby(batch.relay, key=lambda write: write[1].statement):
            values = [(first + item, *write.values) for item, write in group]
            database.executemany(SQL[statement], values)
        database.execute("COMMIT")
        first += len(batch.items)
    return first


async def _between_sessions() -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        bare = bare_database(Path(folder) / "bare.db")
        ours: list[float] = []
        theirs: list[float] = []
        remote: list[float] = []
        async with house(Path(folder)) as built, _port(built) as url:
            await built.talk(IN_FLIGHT)
            first = write_bare(bare, built.store.batches, 1)
            for _ in range(ROUNDS):
                built.store.batches.clear()
                ours.append(await built.talk(MESSAGES))
                start = time.perf_counter()
                first = await asyncio.to_thread(write_bare, bare, built.store.batches, first)
                theirs.append((time.perf_counter() - start) / MESSAGES)
            for _ in range(3):
                remote.append(await _between_remote_ones(built, url))
                ours.append(await built.talk(MESSAGES))
        bare.close()
    return [
        against_peer(
            "a message between two sessions",
            min(ours) * 1e6,
            "µs",
            peer="bare writer, same rows",
            peer_figure=min(theirs) * 1e6,
            target=1 / 0.4,
        ),
        against_peer(
            "a message between two elsewhere",
            min(remote) * 1e6,
            "µs",
            peer="between two sessions",
            peer_figure=min(ours) * 1e6,
            target=1 / 0.4,
        ),
    ]


@asynccontextmanager
async def _port(built: House) -> AsyncGenerator[str]:
    started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(
        serve_port(
            Settings(port=0),
            lambda link: RelayPeer(built.workspace, link),
            lambda: (True, {}),
            started=started.set_result,
            roles=built.workspace.tokens.role_of,
        )
    )
    try:
        yield f"ws://127.0.0.1:{await started}/relay"
    finally:
        serving.cancel()
        await asyncio.wait({serving})


async def _between_remote_ones(built: House, url: str) -> float:
    """Two adapters on a socket each, in a process of their own."""
    tokens = [
        (await built.workspace.call(OWNER, "tokens.create", TokenCreateParams(agent=name))).token
        for name in ("left", "right")
    ]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(HERE / "relay_pair.py"),
        *(url, *tokens, str(REMOTE), str(IN_FLIGHT)),
        stdout=subprocess.PIPE,
    )
    output, _ = await process.communicate()
    return json.loads(output)["seconds"] / REMOTE


# -- one at a time -----------------------------------------------------------------------------------------


class Ends:
    """A subscriber that waits for the end of a turn."""

    def __init__(self) -> None:
        self.came = asyncio.Event()

    def publish(self, frames: bytes) -> None:
        """See `Subscriber`."""
        if b"session/turnComplete" in frames:
            self.came.set()


async def _one_at_a_time() -> list[Result]:
    messages: list[float] = []
    commits: list[float] = []
    by_message: list[float] = []
    by_ahp: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        bare = Bare(Path(folder) / "bare.db")
        async with house(Path(folder)) as built:
            for number in range(CLOSED):
                start = time.perf_counter()
                await built.send(OWNER, "@bench", f"Please look at {number}.")
                messages.append(time.perf_counter() - start)
                start = time.perf_counter()
                await bare.append(ACTION)
                commits.append(time.perf_counter() - start)
            ends, uri = Ends(), "ahp-session:/1"
            built.host.journal.subscriptions.add(uri, ends)
            for number in range(TURNS):
                ends.came.clear()
                start = time.perf_counter()
                await built.send(OWNER, "@bench-2", f"Please look at {number}.", WaitFor.ACCEPTED)
                await ends.came.wait()
                by_message.append(time.perf_counter() - start)
                ends.came.clear()
                said = UserMessage(text=f"Please look at {number}.")
                action = a.SessionTurnStartedAction(turn_id=f"t{number}", user_message=said)
                start = time.perf_counter()
                built.host.dispatch(uri, action, a.ActionOrigin(client_id="c", client_seq=number), ends)
                await ends.came.wait()
                by_ahp.append(time.perf_counter() - start)
        bare.close()
    for figures in (messages, by_message, by_ahp):
        figures.sort()
    return [
        against_peer(
            "one message at a time, p99",
            messages[CLOSED * 99 // 100] * 1e3,
            "ms",
            peer="a bare durable commit",
            peer_figure=sum(commits) / CLOSED * 1e3,
            target=8,
        ),
        against_peer(
            "a turn begun by a message",
            by_message[TURNS // 2] * 1e3,
            "ms",
            peer="one begun over AHP",
            peer_figure=by_ahp[TURNS // 2] * 1e3,
            target=1.3,
        ),
    ]


# -- a burst -----------------------------------------------------------------------------------------------


def _burst() -> Result:
    """50,000 messages at once, in a process of their own: how much memory it takes at its most."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            [sys.executable, str(HERE / "relay_burst.py"), folder], check=True, capture_output=True, text=True
        )
    return against_limit(
        "a burst of 50,000 messages, all there", json.loads(run.stdout)["mb"], "MB", limit=64
    )


# -- a million stored --------------------------------------------------------------------------------------


async def _with_many_stored(folder: Path) -> list[Result]:
    many, empty = folder / "many", folder / "empty"
    many.mkdir()
    empty.mkdir()
    async with house(many) as built:  # so that there are sessions, and rooms between them
        await built.talk(64)
        await built.send(OWNER, "@bench", "hello")
    await asyncio.to_thread(_fill, many / "history.db")
    full: list[float] = []
    bare: list[float] = []
    searches: list[float] = []
    inboxes: list[float] = []
    async with house(many) as built, house(empty) as other:
        await built.talk(IN_FLIGHT)
        await other.talk(IN_FLIGHT)
        for _ in range(ROUNDS):
            full.append(await built.talk(MESSAGES))
            bare.append(await other.talk(MESSAGES))
        for query in ("needle77777", "branch commit", "think needle4"):
            params = SearchParams(query=query)
            await built.workspace.call(OWNER, "messages.search", params)  # what is new is indexed first
            start = time.perf_counter()
            found = await built.workspace.call(OWNER, "messages.search", params)
            searches.append(time.perf_counter() - start)
            if not found.hits:
                raise RuntimeError(f"nothing was found for {query!r}")
        for caller in (OWNER, built.agents[0]):
            start = time.perf_counter()
            await built.workspace.call(caller, "inbox.get", InboxParams())
            inboxes.append(time.perf_counter() - start)
    return [
        against_peer(
            "a message with 1,000,000 stored",
            min(full) * 1e6,
            "µs",
            peer="with none stored",
            peer_figure=min(bare) * 1e6,
            target=1 / 0.8,
        ),
        against_limit("search in 1,000,000 messages, slowest", max(searches) * 1e3, "ms", limit=100),
        against_limit("inbox beside 1,000,000 messages, slowest", max(inboxes) * 1e3, "ms", limit=50),
    ]


def _fill(path: Path) -> None:
    """Write a million messages that were delivered long ago, with their words, straight into the tables."""
    database = connect(path, KEY)
    database.pragma("synchronous", "off")
    rows: Any = database.execute(
        "SELECT m.room, m.sender, d.agent, m.message, d.record FROM messages AS m "
        "JOIN deliveries AS d ON d.message = m.id WHERE NOT d.open"
    )
    kept = list[tuple[Any, ...]](rows)
    first: int = 1 + database.execute("SELECT max(seq) FROM journal").get
    messages: list[tuple[Any, ...]] = []
    deliveries: list[tuple[Any, ...]] = []
    words: list[tuple[int, str]] = []
    for number in range(STORED):
        room, sender, agent, message, record = kept[number % len(kept)]
        seq = first + 2 * number
        text = " ".join([*(WORDS[(number * 7 + n) % len(WORDS)] for n in range(8)), f"needle{number}"])
        told = msgspec.structs.replace(msgspec.json.decode(message, type=RelayMessage), text=text)
        messages.append((seq, f"msg_{number:015x}", room, sender, encode(told)))
        deliveries.append((seq + 1, f"dlv_{number:015x}", f"msg_{number:015x}", agent, record))
        words.append((2 * seq, text))
        if len(messages) == 20_000:
            with database:
                database.executemany(
                    "INSERT INTO messages (seq, id, room, sender, message) VALUES (?, ?, ?, ?, ?)", messages
                )
                database.executemany(
                    "INSERT INTO deliveries (seq, id, message, agent, open, state, waits, urgent, record) "
                    "VALUES (?, ?, ?, ?, 0, 'delivered', '', 0, ?)",
                    deliveries,
                )
                database.executemany(SQL["add_words"], words)
            messages.clear()
            deliveries.clear()
            words.clear()
    with database:
        database.execute(SQL["close_state"], (first + 2 * STORED,))
        database.execute(SQL["set_indexed"], (first + 2 * STORED, 0))
    database.wal_checkpoint()
    database.close()


# -- another one -------------------------------------------------------------------------------------------


def _beside_agent_relay() -> Iterator[Result]:
    """Its daemon, a sender and an agent on its pty: from sending to the agent's input, where ours ends, too.

    Its agent is `cat`, which shows what it gets. It is fetched from npm; where that fails it is left out.
    """
    with tempfile.TemporaryDirectory() as folder:
        install = ["npm", "install", "--ignore-scripts", "--silent", "--prefix", folder, AGENT_RELAY]
        measure = ["node", str(HERE / "agent_relay.mjs"), folder, str(ITS_MESSAGES)]
        try:
            subprocess.run(install, check=True, capture_output=True, timeout=600)
            run = subprocess.run(measure, check=True, capture_output=True, text=True, timeout=300)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"{AGENT_RELAY} was not measured: {error}", file=sys.stderr)
            return
    theirs = json.loads(run.stdout.splitlines()[-1])
    with as_served(), tempfile.TemporaryDirectory() as folder:
        ours = asyncio.run(_rate(Path(folder)))
    yield against_peer(
        "a message, beside agent-relay",
        ours * 1e6,
        "µs",
        peer=f"{AGENT_RELAY}, agent's input",
        peer_figure=theirs["input"] * 1e6,
        target=1 / TIMES,
    )
    yield against_peer(
        "the same, beside its routing alone",
        ours * 1e6,
        "µs",
        peer="unsynced, in memory",
        peer_figure=theirs["routed"] * 1e6,
        target=None,
    )


async def _rate(folder: Path) -> float:
    async with house(folder) as built:
        await built.talk(IN_FLIGHT)
        return min([await built.talk(MESSAGES) for _ in range(3)])
