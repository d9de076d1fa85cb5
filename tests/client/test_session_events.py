"""The events of a session, followed by a client over restarts of the host."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime

import pytest

from client.hosts import House as MemoryHouse, at_once, soon
from hosts import TOKEN, WITHIN, House, housing
from requirements import proves
from serai.client import Client, ConnectionLost, SessionEvent, SessionGone, connect
from serai.client.address import HostAddress
from serai.client.session_events import session_events
from serai.host.turn import Turn

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


@asynccontextmanager
async def connected(house: House) -> AsyncGenerator[Client]:
    async with connect(house.url, TOKEN, delays=at_once) as client:
        yield client


async def collect(
    events: AsyncGenerator[SessionEvent, None], is_last: Callable[[SessionEvent], bool]
) -> list[SessionEvent]:
    found: list[SessionEvent] = []
    async with asyncio.timeout(WITHIN):
        async for event in events:
            found.append(event)
            if is_last(event):
                return found
    raise AssertionError("the events ended")


def is_end(event: SessionEvent) -> bool:
    return event.type == "session:turn_completed"


async def test_a_client_follows_a_session_by_its_events() -> None:
    async with housing() as house, connected(house) as client:
        session = await soon(client.create_session("demo"))
        async with aclosing(session.events()) as events:
            await soon(session.begin_turn("write 5"))
            whole = await collect(events, is_end)
            assert [event.sequence_number for event in whole] == list(range(1, len(whole) + 1))
        async with aclosing(session.events(after=whole[-2].sequence_number)) as events:
            assert await soon(anext(events)) == whole[-1]


@proves("session:Lifecycle/gaps-detectable")
async def test_it_goes_on_with_the_next_number_when_the_host_comes_back() -> None:
    async with housing() as house:
        async with connected(house) as client:
            session = await soon(client.create_session("demo"))
            await soon((await soon(session.prompt("write 5"))).result())
        address = HostAddress(house.url, TOKEN)
        async with aclosing(session_events(address, session.uri, 0, at_once)) as events:
            whole = await collect(events, is_end)
            port = house.port
            await house.restart(port)
            async with connected(house) as client:
                session = await soon(client.open_session(session.uri))
                await soon(session.begin_turn("write 5"))
                whole += await collect(events, is_end)
        assert [event.sequence_number for event in whole] == list(range(1, len(whole) + 1))


@proves("session:Lifecycle/gaps-detectable")
async def test_an_event_that_is_missing_is_asked_for_again() -> None:
    asked: list[bytes] = []
    told = [(1, 3), (2, 3)]
    left = asyncio.Semaphore(0)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        asked.append(
            next(line.lower() for line in head.splitlines() if line.lower().startswith(b"last-event-id"))
        )
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n:\n\n")
        for number in told[len(asked) - 1]:
            event = SessionEvent("session:changed", "s", number, MOMENT, {"change": "x"})
            writer.write(b"id: %d\ndata: %b\n\n" % (number, event.to_json()))
        await reader.read()
        writer.close()
        await writer.wait_closed()
        left.release()

    async with await asyncio.start_server(answer, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        address = HostAddress(f"ws://127.0.0.1:{port}", TOKEN)
        async with aclosing(session_events(address, "s", 0, at_once)) as events:
            found = await collect(events, lambda event: event.sequence_number == 3)
        for _ in told:
            await soon(left.acquire())
    assert [event.sequence_number for event in found] == [1, 2, 3]
    assert asked == [b"last-event-id: 0", b"last-event-id: 1"]


async def test_a_session_that_is_gone_ends_the_events() -> None:
    async with housing() as house, connected(house) as client:
        session = await soon(client.create_session("demo"))
        await soon(session.dispose())
        with pytest.raises(SessionGone):
            await soon(anext(session.events()))


async def test_tries_that_end_are_told() -> None:
    address = HostAddress("ws://127.0.0.1:1", TOKEN)
    with pytest.raises(ConnectionLost, match="gave up"):
        await soon(anext(session_events(address, "s", 0, lambda: iter([0.0]))))


async def test_a_client_that_knows_no_address_says_so() -> None:
    async def silent(turn: Turn) -> None:
        del turn

    async with MemoryHouse(silent=silent) as house, house.client() as client:
        session = await soon(client.create_session())
        with pytest.raises(ConnectionLost, match="address of the host is not known"):
            session.events()
