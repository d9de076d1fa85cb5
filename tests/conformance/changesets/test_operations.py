"""Over the port: staging, discarding and opening."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conformance.changesets.conftest import (
    SESSION,
    T1,
    UNCOMMITTED,
    at,
    begin,
    files,
    follow,
    git,
    refused,
    shown,
    tell,
)
from conformance.client import Client, connecting
from conformance.conftest import ONE, say
from hosts import KEY, housing
from serai.store.sqlite.store import SqliteStore


async def test_staging_puts_files_into_the_index(client: Client, repository: Path) -> None:
    await begin(client, repository)
    await tell(client, "a.txt: other\nb.txt: new")
    result = await client.request(
        "invokeChangesetOperation", UNCOMMITTED, operationId="stage", target=at(repository / "b.txt")
    )
    assert result["message"] == "Staged b.txt"
    assert git(repository, "diff", "--cached", "--name-only").split() == ["b.txt"]
    await client.request("invokeChangesetOperation", UNCOMMITTED, operationId="stage")
    assert git(repository, "diff", "--cached", "--name-only").split() == ["a.txt", "b.txt"]


async def test_what_is_ignored_from_now_on_is_no_longer_shown_and_not_discarded(
    client: Client, repository: Path
) -> None:
    (repository / "sub/cache").mkdir(parents=True)
    await begin(client, repository / "sub")
    await follow(client, UNCOMMITTED)
    for path in (".env", "cache/x", "new"):
        (repository / "sub" / path).write_text("x\n")
    await client.until(lambda: files(client, UNCOMMITTED) == {".env", "cache/x", "new"})
    (repository / "sub/cache/.gitignore").write_text("*\n")
    await client.until(lambda: files(client, UNCOMMITTED) == {".env", "new"})
    (repository / ".gitignore").write_text(".env\n")
    await client.until(lambda: files(client, UNCOMMITTED) == {"new"})
    await client.request("invokeChangesetOperation", UNCOMMITTED, operationId="discard")
    left = {file.name for file in (repository / "sub").rglob("*") if file.is_file()}
    assert left == {".env", "x", ".gitignore"}


async def test_discarding_brings_files_back_and_says_so_to_those_who_follow(
    client: Client, repository: Path
) -> None:
    await begin(client, repository)
    await tell(client, "a.txt: other\nb.txt: new")
    state = await follow(client, SESSION)
    [discard] = [one for one in state.operations or () if one.id == "discard"]
    assert "undone for a week" in str(discard.confirmation)
    result = await client.request("invokeChangesetOperation", SESSION, operationId="discard")
    assert result["message"] == "Discarded the changes to 2 files"
    await client.until(lambda: files(client, SESSION) == set())
    assert (repository / "a.txt").read_text() == "one\ntwo\n"
    assert not (repository / "b.txt").exists()


async def test_a_discard_can_be_undone(client: Client, repository: Path) -> None:
    await begin(client, repository)
    await tell(client, "a.txt: other\nb.txt: new")
    await follow(client, T1)
    assert "undo" not in {one.id for one in shown(client, T1).operations or ()}
    await client.request("invokeChangesetOperation", T1, operationId="discard")
    await client.until(lambda: "undo" in {one.id for one in shown(client, T1).operations or ()})
    assert not (repository / "b.txt").exists()
    result = await client.request("invokeChangesetOperation", T1, operationId="undo")
    assert result["message"] == "Gave back 2 files"
    assert [(repository / name).read_text() for name in ("a.txt", "b.txt")] == ["other\n", "new\n"]
    assert await refused(client, "invokeChangesetOperation", T1, operationId="undo") == -32008


async def test_a_stage_that_fails_has_done_nothing_and_says_why(client: Client, repository: Path) -> None:
    await begin(client, repository)
    await tell(client, "a.txt: other")
    lock = repository / ".git/index.lock"
    lock.touch()
    assert await refused(client, "invokeChangesetOperation", UNCOMMITTED, operationId="stage") == -32011
    lock.unlink()
    assert git(repository, "status", "--short") == " M a.txt\n"


async def test_what_is_staged_stays_staged_when_it_is_discarded(client: Client, repository: Path) -> None:
    await begin(client, repository)
    await tell(client, "a.txt: other\ngit add a.txt")
    await client.request("invokeChangesetOperation", UNCOMMITTED, operationId="discard")
    assert (repository / "a.txt").read_text() == "one\ntwo\n"
    assert git(repository, "status", "--short") == "MM a.txt\n"


async def test_opening_leads_to_the_content(client: Client, repository: Path) -> None:
    await begin(client, repository)
    await tell(client, "a.txt: other")
    target = at(repository / "a.txt", side="before")
    result = await client.request("invokeChangesetOperation", T1, operationId="open", target=target)
    assert result["followUp"]["content"]["uri"].startswith("serai-change:/one/")
    target = at(repository / "a.txt")
    result = await client.request("invokeChangesetOperation", SESSION, operationId="open", target=target)
    assert result["followUp"]["content"]["uri"] == (repository / "a.txt").as_uri()


async def test_what_cannot_be_done_is_refused(client: Client, repository: Path) -> None:
    await begin(client, repository)
    await tell(client, "a.txt: other")
    text_range = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}
    a_range = {**at(repository / "a.txt"), "kind": "range", "range": text_range}

    async def code(channel: str = SESSION, **params: Any) -> int:
        return await refused(client, "invokeChangesetOperation", channel, **params)

    assert await code(operationId="explode") == -32602
    assert await code(operationId="open") == -32602
    assert await code(operationId="discard", target=a_range) == -32602
    assert await code(ONE, operationId="discard") == -32602
    assert await code(operationId="discard", target=at(repository / "none.txt")) == -32008
    assert (repository / "a.txt").read_text() == "other\n"


async def test_the_hosts_own_folder_is_in_no_changeset_and_survives_every_operation(
    tmp_path: Path, repository: Path
) -> None:
    home = repository / ".serai"
    home.mkdir()
    (home / "database.key").write_text("a key\n")

    def make_store() -> SqliteStore:
        return SqliteStore(home / "history.db", KEY)

    async with housing(make_store, home=home, user_home=tmp_path / "person") as house:
        async with connecting(house.url, "one") as client:
            await client.initialize()
            await begin(client, repository, provider="demo")
            await say(client, ONE, "hello")
            await begin(client, repository, "ahp-session:/two", provider="demo")
            (repository / "new.txt").write_text("x\n")
            await follow(client, UNCOMMITTED)
            await client.until(lambda: files(client, UNCOMMITTED) == {"new.txt"})
            staged = await client.request("invokeChangesetOperation", UNCOMMITTED, operationId="stage")
            assert staged["message"] == "Staged 1 file"
            assert git(repository, "diff", "--cached", "--name-only").split() == ["new.txt"]
            target = at(home / "database.key")
            for operation in ("stage", "discard"):
                code = await refused(
                    client, "invokeChangesetOperation", UNCOMMITTED, operationId=operation, target=target
                )
                assert code == -32008
            done = await client.request("invokeChangesetOperation", UNCOMMITTED, operationId="discard")
            assert done["message"] == "Discarded the changes to 1 file"
        await house.restart()
        assert {summary.resource for summary in house.host.sessions.summaries()} == {ONE, "ahp-session:/two"}
    assert (home / "database.key").read_text() == "a key\n"
