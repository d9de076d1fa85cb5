"""Over the port: a client that goes, or a host that stops, while a discard is under way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.changesets.conftest import UNCOMMITTED, begin, follow, tell
from conformance.client import Client
from conformance.conftest import ONE
from hosts import House
from serai.changes.recorder import FolderRecorder
from serai.host.changes import session_changes

WITHIN = 30.0


class Gate:
    """A discard has emptied the places, `reached` is set, and it waits until it `may` put files there."""

    def __init__(self) -> None:
        self.reached, self.may = asyncio.Event(), asyncio.Event()


@pytest.fixture
async def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    gate, check_out = Gate(), FolderRecorder.check_out

    async def wait_first(self: FolderRecorder, *arguments: Any, **options: Any) -> None:
        gate.reached.set()
        await gate.may.wait()
        await check_out(self, *arguments, **options)

    monkeypatch.setattr(FolderRecorder, "check_out", wait_first)
    return gate


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WITHIN):
        while not condition():  # noqa: ASYNC110 - files tell nobody
            await asyncio.sleep(0.01)


async def test_a_discard_goes_on_to_its_end_when_its_client_goes(
    house: House, client: Client, repository: Path, gate: Gate
) -> None:
    await begin(client, repository)
    await tell(client, "a.txt: other\nb.txt: new")
    await follow(client, UNCOMMITTED)
    answer = await client.ask("invokeChangesetOperation", UNCOMMITTED, operationId="discard")
    await gate.reached.wait()
    client.drop()
    await asyncio.wait({answer}, timeout=WITHIN)
    await until(lambda: not house.host.journal.subscriptions.is_followed(ONE))
    gate.may.set()
    put_back = repository / "a.txt"
    await until(lambda: put_back.exists() and put_back.read_text() == "one\ntwo\n")
    assert not (repository / "b.txt").exists()


async def test_a_host_that_stops_within_a_discard_gives_everything_back(
    house: House, client: Client, repository: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_changes, "STOPPING", 0.05)
    await begin(client, repository)
    await tell(client, "a.txt: other\nb.txt: new")
    await follow(client, UNCOMMITTED)
    answer = await client.ask("invokeChangesetOperation", UNCOMMITTED, operationId="discard")
    await gate.reached.wait()
    assert not (repository / "a.txt").exists()
    await house.close()
    await asyncio.wait({answer}, timeout=WITHIN)
    assert (repository / "a.txt").read_text() == "other\n"
    assert (repository / "b.txt").read_text() == "new\n"
