"""A disk that is full, and a commit that fails."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import apsw
import pytest

from conformance.client import Client, Refused, connecting, timeless
from conformance.conftest import ROOT
from crash.disks import SESSION, house_on, new_disk, ready_session
from hosts import TOKEN, WITHIN, House, host_process, housing
from serai.errors import StorageUnavailable
from serai.store.memory import MemoryStore


async def readiness(house: House) -> tuple[int, Any]:
    async with asyncio.timeout(WITHIN):
        reader, writer = await asyncio.open_connection("127.0.0.1", house.port)
        writer.write(
            f"GET /readyz HTTP/1.1\r\nHost: localhost:{house.port}\r\nConnection: close\r\n"
            f"Authorization: Bearer {TOKEN}\r\n\r\n".encode()
        )
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        await writer.wait_closed()
    return int(head.split()[1]), json.loads(body)


async def unavailable(house: House) -> None:
    """Wait until the host has noticed."""
    async with asyncio.timeout(WITHIN):
        while house.host.journal.unavailable is None:  # noqa: ASYNC110 - a disk has no events
            await asyncio.sleep(0.001)


async def available(house: House) -> None:
    """Wait until the host has noticed that there is room."""
    async with asyncio.timeout(WITHIN):
        while house.host.journal.unavailable is not None:  # noqa: ASYNC110 - a disk has no events
            await asyncio.sleep(0.001)


async def refusals(client: Client, session: str) -> None:
    """On a full disk a dispatch comes back, and a request is answered with the reason."""
    seq = await client.dispatch(session, "titleChanged", title="refused")
    refused = await client.hear("titleChanged", title="refused")
    assert refused["rejectionReason"].startswith("storage_unavailable")
    assert refused["origin"]["clientSeq"] == seq
    for method, channel in (("createSession", "ahp-session:/new"), ("listSessions", ROOT)):
        with pytest.raises(Refused) as error:
            await client.request(method, channel)
        assert error.value.data["code"] == "storage_unavailable"
    assert await client.request("ping") is None


async def test_on_a_full_disk_dispatches_are_refused_and_all_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    disk = new_disk()
    async with (
        house_on(disk, tmp_path / "history.db") as house,
        connecting(house.url) as client,
        connecting(house.url, "other") as other,
    ):
        await client.initialize(ROOT)
        session = await ready_session(client)
        await other.initialize(session)
        assert (await readiness(house))[0] == 200
        with disk.failing("write", "-wal", apsw.SQLITE_FULL):
            await client.dispatch(session, "titleChanged", title="waits")
            await unavailable(house)
            await refusals(client, session)
            status, body = await readiness(house)
            assert (status, body["detail"]["code"]) == (503, "storage_unavailable")
            assert await other.request("ping") is None
            assert other.envelopes == []
            async with connecting(house.url, "third") as third:
                with pytest.raises(Refused) as error:
                    await third.initialize()
                assert error.value.data["code"] == "storage_unavailable"
        assert "rejectionReason" not in await other.hear("titleChanged", title="waits")
        assert (await readiness(house))[0] == 200
        await client.dispatch(session, "titleChanged", title="goes on")
        await other.hear("titleChanged", title="goes on")
        assert [a["title"] for a in other.heard("titleChanged")] == ["waits", "goes on"]
        await client.request("createSession", "ahp-session:/new")


async def test_what_is_asked_in_the_moment_when_the_disk_fills_up_is_answered_at_once(tmp_path: Path) -> None:
    disk = new_disk()
    async with house_on(disk, tmp_path / "history.db") as house, connecting(house.url) as client:
        await client.initialize(ROOT)
        session = await ready_session(client)
        for number in range(3):
            with disk.failing("write", "-wal", apsw.SQLITE_FULL):
                await client.dispatch(session, "titleChanged", title=f"waits {number}")
                ping = await client.ask("ping")
                asked = [
                    await client.ask("listSessions"),
                    await client.ask("fetchTurns", session),
                    await client.ask("subscribe", session),
                ]
                async with asyncio.timeout(WITHIN):
                    assert await ping is None
                    for answer in asked:
                        with pytest.raises(Refused) as refused:
                            await answer
                        assert refused.value.data["code"] == "storage_unavailable"
            await client.hear("titleChanged", title=f"waits {number}")
        assert (await client.request("listSessions"))["items"]


@pytest.mark.parametrize("is_back", [False, True])
async def test_who_is_the_first_to_meet_a_full_disk_is_told_so_and_may_try_again(
    is_back: bool,
) -> None:
    store = MemoryStore()
    async with housing(lambda: store) as house, connecting(house.url) as client:
        await client.initialize(ROOT)
        session = await ready_session(client)
        client.drop()
        async with connecting(house.url, client.state if is_back else "other") as comer:
            store.failure = StorageUnavailable("the disk is full")
            with pytest.raises(Refused) as refused:
                await (comer.reconnect() if is_back else comer.initialize(session))
            assert refused.value.data["code"] == "storage_unavailable"
            assert await comer.request("ping") is None
            assert not house.host.clients.is_connected(comer.id)
            store.failure = None
            await available(house)
            await (comer.reconnect() if is_back else comer.initialize(session))
            await comer.dispatch(session, "titleChanged", title="goes on")
            await comer.hear("titleChanged", title="goes on")


async def test_a_flood_on_a_full_disk_goes_back_in_order(tmp_path: Path) -> None:
    disk = new_disk()
    async with (
        house_on(disk, tmp_path / "history.db") as house,
        connecting(house.url) as client,
        connecting(house.url, "other") as other,
    ):
        await client.initialize(ROOT)
        session = await ready_session(client)
        await other.initialize(session)
        for number in range(3):
            with disk.failing("write", "-wal", apsw.SQLITE_FULL):
                await other.dispatch(session, "titleChanged", title=f"waits {number}")
                await unavailable(house)
                for _ in range(100):
                    await client.dispatch(session, "titleChanged", title="flood")
            async with asyncio.timeout(WITHIN):
                while f"waits {number}" not in [each["title"] for each in client.heard("titleChanged")]:
                    await client.dispatch(session, "titleChanged", title="flood")
                    await asyncio.sleep(0)
        await client.request("ping")
        numbers = [envelope["serverSeq"] for envelope in client.envelopes]
        assert numbers == sorted(numbers)


async def test_a_client_that_floods_a_full_disk_is_disconnected_and_others_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("serai.journal.journal.MOST_BYTES_ASIDE", 20_000)
    store = MemoryStore()
    async with (
        housing(lambda: store) as house,
        connecting(house.url) as client,
        connecting(house.url, "other") as other,
    ):
        await client.initialize(ROOT)
        session = await ready_session(client)
        await other.initialize(session)
        store.failure = StorageUnavailable("the disk is full")
        await client.dispatch(session, "titleChanged", title="waits")
        await unavailable(house)
        flood = {"type": "session/titleChanged", "title": "x" * 1000}
        for number in range(30):
            await client.notify("dispatchAction", channel=session, clientSeq=number, action=flood)
        assert await client.closed() == 1013
        assert await other.request("ping") is None
        store.failure = None
        await other.hear("titleChanged", title="waits")


async def test_a_turn_waits_for_room_and_loses_nothing(tmp_path: Path) -> None:
    disk = new_disk()
    async with house_on(disk, tmp_path / "history.db") as house, connecting(house.url) as client:
        await client.initialize(ROOT)
        session = await ready_session(client)
        message = {"text": "write 20000"}
        await client.dispatch(session, "turnStarted", turnId="t", userMessage=message)
        for _ in range(3):
            await client.hear("delta")
            with disk.failing("write", "-wal", apsw.SQLITE_FULL):
                await unavailable(house)
                await client.request("ping")  # what was committed before is heard by then
                before = len(client.envelopes)
                await client.request("ping")
                assert len(client.envelopes) == before, "nothing is published that is not committed"
        await client.hear("turnComplete")
        async with connecting(house.url, "fresh") as fresh:
            await fresh.initialize(session)
            assert timeless(client.session(session)) == timeless(fresh.session(session))


async def test_after_a_commit_that_failed_the_host_ends_and_recovers_from_its_journal(
    tmp_path: Path,
) -> None:
    async with host_process(tmp_path, faulty=True) as host:
        async with connecting(host.url) as client:
            await client.initialize(ROOT)
            await ready_session(client)
            await client.dispatch(SESSION, "titleChanged", title="committed")
            await client.hear("titleChanged")
            message = {"text": "write 20000"}
            await client.dispatch(SESSION, "turnStarted", turnId="t", userMessage=message)
            await client.hear("delta")
            os.kill(host.pid, signal.SIGUSR1)
            await client.dispatch(SESSION, "titleChanged", title="in doubt")
            assert await host.ended() == 1
            await client.closed()
            heard = client.heard("titleChanged")[-1]["title"]  # the last, if it was written before the fault
        await host.start()
        async with connecting(host.url, client.state) as again, connecting(host.url, "fresh") as fresh:
            await again.reconnect()
            await fresh.initialize(ROOT, SESSION)
            assert timeless(again.session(SESSION)) == timeless(fresh.session(SESSION))
            assert fresh.session(SESSION).active_turn is None
            assert fresh.session(SESSION).summary.title in {heard, "in doubt"}
            await fresh.dispatch(SESSION, "titleChanged", title="goes on")
            echo = await again.hear("titleChanged", title="goes on")
            assert echo["serverSeq"] > max(envelope["serverSeq"] for envelope in client.envelopes)
        await host.stop()
        assert "StorageFailed" in host.errors()
