"""Over the port: what changed in each turn, also in one that was cut off, taken back, or forked."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

from cli.programs import address_of, running
from conformance.changesets.conftest import (
    SESSION,
    T1,
    T2,
    after,
    begin,
    counts,
    files,
    follow,
    refused,
    shown,
    tell,
)
from conformance.client import Client, connecting
from conformance.conftest import ONE, over
from hosts import House
from nursery import Forked
from serai.ahp.types import ROOT


async def test_a_turn_has_what_it_changed_and_nothing_else(client: Client, repository: Path) -> None:
    await begin(client, repository)
    (repository / "mine.txt").write_text("before\n")
    await tell(client, "a.txt: other")
    await follow(client, T1)
    await client.until(lambda: shown(client, T1).files and "serai-change" in after(client, T1))
    (repository / "later.txt").write_text("after\n")
    await tell(client, "c.txt: more\na.txt", "t2")
    await follow(client, T2)
    assert files(client, T1) == {"a.txt"}
    assert files(client, T2) == {"a.txt", "c.txt"}
    assert counts(client) == (4, 3, 2)


async def test_bases_survive_a_restart(house: House, client: Client, repository: Path) -> None:
    await begin(client, repository)
    await tell(client, "a.txt: other")
    await tell(client, "b.txt: new", "t2")
    await follow(client, T1)
    await client.close()
    await house.restart()
    (repository / "c.txt").write_text("later\n")
    async with connecting(house.url, "after") as again:
        await again.initialize()
        for uri, expected in ((T1, {"a.txt"}), (T2, {"b.txt"}), (SESSION, {"a.txt", "b.txt", "c.txt"})):
            assert (await follow(again, uri)).status == "ready"
            assert files(again, uri) == expected


async def test_a_turn_that_is_cancelled_has_what_it_had_changed(client: Client, repository: Path) -> None:
    await begin(client, repository, provider="demo")
    await client.dispatch(ONE, "turnStarted", turnId="t1", userMessage={"text": "ask"})
    await client.until(lambda: client.session(ONE).summary.status & 16)
    (repository / "b.txt").write_text("new\n")
    await client.dispatch(ONE, "turnCancelled", turnId="t1")
    await over(client, ONE)
    await client.until(lambda: counts(client) == (1, 1, 0))
    assert (await follow(client, T1)).status == "ready"
    assert files(client, T1) == {"b.txt"}


async def test_a_turn_that_is_taken_back_while_it_is_followed_is_let_go(
    client: Client, repository: Path
) -> None:
    await begin(client, repository)
    await tell(client, "a.txt: other")
    await tell(client, "b.txt: new", "t2")
    await follow(client, T2)
    await client.until(lambda: files(client, T2) == {"b.txt"})
    await client.dispatch(ONE, "truncated", turnId="t1")
    await client.until(lambda: shown(client, T2).status == "error")
    assert files(client, T2) == set()
    assert await refused(client, "subscribe", T2) == -32008
    assert await refused(client, "invokeChangesetOperation", T2, operationId="discard") == -32008
    await tell(client, "c.txt: newer", "t2")
    assert (await follow(client, T2)).status == "ready"
    assert files(client, T2) == {"c.txt"}


@contextlib.asynccontextmanager
async def served(folder: Path) -> AsyncGenerator[tuple[Client, Forked]]:
    """A client of a host that is a process of its own."""
    person = folder / "person"
    person.mkdir(exist_ok=True)
    async with running("serve", "--port", "0", home=folder / "home", HOME=str(person)) as host:
        address, token = await address_of(host, folder / "home")
        async with connecting(f"ws://{address}", "one", token=token) as client:
            await client.initialize()
            yield client, host.process


async def test_a_turn_that_the_host_is_killed_in_ends_when_it_is_back(
    repository: Path, tmp_path: Path
) -> None:
    async with served(tmp_path) as (client, process):
        await begin(client, repository, provider="demo")
        await client.dispatch(ONE, "turnStarted", turnId="t1", userMessage={"text": "work 60"})
        await client.until(lambda: client.session(ONE).active_turn)
        await follow(client, T1)
        (repository / "before.txt").write_text("x\n")
        await client.until(lambda: files(client, T1) == {"before.txt"})
        process.kill()
        await process.wait()
    async with served(tmp_path) as (client, _):
        assert (await follow(client, T1)).error is None
        await client.until(lambda: after(client, T1).startswith("serai-change:"))
        (repository / "before.txt").write_text("other\n")
        assert (await client.request("resourceRead", ROOT, uri=after(client, T1)))["data"] == "x\n"
        (repository / "afterwards.txt").write_text("x\n")
        await follow(client, SESSION)
        await client.until(lambda: files(client, SESSION) == {"before.txt", "afterwards.txt"})
        assert files(client, T1) == {"before.txt"}


async def test_a_fork_has_what_the_turns_changed_that_it_begins_with(
    house: House, client: Client, repository: Path
) -> None:
    await begin(client, repository)
    await tell(client, "a.txt: other")
    await tell(client, "b.txt: new", "t2")
    await begin(client, repository, "ahp-session:/fork", fork={"session": ONE, "turnId": "t1"})
    state = await follow(client, "ahp-changeset:/fork/turn/t1")
    assert (state.status, [file.id for file in state.files]) == ("ready", ["a.txt"])
    assert await refused(client, "subscribe", "ahp-changeset:/fork/turn/t2") == -32008
    await client.request("disposeSession", ONE)
    await client.close()
    await house.restart()
    async with connecting(house.url, "after") as again:
        await again.initialize()
        [file] = (await follow(again, "ahp-changeset:/fork/turn/t1")).files
        assert file.edit.before is not None
        content = await again.request("resourceRead", ROOT, uri=file.edit.before.content.uri)
        assert content["data"] == "one\ntwo\n"
