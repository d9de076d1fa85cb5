"""Answers that are too long to be held: they go out in pieces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from websockets.exceptions import ConnectionClosed

from serai.serve.frames import text_frame
from serve.conftest import Room, offline, soon, tick


class TestLongAnswers:
    async def test_a_long_answer_goes_out_in_pieces_and_all_else_after_it(self, room: Room) -> None:
        client, peer = await room.both()

        async def pieces() -> AsyncIterator[bytes]:
            for number in range(3):
                peer.connection.send(text_frame(b"later %d" % number))
                yield b"piece %d, " % number

        await soon(peer.connection.respond_in_pieces(pieces()))
        said = [await soon(client.recv()) for _ in range(4)]
        assert said == ["piece 0, piece 1, piece 2, ", "later 0", "later 1", "later 2"]
        await client.close()

    async def test_a_long_answer_waits_for_a_reader_that_is_slow(self) -> None:
        line = offline()
        await tick()
        line.socket.pause_writing()
        asked = 0

        async def pieces() -> AsyncIterator[bytes]:
            nonlocal asked
            for _ in range(3):
                asked += 1
                yield b"x"

        answer = asyncio.create_task(line.socket.respond_in_pieces(pieces()))
        await tick()
        await tick()
        assert (asked, line.transport.writes) == (1, [])
        line.socket.resume_writing()
        await soon(answer)
        assert len(line.transport.writes) == 4

    async def test_an_answer_that_breaks_off_ends_the_connection(self, room: Room) -> None:
        client, peer = await room.both()

        async def pieces() -> AsyncIterator[bytes]:
            yield b"half of it"
            raise OSError("the disk is gone")

        with pytest.raises(OSError, match="gone"):
            await soon(peer.connection.respond_in_pieces(pieces()))
        with pytest.raises(ConnectionClosed) as closed:
            await soon(client.recv())
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1011
