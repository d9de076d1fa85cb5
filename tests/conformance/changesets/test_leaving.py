"""Over the port: a client that goes, or a host that stops, while an operation is under way."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.changesets.conftest import UNCOMMITTED, Scribe, begin, follow, git
from conformance.client import Client, Refused, connecting
from conformance.conftest import ONE
from hosts import House, housing
from serai.changes import restoring
from serai.harness.callback import CallbackHarness
from serai.host.changes import changing

WITHIN = 30.0

# The host's own looks at the files go through the filter too: only a stage has the lock.
_SLOW = """#!/bin/sh
if [ -e .git/index.lock ]; then
    : > {folder}/waits
    while [ ! -e {folder}/go ]; do sleep 0.02; done
fi
exec cat
"""


def trust(_folder: Path) -> bool:
    return True


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with housing(
        harnesses=[CallbackHarness("scribe", Scribe(tmp_path / "work").answer)],
        home=tmp_path / "home",
        user_home=tmp_path / "person",
        is_trusted=trust,
    ) as house:
        yield house


@pytest.fixture
def slow(repository: Path, tmp_path: Path) -> Path:
    """A repository where staging `a.txt` waits for a file `go` beside it, and makes `waits` meanwhile."""
    script = tmp_path / "slow"
    script.write_text(_SLOW.format(folder=tmp_path))
    script.chmod(0o755)
    git(repository, "config", "filter.slow.clean", str(script))
    (repository / ".git/info/attributes").write_text("a.txt filter=slow\n")
    return repository


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WITHIN):
        while not condition():  # noqa: ASYNC110 - files and processes tell nobody
            await asyncio.sleep(0.01)


async def ask_and_leave(house: House, client: Client, operation: str, begun: Callable[[], bool]) -> None:
    """Ask for an operation, and be gone when it has begun. Returns when the host knows."""
    answer = await client.ask("invokeChangesetOperation", UNCOMMITTED, operationId=operation)
    await until(begun)
    client.drop()
    await asyncio.wait({answer}, timeout=WITHIN)
    assert answer.cancelled()
    await until(lambda: not house.host.journal.subscriptions.is_followed(ONE))


async def test_a_stage_goes_on_to_its_end_when_its_client_goes(
    house: House, client: Client, slow: Path, tmp_path: Path
) -> None:
    await begin(client, slow)
    (slow / "a.txt").write_text("mine\n")
    await follow(client, UNCOMMITTED)
    await ask_and_leave(house, client, "stage", (tmp_path / "waits").exists)
    assert (slow / ".git/index.lock").exists()
    (tmp_path / "go").touch()
    await until(lambda: not (slow / ".git/index.lock").exists())
    assert git(slow, "status", "--short") == "M  a.txt\n"


async def test_a_host_that_stops_within_a_stage_leaves_no_lock(
    house: House, client: Client, slow: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changing, "STOPPING", 0.05)
    await begin(client, slow)
    (slow / "a.txt").write_text("mine\n")
    await follow(client, UNCOMMITTED)
    answer = await client.ask("invokeChangesetOperation", UNCOMMITTED, operationId="stage")
    await until((tmp_path / "waits").exists)
    await house.close()
    assert not (slow / ".git/index.lock").exists()
    await asyncio.wait({answer}, timeout=WITHIN)
    assert answer.cancelled()
    (tmp_path / "go").touch()
    assert git(slow, "status", "--short") == " M a.txt\n"
    git(slow, "add", "a.txt")


async def test_a_host_that_stops_waits_for_a_stage_that_is_nearly_done(
    house: House, client: Client, slow: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changing, "STOPPING", WITHIN)
    await begin(client, slow)
    (slow / "a.txt").write_text("mine\n")
    await follow(client, UNCOMMITTED)
    answer = await client.ask("invokeChangesetOperation", UNCOMMITTED, operationId="stage")
    await until((tmp_path / "waits").exists)
    closing = asyncio.create_task(house.close())
    await asyncio.wait({answer}, timeout=WITHIN)
    assert answer.cancelled()
    assert not closing.done()
    (tmp_path / "go").touch()
    await closing
    assert git(slow, "status", "--short") == "M  a.txt\n"


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """The second file that a discard puts back is `reached`, and waits until it `may` be put."""
    reached, may = threading.Event(), threading.Event()
    put: Any = restoring.put_file
    count = 0

    def put_file(*arguments: Any, **options: Any) -> None:
        nonlocal count
        count += 1
        if count == 2:
            reached.set()
            assert may.wait(WITHIN)
        put(*arguments, **options)

    monkeypatch.setattr(restoring, "put_file", put_file)
    return reached, may


@pytest.fixture
def staged(repository: Path) -> Path:
    """A repository with four files that have staged changes."""
    for name in "bcd":
        (repository / f"{name}.txt").write_text("one\ntwo\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "second")
    for name in "abcd":
        (repository / f"{name}.txt").write_text(f"mine {name}\n")
    git(repository, "add", "-A")
    return repository


async def test_a_discard_goes_on_to_its_end_when_its_client_goes(
    house: House, client: Client, staged: Path, gate: tuple[threading.Event, threading.Event]
) -> None:
    reached, may = gate
    await begin(client, staged)
    await follow(client, UNCOMMITTED)
    try:
        await ask_and_leave(house, client, "discard", reached.is_set)
    finally:
        may.set()
    async with connecting(house.url, "two") as other:
        await other.initialize()
        # Whoever asks next waits for its end, and finds nothing.
        with pytest.raises(Refused):
            await other.request(
                "invokeChangesetOperation",
                UNCOMMITTED,
                operationId="discard",
                target={"kind": "resource", "resource": (staged / "d.txt").as_uri()},
            )
    assert git(staged, "status", "--short") == ""
    assert {(staged / f"{name}.txt").read_text() for name in "abcd"} == {"one\ntwo\n"}


async def test_a_host_that_stops_within_a_discard_leaves_the_rest_as_it_was(
    house: House,
    client: Client,
    staged: Path,
    gate: tuple[threading.Event, threading.Event],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(changing, "STOPPING", 0.05)
    reached, may = gate
    await begin(client, staged)
    await follow(client, UNCOMMITTED)
    answer = await client.ask("invokeChangesetOperation", UNCOMMITTED, operationId="discard")
    await until(reached.is_set)
    [operation] = house.host.sessions.in_memory()[0].changing.operations
    closing = asyncio.create_task(house.close())
    try:
        await until(lambda: operation.cancelling() > 0)
    finally:
        may.set()
    await closing
    await asyncio.wait({answer}, timeout=WITHIN)
    assert answer.cancelled()
    assert git(staged, "status", "--short") == "M  c.txt\nM  d.txt\n"
    assert [(staged / f"{name}.txt").read_text() for name in "abcd"] == [
        *("one\ntwo\n", "one\ntwo\n", "mine c\n", "mine d\n")
    ]
