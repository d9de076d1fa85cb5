"""How connections end."""

from __future__ import annotations

import socket
import struct

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.frames import Opcode

from serai.serve import Limits
from serai.serve.frames import text_frame
from serve.conftest import MIB, Room, listening, narrow, offline, soon, tick


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

    async def test_a_client_that_does_not_close_is_cut_off(self) -> None:
        async with listening(limits=Limits(close_timeout=0.05)) as room:
            client, peer = await room.raw()
            peer.connection.close(1000, "")
            assert await client.read_close() == 1000
            assert await client.is_cut()

    async def test_a_client_that_vanishes_is_noticed(self, room: Room) -> None:
        client, peer = await room.raw()
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()  # with a reset
        await soon(peer.gone.wait())
        for _ in range(10):
            peer.connection.send(text_frame(b"x"))
            peer.connection.flush()
        assert peer.goodbyes == 1


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

    async def test_a_client_that_takes_what_waits_for_it_stays(self) -> None:
        line = offline(room=0)
        await tick()
        line.socket.send(b"a" * 200_000)
        line.socket._ping()
        before = line.socket._out.taken
        line.transport.drain(100)
        line.socket._judge(before)
        assert line.socket.is_open
        line.socket._judge(line.socket._out.taken)
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
