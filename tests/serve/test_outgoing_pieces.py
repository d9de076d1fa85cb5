"""Answers that are too long to be held: they go out in pieces."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode

from serai.serve import Limits
from serai.serve.frames import LAST_PIECE, piece_frame, text_frame
from serve.conftest import Offline, Room, listening, narrow, offline, soon, tick


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

    async def test_who_waits_to_send_a_long_answer_is_let_go_when_the_connection_ends(self) -> None:
        line = offline()
        await tick()
        line.socket.pause_writing()

        async def pieces() -> AsyncIterator[bytes]:
            yield b"x"

        answer = asyncio.create_task(line.socket.respond_in_pieces(pieces()))
        await tick()
        line.socket.connection_lost(None)
        await soon(answer)
        assert line.transport.writes == []


class HalfAnAnswer:
    """A connection that is in the middle of a long answer, and whose transport takes no more for now."""

    FIRST = piece_frame(b"a" * 70_000, first=True)

    def __init__(self, line: Offline) -> None:
        self.line = line
        self._more = asyncio.Event()
        self.answer = asyncio.create_task(line.socket.respond_in_pieces(self._pieces()))

    async def _pieces(self) -> AsyncIterator[bytes]:
        yield b"a" * 70_000
        yield b"b"
        await self._more.wait()

    def come_to_its_end(self) -> None:
        self._more.set()

    @classmethod
    async def begin(cls, limits: Limits | None = None) -> HalfAnAnswer:
        line = offline(room=0, limits=limits)
        await tick()
        begun = cls(line)
        await tick()
        assert line.sent() == cls.FIRST
        assert line.transport.paused
        return begun

    async def is_over(self) -> None:
        await soon(self.answer)


def closing(code: int, reason: str = "") -> bytes:
    """A close frame."""
    return bytes([0x88, 2 + len(reason)]) + struct.pack("!H", code) + reason.encode()


class TestHalfAnAnswer:
    async def test_nothing_follows_it_but_the_reason_when_the_host_closes(self) -> None:
        half = await HalfAnAnswer.begin()
        half.line.socket.send(text_frame(b"an action"))
        half.line.socket.respond(text_frame(b"an answer"))
        half.line.socket.close(1013, "")
        await half.is_over()
        half.line.transport.drain(1 << 30)
        await tick()
        assert half.line.sent() == half.FIRST + closing(1013)

    async def test_nothing_follows_it_but_the_reason_when_its_reader_is_told_to_go_away(self) -> None:
        async def pieces() -> AsyncIterator[bytes]:
            while True:
                yield b"x" * 100_000

        async with listening() as room:
            client, peer = await room.both(max_queue=1)
            narrow(peer)
            answer = asyncio.create_task(peer.connection.respond_in_pieces(pieces()))
            while not peer.transport.get_write_buffer_size():
                await tick()
            peer.connection.send(text_frame(b"an action"))
            peer.connection.respond(text_frame(b"an answer"))
            stopped = asyncio.create_task(room.stop())
            with pytest.raises(ConnectionClosed) as closed:
                await soon(client.recv())
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1001
            await soon(answer)
            await soon(stopped)

    async def test_a_ping_is_answered_before_its_next_piece(self) -> None:
        half = await HalfAnAnswer.begin()
        half.line.socket.send(text_frame(b"later"))
        half.line.receive(Frame(Opcode.PING, b"?"))
        half.line.transport.drain(1 << 30)
        half.come_to_its_end()
        await half.is_over()
        rest = piece_frame(b"b", first=False) + LAST_PIECE + text_frame(b"later")
        assert half.line.sent() == half.FIRST + b"\x8a\x01?" + rest
