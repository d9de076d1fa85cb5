"""What agent sessions cost: a turn, opening a long session, exporting it; each beside the bare thing.

The CPU of a turn is that of the host's process alone; the server of models is another one.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, cast

import msgspec
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from harness import Result, against_peer, as_served, take_turns
from serai.ahp.actions import ActionOrigin, SessionTurnStartedAction
from serai.ahp.commands import CreateSessionParams
from serai.ahp.types import UserMessage
from serai.config.models import ModelKind, ModelServer
from serai.config.settings import ChatSettings
from serai.harness.model.harness import ModelHarness
from serai.harness.model.transcript import Transcript
from serai.host.host import Host
from serai.host.session.session import Session
from serai.redact import Redactor
from serai.serve.frames import text_frame
from serai.session.messages import (
    AgentSessionRecord,
    SessionContext,
    SessionMessage,
    SessionMessageRole,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from serai.session.workflow import serialize, workflow_of
from serai.store.sqlite.connection import connect
from serai.store.sqlite.store import SqliteStore

CHUNKS = 1_000
ROUNDS = 5
KEY = b"thirty-two bytes make a raw key."
URI = "ahp-session:/long"
MESSAGES = 10_000
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SESSION = AgentSessionRecord(
    id="s-1",
    agent_slug="reviewer",
    title="A long conversation",
    context=SessionContext(working_dir="/work"),
    created_at=NOON,
    updated_at=NOON,
)


def benchmarks() -> Iterator[Result]:
    """A chunk of a turn; opening a session; an export, from the messages to the text of the file."""
    with _server() as url:
        ours, bare = _least(lambda: asyncio.run(_turn(url)), lambda: asyncio.run(_alone(url)))
    yield against_peer(
        "a chunk of a model's turn, CPU",
        ours / CHUNKS * 1e6,
        "µs",
        peer="pydantic-ai alone",
        peer_figure=bare / CHUNKS * 1e6,
        target=1.7,
    )
    messages = [_message(number) for number in range(1, MESSAGES + 1)]
    value = msgspec.to_builtins(workflow_of(SESSION, messages))
    ours, peer = take_turns(
        lambda: serialize(workflow_of(SESSION, messages)), lambda: json.dumps(value), rounds=5
    )
    yield against_peer(
        f"export a session of {MESSAGES:,} messages",
        ours * 1e3,
        "ms",
        peer="json.dumps of the value",
        peer_figure=peer * 1e3,
        target=15.0,
    )

    with tempfile.TemporaryDirectory() as directory:
        database = Path(directory) / "history.db"
        asyncio.run(_fill(database, messages))
        opened, read = _least(lambda: asyncio.run(_open(database)), lambda: _read(database))
    yield against_peer(
        f"open a session of {MESSAGES:,} messages",
        opened * 1e3,
        "ms",
        peer="reading its rows bare",
        peer_figure=read * 1e3,
        target=5.0,
    )


def _least(*subjects: Callable[[], float]) -> list[float]:
    """The least of several rounds for each subject, which measures itself. They alternate."""
    best = [float("inf")] * len(subjects)
    for _ in range(ROUNDS):
        for number, subject in enumerate(subjects):
            best[number] = min(best[number], subject())
    return best


# -- a turn ------------------------------------------------------------------------------------------------


@contextmanager
def _server() -> Generator[str]:
    program = Path(__file__).parent / "streaming_model.py"
    words = [sys.executable, str(program), str(CHUNKS)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        reader, writer = cast("IO[bytes]", server.stdout), cast("IO[bytes]", server.stdin)
        yield f"http://127.0.0.1:{int(reader.readline())}/v1"
        writer.close()


async def _alone(url: str) -> float:
    """CPU seconds of pydantic-ai, reading the stream through the OpenAI adapter."""
    model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=url, api_key="none"))
    took = 0.0
    for _ in range(2):  # the first time pays for what is loaded late
        start = time.process_time()
        async with model_request_stream(model, [ModelRequest.user_text_prompt("go")]) as stream:
            async for _event in stream:
                pass
            stream.get()
        took = time.process_time() - start
    return took


class _Follower:
    """Someone who follows the session: what is published is published to them."""

    def __init__(self) -> None:
        self.heard = asyncio.Event()

    def publish(self, frames: bytes) -> None:
        """See `Subscriber`."""
        del frames
        self.heard.set()


@contextmanager
def _folder() -> Generator[Path]:
    with tempfile.TemporaryDirectory() as directory, as_served():
        yield Path(directory)


async def _host(database: Path, url: str = "http://127.0.0.1:1/v1") -> Host:
    redactor = Redactor()
    server = ModelServer(kind=ModelKind.OPENAI, base_url=url)
    harness = ModelHarness({"local": server}, ChatSettings(default_model="local:m"), redactor)
    host = Host(SqliteStore(database, KEY), [harness], text_frame, redactor=redactor)
    await host.open()
    return host


async def _session(host: Host, folder: Path) -> Session:
    params = CreateSessionParams(channel=URI, provider="model", working_directory=folder.as_uri())
    session = await host.create(params, "bench")
    await session.ready()
    return session


async def _turn(url: str) -> float:
    """CPU seconds of a whole turn on an encrypted file: asked, shown, written, published."""
    with _folder() as folder:
        host = await _host(folder / "history.db", url)
        session = await _session(host, folder)
        follower = _Follower()
        host.journal.subscriptions.add(URI, follower)
        took = 0.0
        for number in range(2):
            start = time.process_time()
            action = SessionTurnStartedAction(turn_id=f"t{number}", user_message=UserMessage(text="go"))
            session.dispatch(action, ActionOrigin(client_id="bench", client_seq=number), follower)
            while session.live.turn is not None:
                follower.heard.clear()
                await follower.heard.wait()
            await host.journal.committed()
            took = time.process_time() - start
        if session.live.head.turns[-1].state != "complete":
            raise RuntimeError(f"the turn failed: {session.live.head.turns[-1].error}")
        await host.close()
        return took


# -- opening -----------------------------------------------------------------------------------------------


async def _fill(database: Path, messages: list[SessionMessage]) -> None:
    host = await _host(database)
    await _session(host, database.parent)
    await host.close()
    file = connect(database, KEY)
    rows = [
        (URI, m.sequence_number, f"t{m.sequence_number // 4}", m.id, m.role.value, m.model_id, 1, _parts(m))
        for m in messages
    ]
    with file:
        file.executemany("INSERT INTO session_messages VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    file.close()


def _parts(message: SessionMessage) -> bytes:
    return msgspec.json.encode(message.content)


async def _open(database: Path) -> float:
    """Seconds until a session is in memory, with all that was said in it."""
    with as_served():
        host = await _host(database)
        start = time.perf_counter()
        session = await host.sessions.bring(URI)
        if session is None:
            raise RuntimeError("the session is gone")
        transcript = Transcript(URI, await session.seat.rows("session_messages", URI))
        took = time.perf_counter() - start
        if transcript.turn_count < MESSAGES / 5:
            raise RuntimeError("turns are missing")
        await host.close()
        return took


def _read(database: Path) -> float:
    """Seconds to read the rows and nothing else."""
    file = connect(database, KEY)
    file.execute("SELECT count(*) FROM agent_sessions").fetchall()
    start = time.perf_counter()
    asked = "SELECT * FROM session_messages WHERE session = ? ORDER BY number"
    rows = cast("list[Any]", file.execute(asked, (URI,)).fetchall())
    took = time.perf_counter() - start
    if len(rows) != MESSAGES:
        raise RuntimeError("rows are missing")
    file.close()
    return took


# -- messages ----------------------------------------------------------------------------------------------


def _message(number: int) -> SessionMessage:
    """Turns of four rows: a question, a call, its result, an answer."""
    call = f"call-{number - number % 4}"
    content, role = {
        1: (TextPart(text=f"Please look at part {number}: is it right?\nSay why."), SessionMessageRole.USER),
        2: (
            ToolCallPart(
                id=call, name="read_file", input={"path": f"src/part_{number}.py", "lines": [1, 80]}
            ),
            SessionMessageRole.ASSISTANT,
        ),
        3: (
            ToolResultPart(id=call, name="read_file", output="def part() -> int:\n    return 1\n" * 8),
            SessionMessageRole.TOOL,
        ),
        0: (
            TextPart(text="It is right: the function returns what it says. " * 6),
            SessionMessageRole.ASSISTANT,
        ),
    }[number % 4]
    return SessionMessage(
        id=f"m-{number}",
        session_id=SESSION.id,
        sequence_number=number,
        role=role,
        content=(content,),
        model_id="local:small" if role is SessionMessageRole.ASSISTANT else None,
        timestamp=NOON,
    )
