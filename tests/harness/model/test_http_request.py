from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from ipaddress import ip_address

import pytest
from msgspec.structs import replace

from harness.model.workbench import Workbench
from requirements import proves
from serai.errors import AddressRefused, ToolError
from serai.harness.model.tool import Asking
from serai.harness.model.tools import address_guard
from serai.harness.model.tools.address_guard import allowed_addresses, is_public
from serai.harness.model.tools.http import HttpRequest


class Server:
    """A server on loopback that answers from a table."""

    port: int

    def __init__(self) -> None:
        self.asked: list[str] = []
        """The first line of each request, and its body."""
        self.answers: dict[str, str] = {"/": "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\nhello"}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def redirect(self, path: str, location: str) -> None:
        self.answers[path] = f"HTTP/1.1 302 Found\r\nlocation: {location}\r\n\r\n"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = [
            line.split(":")[1] for line in head.lower().splitlines() if line.startswith("content-length")
        ]
        body = await reader.readexactly(int(length[0])) if length else b""
        self.asked.append(f"{head.splitlines()[0]} {body.decode()}".strip())
        answer = self.answers[head.split()[1]]
        writer.write(answer.replace("\r\n", "\r\nconnection: close\r\n", 1).encode())
        await writer.drain()
        writer.close()


@asynccontextmanager
async def serving() -> AsyncGenerator[Server]:
    server = Server()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    async with listening:
        yield server


@pytest.fixture
async def server() -> AsyncGenerator[Server]:
    async with serving() as opened:
        yield opened


def allow(bench: Workbench, *hosts: str) -> None:
    bench.agent = replace(bench.agent, allowed_hosts=hosts)


async def test_a_request_is_shown_sent_and_answered(bench: Workbench, server: Server) -> None:
    allow(bench, f"127.0.0.1:{server.port}")
    assert HttpRequest.asking is Asking.UNLESS_GRANTED
    answer = await bench.use(HttpRequest, url=f"{server.url}/")
    assert answer.text == "HTTP 200 OK\ncontent-type: text/plain\n\nhello"
    await bench.use(HttpRequest, url=f"{server.url}/", method="POST", body="data", headers={"x-one": "1"})
    assert server.asked == ["GET / HTTP/1.1", "POST / HTTP/1.1 data"]
    assert "x-one: 1" in bench.shown[-1].message
    assert HttpRequest(url="https://example.org/a?b").pattern() == "GET https://example.org/*"


async def test_a_long_answer_is_cut_off(bench: Workbench, server: Server) -> None:
    allow(bench, f"127.0.0.1:{server.port}")
    server.answers["/"] = "HTTP/1.1 200 OK\r\n\r\n" + "x" * 3_000_000
    text = (await bench.use(HttpRequest, url=f"{server.url}/")).text
    assert len(text) < 1_100_000
    assert "cut off" in text


LOOPBACK = ("localhost", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "[::1]", "[::ffff:127.0.0.1]")


@proves("session:Tools-and-secrets/ssrf-policy")
async def test_loopback_is_refused_however_it_is_written(bench: Workbench, server: Server) -> None:
    for host in LOOPBACK:
        assert "private network" in await bench.refusal(HttpRequest, url=f"http://{host}:{server.port}/")
    assert server.asked == []


async def test_a_redirect_to_loopback_is_refused(bench: Workbench, server: Server) -> None:
    allow(bench, f"127.0.0.1:{server.port}")
    async with serving() as other:
        server.redirect("/away", f"{other.url}/")
        server.redirect("/here", "/")
        assert "private network" in await bench.refusal(HttpRequest, url=f"{server.url}/away")
        assert other.asked == []
        assert "hello" in (await bench.use(HttpRequest, url=f"{server.url}/here")).text
        posted = await bench.use(HttpRequest, url=f"{server.url}/away", method="POST", body="data")
        assert "302" in posted.text
        assert other.asked == []


async def test_a_name_whose_answer_changes_is_judged_by_the_address_that_is_connected_to(
    bench: Workbench, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [["93.184.216.34"], ["127.0.0.1"]]

    async def resolve(host: str, port: int) -> list[str]:
        del host, port
        return answers.pop(0)

    # The first answer passes, whoever looked at it. The second is the one that a connection would go to.
    monkeypatch.setattr(address_guard, "resolved", resolve)
    url = f"http://changing.example:{server.port}/"
    await allowed_addresses("changing.example", server.port)
    assert "private network" in await bench.refusal(HttpRequest, url=url)
    assert server.asked == []

    # And what was judged is connected to: the name is looked up once.
    answers[:] = [["127.0.0.1"]]
    allow(bench, f"changing.example:{server.port}")
    assert "hello" in (await bench.use(HttpRequest, url=url)).text
    assert answers == []


async def test_what_is_no_address_is_refused(bench: Workbench) -> None:
    for url in (
        "file:///etc/passwd",
        "http://",
        "http://a@b/",
        "http://a\\@b/",
        "gopher://x/",
        "http://a b/",
    ):
        assert await bench.refusal(HttpRequest, url=url)
    given = {"url": "http://93.184.216.34/", "headers": {"Host": "localhost"}}
    assert "Host" in await bench.refusal(HttpRequest, **given)


PRIVATE = (
    "127.0.0.1 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 255.255.255.255 "
    "168.63.129.16 :: ::1 fe80::1 fd00:ec2::254 ff02::1 "
    "::ffff:10.0.0.1 64:ff9b::a00:1 2002:7f00:1:: 2001:0:4136:e378:8000:63bf:80ff:fffe"
)
PUBLIC = "93.184.216.34 2606:2800:220:1::1 ::ffff:8.8.8.8 64:ff9b::808:808"


def test_which_addresses_are_public() -> None:
    assert [one for one in PRIVATE.split() if is_public(ip_address(one))] == []
    assert [one for one in PUBLIC.split() if not is_public(ip_address(one))] == []


async def test_a_host_is_refused_when_one_of_its_addresses_is_private_and_told_when_it_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def both(host: str, port: int) -> list[str]:
        del host, port
        return ["93.184.216.34", "10.0.0.1"]

    async def none(host: str, port: int) -> list[str]:
        raise socket.gaierror(f"{host}:{port}")

    monkeypatch.setattr(address_guard, "resolved", both)
    with pytest.raises(AddressRefused):
        await allowed_addresses("some.example", 80)
    assert len(await allowed_addresses("some.example.", 80, ["Some.example:80"])) == 2
    monkeypatch.setattr(address_guard, "resolved", none)
    with pytest.raises(ToolError, match="cannot be found"):
        await allowed_addresses("some.example", 80)
