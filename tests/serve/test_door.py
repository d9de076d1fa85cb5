from __future__ import annotations

import asyncio

from serai.serve import Limits
from serve.conftest import listening, soon


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
