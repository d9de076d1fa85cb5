"""Real hosts for tests: in a process of their own that can be killed, or in the test's own event loop."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from serai.contract import DeliveryRecord
from serai.harness.demo import DemoHarness
from serai.host.agents import HostedHarness
from serai.host.host import Host
from serai.host.ledger import record_of
from serai.host.settings import HostSettings
from serai.redact import Redactor
from serai.serve import Limits
from serai.serve.ahp.commands import ahp_peer
from serai.serve.frames import text_frame
from serai.serve.guard import digest
from serai.serve.port import PortSettings, serve_port
from serai.serve.sessions import SessionRoutes
from serai.serve.transcripts import TranscriptRoutes
from serai.store.contract import Store
from serai.store.memory import MemoryStore

TOKEN = "a-token-of-the-tests"
OTHER_TOKEN = "another-token-of-the-tests"
KEY = b"thirty-two bytes make a raw key."
WITHIN = 30.0
"""Seconds after which something that was to happen has not."""


async def deliveries(host: Host, session: str) -> list[DeliveryRecord]:
    """What is written down of all that entered a session, the first one first."""
    await host.journal.committed()
    agent = host.identities.of_session(session).number
    rows = await host.journal.store.relay("list_deliveries", agent, "", 1 << 62, 1000)
    return [record_of(row) for row in reversed(rows)]


def outcome(record: DeliveryRecord) -> str:
    """What became of a delivery: why it failed, or else how far it has come."""
    return record.error or record.state.value


def statuses(record: DeliveryRecord) -> list[str]:
    """Which receipts a delivery had."""
    return [kept.receipt.status.value for kept in record.receipts]


# -- a host in a process of its own ------------------------------------------------------------------------

# It reads orders, a JSON object per line, and forks a host for each: the imports are paid for once. The host
# ends when it is killed, or when its input ends, so that none outlives its test.
_NURSERY = """
import asyncio, json, os, signal, sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])
from serai.harness.demo import DemoHarness
from serai.host.host import Host
from serai.host.settings import HostSettings
from serai.redact import Redactor
from serai.serve.frames import text_frame
from serai.serve.guard import digest
from serai.serve.port import PortSettings
from serai.serve.run import run_host
from serai.store.sqlite.store import SqliteStore, Tuning
from hosts import KEY
import apsw, serai.serve.websocket, store.faults
if "models" in sys.argv:  # what a host of models loads when it needs it
    import anyio._backends._asyncio, pydantic_ai.models.openai, pydantic_ai.providers.openai_compatible
    import harness.model.servers, serai.harness.model.vendors


def say(**what):
    os.write(1, json.dumps(what).encode() + b"\\n")


async def serve(order):
    asyncio.get_running_loop().add_reader(0, lambda: os._exit(3))
    vfs = None
    if order["faulty"]:
        disk = store.faults.Disk("nursery")
        vfs = disk.name
        broken = disk.failing("sync", "-wal", apsw.SQLITE_IOERR_FSYNC)
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, broken.__enter__)
    redactor = Redactor()
    harnesses = [DemoHarness(pace="instant")]
    if order["models"]:
        from harness.model.servers import model_harness
        from serai.harness.model.runs import WorkflowHarness
        models = model_harness(redactor, **order["models"])
        harnesses += [models, WorkflowHarness(models)]
    await run_host(
        Host(
            SqliteStore(Path(order["home"]) / "history.db", KEY, Tuning(vfs=vfs, **order["store"])),
            harnesses,
            text_frame,
            redactor=redactor,
            settings=HostSettings(summary_delay=0.01),
        ),
        PortSettings(port=0, token_digests=frozenset({digest(order["token"])})),
        started=lambda port: say(event="ready", pid=os.getpid(), port=port),
    )


def read_order():
    line = b""
    while not line.endswith(b"\\n"):
        piece = os.read(0, 1)
        if not piece:
            sys.exit()
        line += piece
    return json.loads(line)


say(event="open")
while True:
    order = read_order()
    child = os.fork()
    if child == 0:
        try:
            asyncio.run(serve(order))
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    say(event="ended", status=os.waitstatus_to_exitcode(status))
"""


class HostProcess:
    """A host that can be killed and started again on the same home. Made by `host_process`."""

    def __init__(self, nursery: asyncio.subprocess.Process, home: Path, options: dict[str, Any]) -> None:
        self._nursery = nursery
        self._options = options
        self.home = home
        self.port = 0
        self.pid = 0

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Start it, and wait until clients can connect."""
        assert self._nursery.stdin is not None
        order = {"home": str(self.home), "token": TOKEN, "faulty": False, "store": {}, "models": None}
        order |= self._options
        self._nursery.stdin.write(json.dumps(order).encode() + b"\n")
        said = await self._hear()
        assert said["event"] == "ready", said
        self.pid, self.port = said["pid"], said["port"]

    async def kill(self) -> None:
        """Kill it as `kill -9` does, and wait until it is gone."""
        assert await self.stop(signal.SIGKILL) == -signal.SIGKILL

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send it a signal, and wait for its exit status."""
        os.kill(self.pid, number)
        return await self.ended()

    async def ended(self) -> int:
        """Wait for its exit status."""
        said = await self._hear()
        assert said["event"] == "ended", said
        self.pid = 0
        return int(said["status"])

    async def _hear(self) -> dict[str, Any]:
        assert self._nursery.stdout is not None
        async with asyncio.timeout(WITHIN):
            line = await self._nursery.stdout.readline()
        assert line, "the process that starts hosts has ended"
        return json.loads(line)

    async def close(self) -> None:
        """Leave nothing behind. Returns when both processes are gone."""
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
        await self.errors()

    async def errors(self) -> str:
        """What it said on its standard error. It cannot be started again after this."""
        assert self._nursery.stdin is not None
        self._nursery.stdin.close()  # and with its input the nursery ends
        async with asyncio.timeout(WITHIN):
            _, said = await self._nursery.communicate()
        return said.decode()


@asynccontextmanager
async def host_process(home: Path, **options: Any) -> AsyncGenerator[HostProcess]:
    """A host on a home, ready for clients.

    Args:
        home: The folder of its database.
        options: `store`, for the store; `faulty`, to have syncs fail from SIGUSR1 on; `models`, to have
            model sessions: the `base_url` of a server, and settings of `[chat]`.
    """
    nursery = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", _NURSERY, str(Path(__file__).parent), *options),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    host = HostProcess(nursery, home, options)
    try:
        assert (await host._hear())["event"] == "open"
        await host.start()
        yield host
    finally:
        if nursery.returncode is None:
            await host.close()


# -- a host in the test's own event loop -------------------------------------------------------------------


class House:
    """A host with its port on loopback. Made by `housing`.

    Args:
        make_store: Makes the store, and again after each restart; a store in memory is kept.
        harnesses: The kinds of agents; without any, the demo agent.
        settings: How the host behaves.
        secrets: Values that are masked wherever they appear, by their names.
        limits: For each connection.
        options: What else `Host` takes, such as `is_trusted` and `user_home`.
    """

    host: Host
    port: int

    def __init__(
        self,
        make_store: Callable[[], Store] = MemoryStore,
        harnesses: Iterable[HostedHarness] | None = None,
        *,
        settings: HostSettings | None = None,
        secrets: dict[str, str] | None = None,
        limits: Limits | None = None,
        **options: Any,
    ) -> None:
        self._make_store = make_store
        self._options = options
        self._harnesses = [DemoHarness(pace="instant"), *(harnesses or ())]
        self._settings = settings or HostSettings(summary_delay=0.01)
        self._secrets = secrets or {}
        self._limits = limits or Limits()
        self._task: asyncio.Task[None] | None = None
        self.store = make_store()
        self.tokens = [TOKEN, OTHER_TOKEN]
        """What opens its door from the next start on."""
        self.patience = WITHIN
        """How long a reader of events may take, from the next start on."""

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    async def open(self, port: int = 0) -> None:
        self.host = Host(
            self.store,
            self._harnesses,
            text_frame,
            settings=self._settings,
            redactor=Redactor(self._secrets),
            **self._options,
        )
        await self.host.open()
        ready = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(
            serve_port(
                PortSettings(
                    port=port,
                    token_digests=frozenset(map(digest, self.tokens)),
                    limits=self._limits,
                ),
                lambda connection: ahp_peer(self.host, connection),
                self._readiness,
                started=ready.set_result,
                routes=[
                    *SessionRoutes(self.host, patience=self.patience).routes,
                    *TranscriptRoutes(self.host).routes,
                ],
            )
        )
        await asyncio.wait({self._task, ready}, timeout=WITHIN, return_when=asyncio.FIRST_COMPLETED)
        if self._task.done():
            self._task.result()
        self.port = ready.result()

    def _readiness(self) -> tuple[bool, dict[str, Any]]:
        unavailable = self.host.journal.unavailable
        return unavailable is None, {} if unavailable is None else unavailable.to_wire()

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.sleep(0)
            self._task.cancel()  # a second time, so that it does not wait for those who are still there
            await asyncio.wait({self._task}, timeout=WITHIN)
            self._task = None
            await self.host.close()

    async def restart(self, port: int = 0) -> None:
        """Stop it as SIGTERM does, and start it again."""
        await self.close()
        if not isinstance(self.store, MemoryStore):
            self.store = self._make_store()
        await self.open(port)


@asynccontextmanager
async def housing(*arguments: Any, **options: Any) -> AsyncGenerator[House]:
    """A host in this event loop for the length of a block. See `House`."""
    house = House(*arguments, **options)
    await house.open()
    try:
        yield house
    finally:
        await house.close()
