from __future__ import annotations

import asyncio
import socket
from collections.abc import Collection
from typing import Any

import pytest
from websockets.asyncio.client import connect

from serai.config.settings import Settings
from serai.errors import ConfigInvalid
from serai.relay.tokens import digest
from serai.serve import Limits
from serai.serve.port import serve_port
from serve.conftest import Recorder, listening, soon

EVERYONE = "0.0.0.0"


def unwanted(port: int) -> None:
    pytest.fail(f"it listens on {port}")


async def refused(token_digests: Collection[str] = (), **settings: Any) -> ConfigInvalid:
    with pytest.raises(ConfigInvalid) as caught:
        await soon(
            serve_port(
                Settings(**settings),
                Recorder,
                lambda: (True, {}),
                started=unwanted,
                token_digests=token_digests,
            )
        )
    assert caught.value.remedy
    return caught.value


async def test_a_free_port_is_found_and_told() -> None:
    async with listening() as one, listening() as other:
        assert one.port != other.port
        assert (await one.http("/healthz")).status == 200
        assert (await other.http("/healthz")).status == 200


async def test_a_port_that_is_taken_is_named() -> None:
    async with listening() as room:
        assert str(room.port) in (await refused(port=room.port)).message


@pytest.mark.parametrize("host", ["no-such-host.invalid", "192.0.2.1"])
async def test_a_host_that_is_not_this_machine_is_refused(host: str) -> None:
    assert host in (await refused(host=host, port=0, token_digests=frozenset({digest("x")}))).message


@pytest.mark.parametrize("host", [EVERYONE, "::", ""])
async def test_a_port_for_everyone_needs_a_token(host: str) -> None:
    await refused(host=host, port=0)


async def test_with_a_token_it_may_listen_to_everyone() -> None:
    async with listening(host=EVERYONE, allowed_hosts=("inn.example",)) as room:
        assert (await room.http("/healthz", Host="inn.example:80")).status == 200
        assert (await room.http("/healthz", Host="evil.example:80")).status == 403


async def test_without_a_token_this_machine_is_let_in() -> None:
    async with listening(tokens=()) as room:
        assert (await room.http("/", Authorization="")).status == 200
        async with room.connect(additional_headers={}):
            assert room.peers[0].connection.token_digest == ""


async def test_all_addresses_of_a_name_are_listened_on() -> None:
    async with listening(host="localhost", tokens=()) as room:
        found = socket.getaddrinfo("localhost", room.port, type=socket.SOCK_STREAM)
        for address in {str(one[4][0]) for one in found if one[0] == socket.AF_INET or has_ipv6()}:
            where = f"[{address}]" if ":" in address else address
            client = await soon(connect(f"ws://{where}:{room.port}/"))
            await client.close()


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


async def test_cancelling_ends_it_and_frees_the_port() -> None:
    async with listening() as room:
        client, peer = await room.both()
        room.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await soon(room.task)
        assert room.task.cancelled()
        assert peer.goodbyes == 1
        await client.wait_closed()
        assert client.close_code == 1001
        with pytest.raises(OSError):  # noqa: PT011 - whatever the system says
            await asyncio.open_connection("127.0.0.1", room.port)
    async with listening(port=room.port) as again:
        assert (await again.http("/healthz")).status == 200


async def test_a_second_cancellation_cuts_off_at_once() -> None:
    async with listening(limits=Limits(shutdown_timeout=60)) as room:
        _, peer = await room.raw()  # does not answer the close frame
        room.task.cancel()
        await soon(peer.gone.wait())
        assert not room.task.done()
        room.task.cancel()
        await asyncio.wait({room.task}, timeout=5)
        assert room.task.cancelled()
        assert await room.guests[0].is_cut()
