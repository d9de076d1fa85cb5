"""Upgrades, and what comes in."""

from __future__ import annotations

import logging
import struct
from contextlib import suppress

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Frame, Opcode

from serai.relay.tokens import digest
from serai.serve import Limits
from serai.serve.frames import text_frame
from serve.conftest import (
    BEARER,
    MIB,
    TOKEN,
    Recorder,
    Room,
    ask,
    echoing,
    listening,
    offline,
    soon,
    text,
    tick,
    upgrade_request,
)


class TestMessages:
    async def test_they_come_in_order_and_so_do_the_answers(self, room: Room) -> None:
        client, peer = await room.both()
        wanted = [f"message {number} é" for number in range(500)]
        for message in wanted:
            await client.send(message)
        assert [await soon(client.recv()) for _ in wanted] == wanted
        assert peer.messages == [message.encode() for message in wanted]
        await client.close()

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


class TestUpgrade:
    async def test_the_connection_knows_who_is_there(self, room: Room) -> None:
        client, peer = await room.both()
        assert peer.connection.token_digest == digest(TOKEN)
        assert peer.connection.is_open
        await client.close()

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


class TestFloods:
    async def test_nothing_is_read_while_the_peer_holds_it_up(self) -> None:
        line = offline()
        line.peer.is_behind = True
        line.receive(text(b"later"), text(b"and this"))
        await tick()
        assert not line.peer.messages
        assert not line.transport.reading
        line.peer.is_behind = False
        line.peer.go_on()
        await tick()
        assert line.peer.messages == [b"later", b"and this"]
        assert line.transport.reading

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
