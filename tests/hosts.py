"""Real hosts for tests: in a process of their own that can be killed, or in the test's own event loop."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import tempfile
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, BinaryIO

import apsw

from nursery import Forked, nursery, reading
from serai.config.settings import Settings
from serai.contract import DeliveryRecord
from serai.harness.demo import DemoHarness
from serai.host.agents import HostedHarness
from serai.host.host import Host
from serai.host.ledger import record_of
from serai.redact import Redactor
from serai.relay.tokens import digest
from serai.serve import Limits
from serai.serve.ahp.commands import ahp_peer
from serai.serve.frames import text_frame
from serai.serve.port import serve_port
from serai.serve.run import run_host
from serai.serve.sessions import SessionRoutes
from serai.store.contract import Store
from serai.store.memory import MemoryStore
from serai.store.sqlite.store import SqliteStore, Tuning
from store import faults

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

_MODELS = (
    "anyio._backends._asyncio",
    "genai_prices.data",
    "genai_prices.data_units",
    "harness.model.servers",
    "jiter",
    "openai.lib.streaming.chat",
    "openai.resources.chat",
    "pydantic_ai.models.openai",
    "pydantic_ai.providers.openai",
    "pydantic_ai.providers.openai_compatible",
    "serai.harness.model.vendors",
)
"""What a host of models loads when it needs it."""


def serve(words: list[str]) -> None:
    """In a process of its own: be a host, as an order says, and write the port on standard output."""
    asyncio.run(_serve(json.loads(words[0])))


async def _serve(order: dict[str, Any]) -> None:
    vfs = None
    if order["faulty"]:
        disk = faults.Disk("nursery")
        vfs = disk.name
        broken = disk.failing("sync", "-wal", apsw.SQLITE_IOERR_FSYNC)
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, broken.__enter__)
    redactor = Redactor()
    harnesses: list[HostedHarness] = [DemoHarness(pace="instant")]
    if order["models"]:
        from harness.model.servers import model_harness  # noqa: PLC0415 - few need it
        from serai.harness.model.runs import WorkflowHarness  # noqa: PLC0415

        models = model_harness(redactor, **order["models"])
        harnesses += [models, WorkflowHarness(models)]
    store = SqliteStore(Path(order["home"]) / "history.db", KEY, Tuning(vfs=vfs, **order["store"]))
    await run_host(
        Host(store, harnesses, text_frame, redactor=redactor, settings=Settings(port=0), summary_delay=0.01),
        {digest(TOKEN)},
        started=lambda port: print(port, flush=True),  # noqa: T201 - that is how it tells
    )


class HostProcess:
    """A host that can be killed and started again on the same home. Made by `host_process`."""

    def __init__(self, home: Path, options: dict[str, Any], errors: BinaryIO) -> None:
        self._order = {"home": str(home), "faulty": False, "store": {}, "models": None, **options}
        self._errors = errors
        self._process: Forked | None = None
        self.home = home
        self.port = 0

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        """Start it, and wait until clients can connect."""
        async with reading() as (out, theirs), asyncio.timeout(WITHIN):
            with theirs:
                self._process = nursery().start(
                    "hosts:serve",
                    [json.dumps(self._order)],
                    imports=["hosts", *(_MODELS if self._order["models"] else ())],
                    out=theirs.fileno(),
                    errors=self._errors.fileno(),
                )
            said = await out.readline()
        assert said, f"it ended, and had said {self.errors()!r}"
        self.port = int(said)

    async def kill(self) -> None:
        """Kill it as `kill -9` does, and wait until it is gone."""
        assert await self.stop(signal.SIGKILL) == -signal.SIGKILL

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send it a signal, and wait for its exit status."""
        os.kill(self.pid, number)
        return await self.ended()

    async def ended(self) -> int:
        """Wait for its exit status."""
        assert self._process is not None
        async with asyncio.timeout(WITHIN):
            return await self._process.wait()

    def errors(self) -> str:
        """What it has said on its standard error."""
        return os.pread(self._errors.fileno(), 1 << 20, 0).decode()

    async def close(self) -> None:
        """Leave nothing behind."""
        if self._process is not None:
            self._process.kill()
            await self.ended()


@asynccontextmanager
async def host_process(home: Path, **options: Any) -> AsyncGenerator[HostProcess]:
    """A host on a home, ready for clients.

    Args:
        home: The folder of its database.
        options: `store`, for the store; `faulty`, to have syncs fail from SIGUSR1 on; `models`, to have
            model sessions: the `base_url` of a server, and settings of `[chat]`.
    """
    with tempfile.TemporaryFile() as errors:
        host = HostProcess(home, options, errors)
        try:
            await host.start()
            yield host
        finally:
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
        settings: Settings | None = None,
        secrets: dict[str, str] | None = None,
        limits: Limits | None = None,
        **options: Any,
    ) -> None:
        self._make_store = make_store
        self._options = options
        self._harnesses = [DemoHarness(pace="instant"), *(harnesses or ())]
        self._settings = settings
        self._secrets = secrets or {}
        self._limits = limits or Limits()
        self._task: asyncio.Task[None] | None = None
        self.store = make_store()
        self.tokens = [TOKEN, OTHER_TOKEN]
        """What opens its door from the next start on."""

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    async def open(self, port: int = 0) -> None:
        self.host = Host(
            self.store,
            self._harnesses,
            text_frame,
            settings=self._settings,
            summary_delay=0.01,
            redactor=Redactor(self._secrets),
            **self._options,
        )
        await self.host.open()
        ready = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(
            serve_port(
                Settings(port=port),
                lambda connection: ahp_peer(self.host, connection),
                self._readiness,
                started=ready.set_result,
                token_digests=[*map(digest, self.tokens)],
                limits=self._limits,
                routes=[
                    *SessionRoutes(self.host).routes,
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
