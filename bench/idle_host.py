"""A host with many idle sessions and connections, for `bench_host`: prints its resident memory as JSON.

Usage: idle_host.py FOLDER
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
from contextlib import AsyncExitStack
from pathlib import Path

from websockets.asyncio.client import connect

from serai.ahp.types import MarkdownResponsePart, SessionState, SessionSummary, Turn, UserMessage
from serai.config.settings import Settings
from serai.harness.demo import DemoHarness
from serai.host.host import Host
from serai.journal.sessions import KeptSession
from serai.relay.tokens import digest
from serai.serve.ahp.commands import ahp_peer
from serai.serve.frames import text_frame
from serai.serve.port import serve_port
from serai.serve.run import settle
from serai.store.contract import Batch
from serai.store.sqlite.store import SqliteStore

KEY = b"0123456789abcdef0123456789abcdef"
SESSIONS, CONNECTIONS = 1_000, 200


async def main(folder: Path) -> None:
    """Fill the store, open the host, visit every session, connect, and measure."""
    store = SqliteStore(folder / "history.db", KEY)
    await store.open()
    for number in range(SESSIONS):
        uri = f"ahp-session:/{number}"
        turns = [
            Turn(
                id=f"t{n}",
                user_message=UserMessage(text="go on"),
                response_parts=[MarkdownResponsePart(id="p", content=f"{number}-{n} " + "words " * 3_300)],
                state="complete",
            )
            for n in range(10)
        ]
        summary = SessionSummary(
            resource=uri, provider="demo", title=uri, status=1, created_at=0, modified_at=0
        )
        kept = KeptSession.create(uri, SessionState(summary=summary, lifecycle="ready", turns=turns))
        batch = Batch(durable=False)
        kept.save(batch, -1)
        await store.append(batch)
    await store.close()

    host = Host(SqliteStore(folder / "history.db", KEY), [DemoHarness()], text_frame)
    await host.open()
    settle()  # as `serai serve` does
    for number in range(SESSIONS):
        await host.sessions.bring(f"ahp-session:/{number}")
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(
        serve_port(
            Settings(port=0),
            lambda connection: ahp_peer(host, connection),
            lambda: (True, {}),
            started=port.set_result,
            token_digests={digest("token")},
        )
    )
    url = f"ws://127.0.0.1:{await port}/?tkn=token"
    async with AsyncExitStack() as stack:
        for number in range(CONNECTIONS):
            socket = await stack.enter_async_context(connect(url, compression=None, max_queue=1))
            params = {
                "channel": "ahp-root://",
                "protocolVersions": ["0.2.0"],
                "clientId": f"c{number}",
                "initialSubscriptions": ["ahp-root://"],
            }
            await socket.send(
                json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
            )
            await socket.recv()
        print(json.dumps({"mb": _resident() / 1e6}))
    serving.cancel()
    await asyncio.wait({serving})
    await host.close()


def _resident() -> int:
    """The memory that this process has, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


asyncio.run(main(Path(sys.argv[1])))
