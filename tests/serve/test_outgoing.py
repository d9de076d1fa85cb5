"""What goes out, also to those who read slowly."""

from __future__ import annotations

import socket
import struct

import pytest
from websockets.frames import Frame, Opcode

from serai.serve import Limits
from serai.serve.frames import text_frame
from serve.conftest import MIB, Room, echoing, listening, narrow, offline, soon, text, tick


class TestWriting:
    async def test_what_one_tick_gathers_is_one_write_in_order(self, room: Room) -> None:
        client, peer = await room.both()
        writes: list[bytes] = []
        real = peer.transport.write

        def write(data: bytes | bytearray | memoryview) -> None:
            writes.append(bytes(data))
            real(data)

        peer.transport.write = write
        for number in range(100):
            frame = text_frame(b"%d" % number)
            (peer.connection.send if number % 2 else peer.connection.respond)(frame)
        assert writes == []
        assert [await soon(client.recv()) for _ in range(100)] == [str(number) for number in range(100)]
        assert len(writes) == 1
        await client.close()

    async def test_the_first_of_a_tick_is_written_at_once_and_the_rest_together(self) -> None:
        line = offline()
        await tick()
        for frames in (b"one", b"two", b"three"):
            line.socket.send(frames)
        assert line.transport.writes == [b"one"]
        await tick()
        assert line.transport.writes == [b"one", b"twothree"]
        line.socket.send(b"four")
        assert line.transport.writes == [b"one", b"twothree", b"four"]

    async def test_a_large_message_is_held_once_and_not_once_per_silent_reader(self) -> None:
        lines = [offline(room=0) for _ in range(20)]
        await tick()
        frames = text_frame(bytes(range(256)) * 40_000)
        for line in lines:
            line.socket.send(frames)
            line.receive(Frame(Opcode.PING, b"?"))
            line.socket.send(b"after it")
        await tick()
        assert max(line.transport.kept for line in lines) <= MIB
        while lines[0].transport.kept:
            lines[0].transport.drain(MIB)
        pong = Frame(Opcode.PONG, b"?").serialize(mask=False)
        assert lines[0].sent() == frames + pong + b"after it"

    async def test_a_connection_that_cannot_be_written_to_does_not_keep_others_waiting(
        self, room: Room, caplog: pytest.LogCaptureFixture
    ) -> None:
        _, broken = await room.raw()
        sound, sound_peer = await room.raw()

        def write(data: bytes | bytearray | memoryview) -> None:
            raise ZeroDivisionError(data)

        broken.transport.write = write
        broken.transport.get_extra_info("socket").shutdown(socket.SHUT_WR)
        for peer in (broken, sound_peer):
            peer.connection.send(text_frame(b"hello"))
        assert await sound.read_frame() == (Opcode.TEXT, b"hello")
        await soon(broken.gone.wait())
        assert sound_peer.connection.is_open
        assert "ZeroDivisionError" in caplog.text

    async def test_what_the_system_takes_only_in_part_arrives_whole_and_in_order(self, room: Room) -> None:
        client, peer = await room.raw(receive_buffer=4096)
        narrow(peer)
        texts = [b"%d" % number * 60_000 for number in range(1, 8)]
        for said in (*texts, b"the end"):
            peer.connection.send(text_frame(said))
            await tick()
        for said in (*texts, b"the end"):
            assert await soon(client.read_frame()) == (Opcode.TEXT, said)
        assert not peer.transport.get_write_buffer_size()
        peer.connection.send(text_frame(b"and on"))
        assert await soon(client.read_frame()) == (Opcode.TEXT, b"and on")


class TestSlowReaders:
    LIMITS = Limits(waiting_bytes=1 * MIB)

    async def test_one_is_closed_while_another_hears_everything(self) -> None:
        async with listening(limits=self.LIMITS) as room:
            slow, slow_peer = await room.raw(receive_buffer=4096)
            narrow(slow_peer)
            quick, quick_peer = await room.raw()
            frame = text_frame(b"x" * 65536)
            count = 0
            while slow_peer.connection.is_open:
                count += 1
                for peer in (slow_peer, quick_peer):
                    peer.connection.send(frame)
                assert await quick.read_frame() == (Opcode.TEXT, frame[10:])
            assert 16 < count < 40
            await soon(slow_peer.gone.wait())
            assert slow_peer.goodbyes == 1
            # What was thrown away is not read any more, and the reason comes right behind what was written.
            assert await slow.read_close() == 4408
            assert quick_peer.connection.is_open
            slow_peer.connection.send(frame)
            slow_peer.connection.respond(frame)
            slow_peer.connection.flush()
            await slow.send(Opcode.CLOSE, b"")
            assert await slow.is_cut()

    async def test_answers_do_not_count(self) -> None:
        async with listening(limits=self.LIMITS) as room:
            client, peer = await room.raw(receive_buffer=4096)
            narrow(peer)
            answer = text_frame(b"y" * 300_000)
            for _ in range(20):
                peer.connection.respond(answer)
                peer.connection.send(text_frame(b"x" * 10_000))
            assert peer.connection.is_open
            for _ in range(20):
                assert await client.read_frame() == (Opcode.TEXT, b"y" * 300_000)
                assert await client.read_frame() == (Opcode.TEXT, b"x" * 10_000)

    async def test_nothing_but_the_reason_is_written_afterwards(self) -> None:
        line = offline(limits=Limits(waiting_bytes=100_000), room=0)
        await tick()
        line.socket.send(b"a" * 70_000)
        await tick()
        line.socket.send(b"b" * 100_000)
        assert line.socket.is_open
        line.socket.send(b"c")
        assert not line.socket.is_open
        assert line.peer.goodbyes == 0  # not from within `send`
        await tick()
        assert line.peer.goodbyes == 1
        line.transport.drain(1 << 30)
        reason = b"read too slowly"
        assert (
            line.sent() == b"a" * 70_000 + bytes([0x88, 2 + len(reason)]) + struct.pack("!H", 4408) + reason
        )

    async def test_one_that_reads_no_answers_is_asked_to_wait_with_its_requests(self) -> None:
        line = offline(limits=Limits(waiting_bytes=100_000), room=0, make=echoing)
        await tick()
        line.receive(*[text(b"x" * 50_000)] * 10)
        for _ in range(20):
            await tick()
        assert not line.transport.reading
        assert 2 <= len(line.peer.messages) < 6
        assert line.socket.is_open
        line.transport.drain(1 << 30)
        for _ in range(20):
            await tick()
        assert len(line.peer.messages) == 10
        assert line.transport.reading
        assert line.sent() == text_frame(b"x" * 50_000) * 10

    async def test_a_ping_does_not_wait_behind_what_waits(self) -> None:
        line = offline(room=0)
        await tick()
        line.socket.send(b"a" * 70_000)
        await tick()
        line.socket.send(b"b" * 70_000)
        line.receive(Frame(Opcode.PING, b"?"))
        line.transport.drain(1 << 30)
        assert line.sent() == b"a" * 70_000 + b"\x8a\x01?" + b"b" * 70_000
