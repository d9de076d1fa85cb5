"""What it costs to read a terminal: CPU of the reading process, from the pty to those who follow.

Twice: to the batches that a `Terminal` hands over, and all the way through a host, where the text is searched
for secrets, kept as scrollback, numbered and published, to nobody or to a client on a real socket.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from harness import Result, against_peer, as_served
from serai.ahp.actions import TerminalDataAction
from serai.ahp.types import TerminalClientClaim
from serai.config.settings import Settings
from serai.harness.demo import DemoHarness
from serai.host.host import Host
from serai.machine.processes.processes import Processes
from serai.machine.terminals.terminal import Terminal
from serai.redact import Redactor
from serai.serve.ahp.commands import ahp_peer
from serai.serve.frames import text_frame
from serai.serve.port import serve_port
from serai.store.sqlite.store import SqliteStore

BYTES = 100_000_000
ROUNDS = 7
TEXT = {
    "plain lines": "the quick brown fox jumps over the lazy dog, again and again and again",
    "colours and emoji": "\033[32mok\033[0m  tests/test_fox.py::test_jumps[once] 🦊 \033[2m0.01 s\033[0m",
}
KEY = b"0123456789abcdef0123456789abcdef"
TERMINAL = "ahp-terminal:/bench"


def benchmarks() -> Iterator[Result]:
    """100 MB of two kinds of text, against a loop that reads a pty and looks at nothing."""
    for (name, line), target in zip(TEXT.items(), (2.0, None), strict=True):
        command = ["sh", "-c", f"yes '{line}' | head -c {BYTES}"]
        *ours, bare = _take_turns(
            lambda: asyncio.run(_terminal(command)),  # noqa: B023 - called here
            lambda: asyncio.run(_host(command, followed=False)),  # noqa: B023 - called here
            lambda: asyncio.run(_host(command, followed=True)),  # noqa: B023 - called here
            lambda: _bare(command),  # noqa: B023 - called here
        )
        ways = ("read 100 MB from a terminal", "the same through the host", "the same to one follower")
        for way, figure in zip(ways, ours, strict=True):
            yield against_peer(
                f"{way}: {name}",
                figure * 1e3,
                "ms",
                peer="a bare pty read loop",
                peer_figure=bare * 1e3,
                target=target,
            )


def _take_turns(*subjects: Callable[[], float]) -> list[float]:
    """The CPU that each subject takes in the middle of several rounds, in seconds; who writes does not count.

    The middle, not the least: what a read costs depends on where the system lets the writer and itself run,
    and the one round in which a loop was lucky says little about the others.
    """
    taken = [[subject() for subject in subjects] for _ in range(ROUNDS)]
    return [statistics.median(each) for each in zip(*taken, strict=True)]


def _took(start: float, read: int) -> float:
    if read < BYTES // 2:  # bytes here, characters there
        raise RuntimeError(f"only {read} bytes were read")
    return time.process_time() - start


def _bare(command: list[str]) -> float:
    start = time.process_time()
    master, slave = os.openpty()
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
    os.close(slave)
    read = 0
    while True:
        try:
            read += len(os.read(master, 65536))
        except OSError:  # everyone has closed the other end
            break
    process.wait()
    os.close(master)
    return _took(start, read)


async def _terminal(command: list[str]) -> float:
    start = time.process_time()
    processes = Processes()
    terminal = await Terminal.start(processes, argv=command)
    read = 0
    while actions := await terminal.batch():
        for action in actions:
            if isinstance(action, TerminalDataAction):
                read += len(action.data)
    await processes.close()
    return _took(start, read)


# -- the whole way -----------------------------------------------------------------------------------------


async def _host(command: list[str], *, followed: bool) -> float:
    with tempfile.TemporaryDirectory() as folder:
        secrets = {"SERAI_TOKEN": "Zk3vQx81LmTq7RwYbN2sHd5Jc0PfUa9e", "PASSWORD": "correct-horse-battery"}
        store = SqliteStore(Path(folder) / "history.db", KEY)
        host = Host(store, [DemoHarness()], text_frame, home=Path(folder), redactor=Redactor(secrets))
        await host.open()
        claim = TerminalClientClaim(client_id="bench")
        gate = Path(folder) / "gate"
        os.mkfifo(gate)
        # It begins when the follower is there, and not before.
        waiting = ["sh", "-c", 'read -r line < "$0"; exec "$@"', str(gate), *command]
        terminal = await host.terminals.start(TERMINAL, claim, argv=waiting)
        async with _follower(host, Path(folder) / "seen") if followed else _nobody():
            with as_served():
                start = time.process_time()
                await asyncio.to_thread(gate.write_text, "go\n")
                await terminal.wait()
                await host.journal.committed()
                took = _took(start, terminal.live.cut)
        await host.close()
    return took


@asynccontextmanager
async def _nobody() -> AsyncGenerator[None]:
    yield


@asynccontextmanager
async def _follower(host: Host, seen: Path) -> AsyncGenerator[None]:
    """A client in a process of its own, which writes down how many bytes it has got."""
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(
        serve_port(
            Settings(port=0),
            lambda connection: ahp_peer(host, connection),
            lambda: (True, {}),
            started=port.set_result,
        )
    )
    client = await asyncio.create_subprocess_exec(sys.executable, __file__, str(await port), str(seen))
    while not host.journal.subscriptions.is_followed(TERMINAL):  # noqa: ASYNC110 - seen from outside
        await asyncio.sleep(0.01)
    try:
        yield
    finally:
        serving.cancel()
        await asyncio.wait({serving})
        await client.wait()
        if int(await asyncio.to_thread(seen.read_text)) < BYTES:
            raise RuntimeError("the follower has not got everything")


def _follow(port: int, seen: Path) -> None:
    """Follow the terminal, and throw away all that comes."""
    client = socket.create_connection(("127.0.0.1", port))
    client.sendall(
        b"GET /ahp HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    client.recv(65536)  # the answer: only then may messages follow
    params = {
        "channel": "ahp-root://",
        "protocolVersions": ["0.2.0"],
        "clientId": "bench",
        "initialSubscriptions": [TERMINAL],
    }
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
    # A client's frame is masked; with a mask of zeros it stays as it is.
    client.sendall(b"\x81\xfe" + len(message).to_bytes(2, "big") + bytes(4) + message)
    read = 0
    while chunk := client.recv(1 << 20):
        read += len(chunk)
    seen.write_text(str(read))


if __name__ == "__main__":
    _follow(int(sys.argv[1]), Path(sys.argv[2]))
