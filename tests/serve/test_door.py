from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import pytest
from websockets.asyncio.client import connect

from serai.serve import Limits
from serai.serve.door import Strangers
from serve.conftest import BEARER, listening, soon

SERVER = """
import asyncio, logging, resource
from serai.serve.door import raise_descriptor_limit
from serai.relay.tokens import digest
from serai.config.settings import Settings
from serai.serve.port import serve_port
from serve.conftest import TOKEN, echoing

logging.basicConfig(level=logging.WARNING)
raise_descriptor_limit()

def started(port):
    print(port, resource.getrlimit(resource.RLIMIT_NOFILE)[0], flush=True)

digests = {digest(TOKEN)}
asyncio.run(serve_port(Settings(port=0), echoing, lambda: (True, {}), started=started, token_digests=digests))
"""


async def silent(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await soon(asyncio.open_connection("127.0.0.1", port))


async def is_cut(reader: asyncio.StreamReader) -> bool:
    try:
        return await soon(reader.read()) == b""
    except ConnectionError:
        return True


async def test_who_shows_no_token_in_time_is_cut() -> None:
    async with listening(limits=Limits(handshake_timeout=0.05)) as room:
        reader, writer = await silent(room.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: ")
        assert await is_cut(reader)
        writer.close()


async def test_who_asks_for_nothing_but_health_is_cut_too() -> None:
    async with listening(limits=Limits(handshake_timeout=0.05)) as room:
        reader, writer = await silent(room.port)
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert (await soon(reader.read())).startswith(b"HTTP/1.1 200")
        writer.close()


class SlowLine:
    """A transport that is still sending, the first two times that it is asked."""

    def __init__(self) -> None:
        self.answers = [1, 1, 0]
        self.cut = asyncio.Event()

    def get_write_buffer_size(self) -> int:
        return self.answers.pop(0)

    def abort(self) -> None:
        self.cut.set()


async def test_a_page_on_its_way_over_a_slow_line_is_not_cut_off() -> None:
    line: Any = SlowLine()
    Strangers(Limits(handshake_timeout=0.01)).enter(line)
    await soon(line.cut.wait())
    assert line.answers == []


async def test_the_oldest_stranger_makes_room_and_who_has_a_token_stays() -> None:
    async with listening(limits=Limits(strangers=3)) as room:
        first, peer = await room.both()
        strangers = [await silent(room.port) for _ in range(4)]
        assert await is_cut(strangers[0][0])
        async with room.connect() as second:
            for client in (first, second):
                await soon(client.send("hello"))
                assert await soon(client.recv()) == "hello"
        assert peer.goodbyes == 0
        await first.close()
        for _, writer in strangers:
            writer.close()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit of descriptors")
async def test_when_descriptors_run_out_a_token_still_opens_the_door_and_the_log_stays_short() -> None:
    server = await asyncio.create_subprocess_exec(
        *("bash", "-c", 'ulimit -Sn 40; ulimit -Hn 64; exec "$0" -c "$1"', sys.executable, SERVER),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": "tests"},
    )
    try:
        assert server.stdout is not None
        port, limit = map(int, (await soon(server.stdout.readline())).split())
        assert limit == 64
        strangers = [await silent(port) for _ in range(100)]
        url = f"ws://127.0.0.1:{port}/"
        clients = [await soon(connect(url, additional_headers=BEARER)) for _ in range(20)]
        for client in clients:
            await soon(client.send("hello"))
            assert await soon(client.recv()) == "hello"
            await client.close()
        for _, writer in strangers:
            writer.close()
    finally:
        server.terminate()
        _, log = await soon(server.communicate())
    assert len(log.splitlines()) <= 2, log
