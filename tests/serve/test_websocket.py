from __future__ import annotations

import asyncio
import logging
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Frame, Opcode

from serai.serve import Connection, Limits
from serai.serve.frames import text_frame
from serai.serve.guard import digest
from serve.conftest import (
    BEARER,
    TOKEN,
    Recorder,
    Room,
    ask,
    echoing,
    listening,
    offline,
    soon,
    tick,
    upgrade_request,
)

MIB = 1024 * 1024


def text(data: bytes, *, fin: bool = True) -> Frame:
    return Frame(Opcode.TEXT, data, fin)


def narrow(peer: Recorder) -> None:
    """Let the system hold little of what is written to a client."""
    sock = peer.transport.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)


class TestMessages:
    async def test_they_come_in_order_and_so_do_the_answers(self, room: Room) -> None:
        client, peer = await room.both()
        wanted = [f"message {number} é" for number in range(500)]
        for message in wanted:
            await client.send(message)
        assert [await soon(client.recv()) for _ in wanted] == wanted
        assert peer.messages == [message.encode() for message in wanted]
        await client.close()

    @pytest.mark.parametrize("size", [0, 125, 126, 65535, 65536, 3 * MIB])
    async def test_every_length_goes_there_and_back(self, room: Room, size: int) -> None:
        async with room.connect(max_size=None) as client:
            await client.send("x" * size)
            assert await soon(client.recv()) == "x" * size

    async def test_fragments_are_joined_also_within_a_letter_and_around_a_ping(self, room: Room) -> None:
        client, peer = await room.raw()
        whole = "ein Schlüssel".encode()
        cut = whole.index("ü".encode()) + 1
        await client.send(Opcode.TEXT, whole[:cut], fin=False)
        await client.send(Opcode.PING, b"still there?")
        await client.send(Opcode.CONT, b"", fin=False)
        await client.send(Opcode.CONT, whole[cut:])
        assert await client.read_frame() == (Opcode.PONG, b"still there?")
        assert await client.read_frame() == (Opcode.TEXT, whole)
        assert peer.messages == [whole]

    async def test_a_message_may_come_byte_by_byte(self, room: Room) -> None:
        client, peer = await room.raw()
        client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in text(b"slowly").serialize(mask=True):
            await client.write(bytes([byte]))
            await tick()
        await peer.has(1)
        assert peer.messages == [b"slowly"]

    async def test_endless_empty_fragments_cost_nothing(self) -> None:
        line = offline()
        line.receive(text(b"a", fin=False))
        for _ in range(100):
            line.receive(*[Frame(Opcode.CONT, b"", fin=False)] * 50)
            while not line.transport.reading:
                await tick()
        line.receive(Frame(Opcode.CONT, b"b"))
        assert line.peer.messages == [b"ab"]
        line.transport.close()
        await tick()

    async def test_nothing_is_compressed(self, room: Room) -> None:
        client, _ = await room.both(compression="deflate")
        assert client.response is not None
        assert "Sec-WebSocket-Extensions" not in client.response.headers
        await client.close()


class TestWhatIsRefused:
    async def test_binary_messages(self, room: Room) -> None:
        client, peer = await room.both()
        await client.send(b"\x00\x01")
        with pytest.raises(ConnectionClosed) as caught:
            await soon(client.recv())
        assert caught.value.rcvd is not None
        assert caught.value.rcvd.code == 1003
        await soon(peer.gone.wait())
        assert peer.messages == []

    @pytest.mark.parametrize(
        "frames",
        [
            [text(b"\xff")],
            [text(b"good"), text(b"\xed\xa0\x80")],
            [text(b"\xc3", fin=False), Frame(Opcode.CONT, b"x")],
            [text(b"\xc3")],
        ],
    )
    async def test_what_is_not_utf_8(self, room: Room, frames: list[Frame]) -> None:
        client, peer = await room.raw()
        await client.write(b"".join(frame.serialize(mask=True) for frame in frames))
        assert await client.read_close() == 1007
        assert peer.messages in ([], [b"good"])

    async def test_a_message_that_is_too_long_while_it_is_still_being_sent(self) -> None:
        async with listening(limits=Limits(message_bytes=MIB)) as room:
            client, peer = await room.both()
            with suppress(ConnectionClosed):
                await soon(client.send("x" * 16 * MIB))
            await soon(client.wait_closed())
            assert client.close_code == 1009
            await soon(peer.gone.wait())
            assert peer.messages == []

    async def test_a_message_that_is_too_long_in_all_its_fragments(self) -> None:
        async with listening(limits=Limits(message_bytes=1000)) as room:
            client, peer = await room.raw()
            await client.send(Opcode.TEXT, b"x" * 600, fin=False)
            await client.send(Opcode.CONT, b"x" * 400, fin=False)
            await client.send(Opcode.CONT, b"x", fin=False)
            assert await client.read_close() == 1009
            assert peer.messages == []

    async def test_a_length_of_many_bytes_is_not_waited_for(self, room: Room) -> None:
        client, _ = await room.raw()
        await client.write(b"\x81\xff" + struct.pack("!Q", 16 * MIB + 1))
        assert await client.read_close() == 1009

    @pytest.mark.parametrize(
        "data",
        [
            b"\x81\x02hi",  # not masked
            b"\xc1\x80\x00\x00\x00\x00",  # a reserved bit: compressed, which was not agreed on
            b"\x83\x80\x00\x00\x00\x00",  # no such opcode
            b"\x80\x80\x00\x00\x00\x00",  # the rest of nothing
            b"\x09\x80\x00\x00\x00\x00",  # a ping in fragments
            b"\x88\x81\x00\x00\x00\x00x",  # a close frame with half a code
        ],
    )
    async def test_frames_that_break_the_protocol(self, room: Room, data: bytes) -> None:
        client, peer = await room.raw()
        await client.write(text(b"before").serialize(mask=True) + data)
        assert await client.read_close() == 1002
        assert peer.messages == [b"before"]
        await soon(peer.gone.wait())

    async def test_a_peer_that_fails_takes_only_its_own_connection_along(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Failing(Recorder):
            def received(self, data: bytes) -> None:
                super().received(data)
                if data == b"fail":
                    raise ZeroDivisionError

        async with listening(Failing) as room:
            client, peer = await room.raw()
            _, other = await room.raw()
            await client.write(b"".join(text(word).serialize(mask=True) for word in (b"fail", b"never")))
            assert await client.read_close() == 1011
            assert peer.messages == [b"fail"]
            assert other.connection.is_open
        assert "ZeroDivisionError" in caplog.text

    async def test_a_factory_that_fails_closes_the_connection(self, caplog: pytest.LogCaptureFixture) -> None:
        def failing(connection: Connection) -> Recorder:
            raise ZeroDivisionError(connection)

        async with listening(failing) as room, room.connect() as client:
            with pytest.raises(ConnectionClosed):
                await soon(client.recv())
            assert client.close_code == 1011
        assert "ZeroDivisionError" in caplog.text


class TestUpgrade:
    async def test_the_connection_knows_who_is_there(self, room: Room) -> None:
        client, peer = await room.both()
        host, port = client.local_address[:2]
        assert peer.connection.remote == f"{host}:{port}"
        assert peer.connection.token_digest == digest(TOKEN)
        assert peer.connection.is_open
        await client.close()

    async def test_an_ipv6_address_is_in_brackets(self) -> None:
        assert offline().socket.remote == "[::1]:5000"

    @pytest.mark.parametrize("path", ["/", "/ahp", f"/?tkn={TOKEN}", f"/ahp?x=1&tkn={TOKEN}"])
    async def test_it_is_found_here(self, room: Room, path: str) -> None:
        headers = None if "tkn" in path else BEARER
        async with room.connect(path, additional_headers=headers) as client:
            await client.send("hello")
            assert await soon(client.recv()) == "hello"

    @pytest.mark.parametrize(
        ("path", "headers", "origin", "status", "code"),
        [
            ("/", {}, None, 401, "token_missing"),
            ("/?tkn=wrong", {}, None, 401, "token_wrong"),
            ("/nowhere", BEARER, None, 404, "not_found"),
            ("/", BEARER, "http://evil.example", 403, "origin_refused"),
            ("/", BEARER, "null", 403, "origin_refused"),
        ],
    )
    async def test_a_refusal_is_an_http_answer_with_a_remedy(
        self, room: Room, path: str, headers: dict[str, str], origin: str | None, status: int, code: str
    ) -> None:
        with pytest.raises(InvalidStatus) as caught:
            await soon(room.connect(path, additional_headers=headers, origin=origin))
        response = caught.value.response
        assert response.status_code == status
        assert response.headers["Content-Type"] == "application/json"
        assert f'"{code}"'.encode() in response.body
        assert b'"remedy"' in response.body
        assert room.peers == []

    async def test_a_rebound_name_is_refused(self, room: Room) -> None:
        answer = await ask(room.port, upgrade_request(room.port, Host="evil.example"))
        assert (answer.status, answer.body["code"]) == (403, "host_refused")

    async def test_two_hosts_are_refused(self, room: Room) -> None:
        request = upgrade_request(room.port).replace(b"\r\nHost:", b"\r\nHost: localhost\r\nHost:", 1)
        assert (await ask(room.port, request)).status == 400

    @pytest.mark.parametrize(
        ("header", "value"),
        [("Sec_WebSocket_Version", "8"), ("Sec_WebSocket_Key", ""), ("X_Long", "x" * 9000)],
    )
    async def test_a_broken_upgrade_gets_an_http_error(self, room: Room, header: str, value: str) -> None:
        answer = await ask(room.port, upgrade_request(room.port, **{header: value}))
        assert answer.status in {400, 431}
        assert room.peers == []

    async def test_the_log_holds_neither_token_nor_content(
        self, room: Room, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        client, _ = await room.raw()
        await client.send(Opcode.TEXT, b"a private word")
        await client.read_frame()
        await ask(room.port, upgrade_request(room.port, f"/x?tkn={TOKEN}"))
        assert TOKEN not in caplog.text
        assert "private" not in caplog.text


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

    async def test_what_waits_can_be_written_before_the_tick_ends(self) -> None:
        line = offline()
        await tick()
        line.socket.respond(b"one")
        line.socket.send(b"two")
        line.socket.flush()
        assert line.transport.writes == [b"onetwo"]
        await tick()
        assert line.transport.writes == [b"onetwo"]

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

    async def test_one_buffer_goes_out_uncopied(self) -> None:
        line = offline()
        await tick()
        given: list[object] = []

        def write(data: bytes | bytearray | memoryview) -> None:
            given.append(data)

        line.transport.write = write
        frames = b"x" * 1000
        line.socket.send(frames)
        line.socket.flush()
        assert given[0] is frames

    async def test_nothing_is_written_before_the_transport_is_handed_over(self) -> None:
        def greeting(connection: Connection) -> Recorder:
            connection.send(text_frame(b"welcome"))
            connection.flush()
            return Recorder(connection)

        line = offline(make=greeting)
        assert line.transport.writes == []
        await tick()
        assert line.sent() == text_frame(b"welcome")
        async with listening(greeting) as room, room.connect() as client:
            assert await soon(client.recv()) == "welcome"

    async def test_a_connection_that_cannot_be_written_to_does_not_keep_others_waiting(
        self, room: Room, caplog: pytest.LogCaptureFixture
    ) -> None:
        _, broken = await room.raw()
        sound, sound_peer = await room.raw()

        def write(data: bytes | bytearray | memoryview) -> None:
            raise ZeroDivisionError(data)

        broken.transport.write = write
        for peer in (broken, sound_peer):
            peer.connection.send(text_frame(b"hello"))
        assert await sound.read_frame() == (Opcode.TEXT, b"hello")
        await soon(broken.gone.wait())
        assert sound_peer.connection.is_open
        assert "ZeroDivisionError" in caplog.text

    async def test_two_hundred_connections_hear_one_buffer(self, room: Room) -> None:
        clients = [client for client, _ in [await room.raw() for _ in range(200)]]
        frames = b"".join(text_frame(b"delta %d" % number) for number in range(50))
        for peer in room.peers:
            peer.connection.send(frames)
        for client in clients:
            got = [await client.read_frame() for _ in range(50)]
            assert got == [(Opcode.TEXT, b"delta %d" % number) for number in range(50)]
            client.close()
        for peer in room.peers:
            await soon(peer.gone.wait())
        assert [peer.goodbyes for peer in room.peers] == [1] * 200


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

    async def test_the_count_goes_down_as_the_client_reads(self) -> None:
        line = offline(limits=Limits(waiting_bytes=100_000), room=0)
        await tick()
        line.socket.send(b"a" * 70_000)
        await tick()  # now with the transport, which asks to wait
        line.socket.respond(b"b" * 500_000)
        for _ in range(10):
            line.socket.send(b"c" * 10_000)
        assert line.socket.is_open
        line.transport.drain(570_000)
        await tick()
        for _ in range(9):
            line.socket.send(b"d" * 10_000)
        await tick()
        assert line.socket.is_open
        line.transport.drain(1 << 30)
        assert line.sent() == b"a" * 70_000 + b"b" * 500_000 + b"c" * 100_000 + b"d" * 90_000

    async def test_a_burst_for_a_quick_reader_is_no_reason(self) -> None:
        line = offline(limits=Limits(waiting_bytes=100_000))
        await tick()
        for _ in range(1000):
            line.socket.send(b"x" * 1000)
        assert line.socket.is_open
        await tick()
        assert len(line.sent()) == 1_000_000

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

    async def test_one_that_lets_pings_pile_up_is_closed_too(self) -> None:
        line = offline(limits=Limits(waiting_bytes=10_000), room=0)
        await tick()
        line.socket.send(b"a" * 70_000)
        await tick()
        for _ in range(200):
            line.receive(Frame(Opcode.PING, b"x" * 125))
        assert not line.socket.is_open

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


class TestFloods:
    async def test_each_connection_has_its_share_of_a_tick(self) -> None:
        line = offline(limits=Limits(messages_per_tick=64))
        line.receive(*[text(b"%d" % number) for number in range(1000)])
        seen = [len(line.peer.messages)]
        while len(line.peer.messages) < 1000:
            assert not line.transport.reading
            await tick()
            seen.append(len(line.peer.messages))
        assert max(after - before for before, after in zip([0, *seen], seen, strict=False)) <= 64
        assert line.peer.messages == [b"%d" % number for number in range(1000)]
        await tick()
        assert line.transport.reading

    async def test_a_flood_does_not_keep_others_waiting(self, room: Room) -> None:
        flooder, flooded = await room.raw()
        quiet, _ = await room.raw()
        await flooder.write(text(b"noise").serialize(mask=True) * 20_000)
        await quiet.send(Opcode.TEXT, b"a word")
        assert await quiet.read_frame() == (Opcode.TEXT, b"a word")
        assert len(flooded.messages) < 20_000
        await flooded.has(20_000)

    async def test_what_came_before_a_close_is_handed_over_first(self) -> None:
        line = offline(make=echoing)
        line.receive(*[text(b"x")] * 200, Frame(Opcode.CLOSE, struct.pack("!H", 1000)), text(b"late"))
        while not line.peer.gone.is_set():
            await tick()
        assert line.peer.messages == [b"x"] * 200
        assert line.sent() == text_frame(b"x") * 200 + b"\x88\x02" + struct.pack("!H", 1000)


class TestClosing:
    async def test_the_client_closes(self, room: Room) -> None:
        client, peer = await room.both()
        await client.send("last words")
        await client.close(4001, "enough")
        assert client.close_code == 4001
        await soon(peer.gone.wait())
        assert peer.messages == [b"last words"]
        assert peer.goodbyes == 1
        assert not peer.connection.is_open
        peer.connection.send(b"x")
        peer.connection.respond(b"x")
        peer.connection.flush()
        peer.connection.close(1000, "")
        await tick()
        assert peer.goodbyes == 1

    async def test_the_peer_closes_after_what_it_said(self, room: Room) -> None:
        client, peer = await room.both()
        peer.connection.respond(text_frame(b"no"))
        peer.connection.close(4005, "because " + "ü" * 100)
        peer.connection.close(1000, "again")
        assert not peer.connection.is_open
        assert peer.goodbyes == 0
        assert await soon(client.recv()) == "no"
        with pytest.raises(ConnectionClosed) as caught:
            await soon(client.recv())
        assert caught.value.rcvd is not None
        assert caught.value.rcvd.code == 4005
        assert caught.value.rcvd.reason == "because " + "ü" * 57
        assert peer.goodbyes == 1

    async def test_both_close_at_once(self) -> None:
        line = offline(room=0)
        await tick()
        line.socket.send(b"a" * 70_000)
        await tick()
        line.socket.send(b"b")
        line.socket.close(4005, "")
        line.receive(Frame(Opcode.CLOSE, struct.pack("!H", 1000)))
        await tick()
        # What waited is of no use to a client that goes; that we close is said all the same.
        assert line.sent() == b"a" * 70_000 + b"\x88\x02" + struct.pack("!H", 4005)
        assert line.transport.ended
        assert line.peer.goodbyes == 1

    async def test_closing_comes_after_all_that_waits(self) -> None:
        line = offline(room=0)
        await tick()
        line.socket.send(b"a" * 70_000)
        await tick()
        line.socket.respond(b"b")
        line.socket.close(4005, "")
        line.socket.send(b"never")
        assert line.sent() == b"a" * 70_000
        line.transport.drain(1 << 30)
        assert line.sent() == b"a" * 70_000 + b"b" + b"\x88\x02" + struct.pack("!H", 4005)

    async def test_nothing_is_received_once_it_is_closed(self) -> None:
        class Closing(Recorder):
            def received(self, data: bytes) -> None:
                super().received(data)
                self.connection.close(1000, "")

        line = offline(make=Closing)
        await tick()
        line.receive(text(b"one"), text(b"two"), Frame(Opcode.CLOSE, b""))
        await tick()
        assert line.peer.messages == [b"one"]
        assert line.peer.goodbyes == 1
        assert line.transport.ended
        assert line.connections == set()

    async def test_a_client_that_does_not_close_is_cut_off(self) -> None:
        async with listening(limits=Limits(close_timeout=0.05)) as room:
            client, peer = await room.raw()
            peer.connection.close(1000, "")
            assert await client.read_close() == 1000
            assert await client.is_cut()

    async def test_a_client_that_still_reads_gets_more_time_but_not_for_ever(self) -> None:
        line = offline(room=0)
        await tick()
        line.socket.send(b"a" * 70_000)
        await tick()
        line.socket.close(1000, "")
        for _ in range(6):
            before = line.socket._taken()
            line.transport.drain(1000)
            line.socket._lose_patience(before)
            assert not line.transport.ended
        before = line.socket._taken()
        line.transport.drain(1000)
        line.socket._lose_patience(before)
        assert line.transport.ended

    async def test_a_client_that_stops_reading_gets_none(self) -> None:
        line = offline(room=0)
        await tick()
        line.socket.send(b"a" * 70_000)
        await tick()
        line.socket.close(1000, "")
        line.socket._lose_patience(line.socket._taken())
        assert line.transport.ended

    async def test_a_client_that_vanishes_is_noticed(self, room: Room) -> None:
        client, peer = await room.raw()
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()  # with a reset
        await soon(peer.gone.wait())
        for _ in range(10):
            peer.connection.send(text_frame(b"x"))
            peer.connection.flush()
        assert peer.goodbyes == 1

    async def test_a_client_that_hangs_up_without_a_word_is_noticed(self, room: Room) -> None:
        client, peer = await room.raw()
        client.sock.shutdown(socket.SHUT_WR)
        await soon(peer.gone.wait())
        assert await client.is_cut()
        assert peer.goodbyes == 1

    async def test_a_client_that_hangs_up_and_does_not_read_is_cut_off(self) -> None:
        async with listening(limits=Limits(close_timeout=0.05)) as room:
            client, peer = await room.raw(receive_buffer=4096)
            narrow(peer)
            peer.connection.respond(text_frame(b"x" * MIB))
            peer.connection.flush()
            lost = asyncio.Event()
            assert peer.transport.get_write_buffer_size()
            real = peer.transport.get_protocol().connection_lost
            peer.transport.get_protocol().connection_lost = lambda exc: (real(exc), lost.set())[0]
            client.sock.shutdown(socket.SHUT_WR)
            await soon(lost.wait())

    async def test_a_peer_that_fails_at_the_end_is_logged(self, caplog: pytest.LogCaptureFixture) -> None:
        class Failing(Recorder):
            def disconnected(self) -> None:
                super().disconnected()
                raise ZeroDivisionError

        async with listening(Failing) as room:
            client, peer = await room.both()
            await client.close()
            await soon(peer.gone.wait())
        assert "ZeroDivisionError" in caplog.text


class TestKeepAlive:
    LIMITS = Limits(ping_interval=0.05, ping_timeout=0.05)
    PATIENT = Limits(ping_interval=0.25, ping_timeout=0.25)

    async def test_a_silent_client_is_dropped(self) -> None:
        async with listening(limits=self.LIMITS) as room:
            client, peer = await room.raw()
            assert await client.read_frame() == (Opcode.PING, b"")
            assert await client.read_close() == 1011
            assert await client.is_cut()
            await soon(peer.gone.wait())

    async def test_a_silent_client_that_does_not_read_is_dropped(self) -> None:
        async with listening(limits=self.LIMITS) as room:
            _, peer = await room.raw(receive_buffer=4096)
            narrow(peer)
            peer.connection.respond(text_frame(b"x" * MIB))
            await soon(peer.gone.wait())

    async def test_a_client_that_answers_stays(self) -> None:
        async with listening(limits=self.PATIENT) as room:
            client, peer = await room.raw()
            for _ in range(3):
                assert await client.read_frame() == (Opcode.PING, b"")
                await client.send(Opcode.PONG, b"")
            assert peer.connection.is_open

    async def test_a_client_in_the_middle_of_a_long_message_stays(self) -> None:
        async with listening(limits=self.PATIENT) as room:
            client, peer = await room.raw()
            frame = text(b"x" * 100).serialize(mask=True)
            for start in range(0, 30, 10):
                assert await client.read_frame() == (Opcode.PING, b"")
                await client.write(frame[start : start + 10])
            await client.write(frame[30:])
            await peer.has(1)

    async def test_a_client_that_takes_what_waits_for_it_stays(self) -> None:
        line = offline(room=0)
        await tick()
        line.socket.send(b"a" * 200_000)
        line.socket._ping()
        before = line.socket._taken()
        line.transport.drain(100)
        line.socket._judge(before)
        assert line.socket.is_open
        line.socket._judge(line.socket._taken())
        assert not line.socket.is_open


class TestGoingAway:
    async def test_the_host_says_that_it_goes(self) -> None:
        async with listening() as room:
            client, peer = await room.both()
            await room.stop()
            with pytest.raises(ConnectionClosed) as caught:
                await soon(client.recv())
            assert caught.value.rcvd is not None
            assert (caught.value.rcvd.code, caught.value.rcvd.reason) == (1001, "the host is going away")
            assert peer.goodbyes == 1

    async def test_it_does_not_wait_long_for_who_does_not_listen(self) -> None:
        async with listening(limits=Limits(shutdown_timeout=0.05, waiting_bytes=64 * MIB)) as room:
            _, deaf_peer = await room.raw(receive_buffer=4096)
            narrow(deaf_peer)
            deaf_peer.connection.send(text_frame(b"x" * 8 * MIB))
            _, closing_peer = await room.raw()
            closing_peer.connection.close(1000, "")
            await room.stop()
            assert [peer.goodbyes for peer in room.peers] == [1, 1]
