"""Changesets over the port."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from cli.programs import running
from conformance.client import Client, Refused, connecting
from conformance.conftest import ONE, Connect, new_session, over, say
from hosts import KEY, WITHIN, House, housing
from requirements import proves
from serai.ahp.types import ROOT, ChangesetState, ChangesetSummary
from serai.harness.callback import CallbackHarness
from serai.host.changes.changesets import changes_folder
from serai.host.turn import Turn
from serai.store.sqlite import SqliteStore

UNCOMMITTED = "ahp-changeset:/one/uncommitted"
SESSION = "ahp-changeset:/one/session"
T1 = "ahp-changeset:/one/turn/t1"
T2 = "ahp-changeset:/one/turn/t2"


class Scribe:
    """An agent that does as it is told: `name: content` on each line, or `name` to delete it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def answer(self, turn: Turn) -> None:
        for line in turn.message.text.splitlines():
            name, _, content = line.partition(": ")
            async with turn.editing(name):
                if content:
                    (self.folder / name).write_text(content + "\n")
                else:
                    (self.folder / name).unlink()
        await turn.say("done")


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    def make_store() -> SqliteStore:
        return SqliteStore(tmp_path / "history.db", KEY)

    scribe = CallbackHarness("scribe", Scribe(tmp_path / "work").answer)
    async with housing(
        make_store,
        [scribe],
        home=tmp_path / "home",
        user_home=tmp_path / "person",
    ) as house:
        yield house


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder without git."""
    return make_folder(tmp_path / "work")


@pytest.fixture
def repository(folder: Path) -> Path:
    """The same as a repository, with everything committed."""
    return make_repository(folder)


def make_folder(folder: Path) -> Path:
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\n")
    return folder


def make_repository(folder: Path) -> Path:
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def git(folder: Path, *arguments: str) -> str:
    person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", *person, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True
    ).stdout.decode()


async def begin(client: Client, folder: Path, uri: str = ONE, **params: Any) -> str:
    """A session in a folder whose catalogue is there."""
    params = {"provider": "scribe", "workingDirectory": folder.as_uri(), **params}
    await new_session(client, uri, **params)
    await client.until(lambda: client.session(uri).summary.changesets)
    return uri


async def tell(client: Client, text: str, turn: str = "t1") -> None:
    """Have the agent write something, and wait for the end of the turn."""
    await say(client, ONE, text, turn)
    ended = await over(client, ONE, turn)
    assert ended.state == "complete", ended


def listed(client: Client, uri: str = SESSION, session: str = ONE) -> ChangesetSummary:
    return next(one for one in client.session(session).summary.changesets or () if one.uri_template == uri)


def counts(client: Client, uri: str = SESSION) -> tuple[Any, Any, Any]:
    one = listed(client, uri)
    return one.files, one.additions, one.deletions


def shown(client: Client, uri: str) -> ChangesetState:
    state = client.state.confirmed(uri)
    assert isinstance(state, ChangesetState)
    return state


def files(client: Client, uri: str) -> set[str]:
    return {file.id for file in shown(client, uri).files}


async def follow(client: Client, uri: str) -> ChangesetState:
    """Follow a changeset, and wait until it is known what is in it."""
    await client.subscribe(uri)
    await client.until(lambda: shown(client, uri).status != "computing")
    return shown(client, uri)


async def refused(client: Client, method: str, uri: str, **params: Any) -> int:
    with pytest.raises(Refused) as caught:
        await client.request(method, uri, **params)
    return caught.value.code


# -- the catalogue -----------------------------------------------------------------------------------------


async def test_a_session_in_a_repository_lists_its_changesets(client: Client, repository: Path) -> None:
    (repository / "a.txt").write_text("one\n2\n3\n")
    await begin(client, repository)
    assert [one.uri_template for one in client.session(ONE).summary.changesets or ()] == [
        UNCOMMITTED,
        SESSION,
        "ahp-changeset:/one/turn/{turnId}",
    ]
    await client.until(lambda: counts(client, UNCOMMITTED) == (1, 2, 1))
    assert counts(client) == (0, 0, 0)
    await client.note("root/sessionSummaryChanged", session=ONE)


async def test_counts_follow_the_files_while_the_session_is_followed(
    client: Client, repository: Path
) -> None:
    await begin(client, repository)
    (repository / "new.txt").write_text("1\n2\n")
    await client.until(lambda: counts(client) == (1, 2, 0))
    git(repository, "add", "new.txt")
    git(repository, "commit", "-q", "-m", "second")
    await client.until(lambda: counts(client, UNCOMMITTED) == (0, 0, 0))
    assert counts(client) == (1, 2, 0)
    git(repository, "reset", "-q", "--soft", "HEAD^")
    await client.until(lambda: counts(client, UNCOMMITTED) == (1, 2, 0))


@proves("ahp:SessionSummary/changesets-name-their-uri")
async def test_all_that_is_listed_can_be_followed(client: Client, repository: Path) -> None:
    await begin(client, repository)
    await tell(client, "a.txt: other")
    templates = [one.uri_template for one in client.session(ONE).summary.changesets or ()]
    assert len(templates) == 3
    for template in templates:
        uri = template.replace("{turnId}", "t1")
        assert "{" not in uri
        assert (await follow(client, uri)).status == "ready"
        assert files(client, uri) == {"a.txt"}


def catalogue(action: dict[str, Any]) -> dict[str, int | None]:
    """What an action lists: how many files each has, by the last part of its URI."""
    return {one["uriTemplate"].rpartition("/")[2]: one.get("files") for one in action["changesets"]}


@proves("ahp:session/changesetsChanged/sent-on-every-change", "ahp:session/changesetsChanged/same-stream")
async def test_what_comes_goes_or_is_counted_anew_is_told_to_those_who_follow_the_session(
    house: House, client: Client, connect: Connect, folder: Path
) -> None:
    def told(who: Client) -> list[dict[str, int | None]]:
        return [catalogue(action) for action in who.heard("changesetsChanged", ONE)]

    await begin(client, folder)
    await client.until(lambda: told(client)[-1] == {"session": 0, "{turnId}": None})
    make_repository(folder)
    await tell(client, "b.txt: new")
    with_git: dict[str, int | None] = {"uncommitted": 1, "session": 1, "{turnId}": None}
    await client.until(lambda: told(client)[-1] == with_git)
    (folder / "a.txt").write_text("other\n")
    await client.until(lambda: told(client)[-1] == {**with_git, "uncommitted": 2, "session": 2})
    assert len({str(one) for one in told(client)}) == len(told(client)), "nothing is told that is not new"
    await client.close()
    await house.close()
    shutil.rmtree(folder / ".git")
    await house.open()
    again = await connect("again", ONE)
    await again.until(lambda: told(again))
    assert list(told(again)[0]) == ["session", "{turnId}"]


async def test_counts_are_right_after_a_turn_that_nobody_followed(
    house: House, client: Client, repository: Path
) -> None:
    await begin(client, repository)
    await client.notify("unsubscribe", channel=ONE)
    await client.ping()
    await client.dispatch(ONE, "turnStarted", turnId="t1", userMessage={"text": "b.txt: hello"})

    def counted() -> Any:
        [summary] = house.host.sessions.summaries()
        return [one.files for one in summary.changesets or ()]

    async with asyncio.timeout(WITHIN):
        while counted() != [1, 1, None]:
            await client.ping()
    assert len(house.host.watches) == 0


async def test_without_a_folder_a_session_has_no_changesets(client: Client, tmp_path: Path) -> None:
    await new_session(client)
    await say(client, ONE, "hello")
    await new_session(client, "ahp-session:/gone", workingDirectory=(tmp_path / "gone").as_uri())
    await client.dispatch("ahp-session:/gone", "turnStarted", turnId="t1", userMessage={"text": "hello"})
    await over(client, "ahp-session:/gone")
    assert client.session(ONE).summary.changesets is None
    assert client.session("ahp-session:/gone").summary.changesets is None
    assert await refused(client, "subscribe", SESSION) == -32008
    assert await refused(client, "subscribe", "ahp-changeset:/gone/session") == -32008


async def test_a_folder_that_goes_away_is_told_of_and_stops_no_turn(client: Client, repository: Path) -> None:
    await begin(client, repository)
    await follow(client, UNCOMMITTED)
    shutil.rmtree(repository)
    await client.until(lambda: shown(client, UNCOMMITTED).status == "error")
    await client.dispatch(ONE, "turnStarted", turnId="t1", userMessage={"text": ""})
    assert (await over(client, ONE)).state == "complete"
    assert "the folder is gone" in str(listed(client).description)
    make_folder(repository)
    make_repository(repository)
    await client.dispatch(ONE, "turnStarted", turnId="t2", userMessage={"text": ""})
    await client.until(lambda: shown(client, UNCOMMITTED).status == "ready")


# -- following ---------------------------------------------------------------------------------------------


async def test_a_changeset_is_computed_and_then_follows_the_files(client: Client, repository: Path) -> None:
    await begin(client, repository)
    (repository / "a.txt").write_text("one\ntwo\nthree\n")
    snapshot = await client.subscribe(SESSION)
    assert snapshot["state"]["status"] == "computing"
    await client.until(lambda: files(client, SESSION) == {"a.txt"})
    await client.until(lambda: shown(client, SESSION).status == "ready")
    [file] = shown(client, SESSION).files
    assert file.edit.before is not None
    assert file.edit.before.content.uri.startswith("serai-change:/one/")
    assert file.edit.after is not None
    assert file.edit.after.content.uri == (repository / "a.txt").as_uri()
    assert [one.id for one in shown(client, SESSION).operations or ()] == ["stage", "discard", "open"]
    (repository / "b.txt").write_text("new\n")
    await client.until(lambda: files(client, SESSION) == {"a.txt", "b.txt"})
    (repository / "b.txt").unlink()
    git(repository, "checkout", "-q", "a.txt")
    await client.until(lambda: files(client, SESSION) == set())
    assert shown(client, SESSION).status == "ready"


async def test_a_changeset_that_nobody_follows_is_let_go(
    house: House, client: Client, repository: Path
) -> None:
    await begin(client, repository)
    await follow(client, SESSION)
    assert len(house.host.watches) > 0
    for channel in (SESSION, ONE):
        await client.notify("unsubscribe", channel=channel)
    await client.ping()
    assert house.host.channels.get(SESSION) is None
    async with asyncio.timeout(WITHIN):
        while len(house.host.watches):
            await client.ping()


async def test_following_only_a_changeset_is_enough_to_hear_of_changes(
    client: Client, connect: Connect, repository: Path
) -> None:
    await begin(client, repository)
    other = await connect("other")
    await follow(other, UNCOMMITTED)
    await client.close()
    (repository / "b.txt").write_text("new\n")
    await other.until(lambda: files(other, UNCOMMITTED) == {"b.txt"})


async def test_who_comes_back_knows_what_is_there_now(house: House, client: Client, repository: Path) -> None:
    await begin(client, repository)
    (repository / "b.txt").write_text("new\n")
    await follow(client, SESSION)
    await client.until(lambda: files(client, SESSION) == {"b.txt"})
    await client.close()
    (repository / "b.txt").rename(repository / "c.txt")
    async with connecting(house.url, client.state) as again:
        await again.reconnect()
        await again.until(lambda: files(again, SESSION) == {"c.txt"})


@pytest.mark.parametrize(
    "uri",
    [
        "ahp-changeset:/nowhere/session",
        "ahp-changeset:/one/turn/never",
        "ahp-changeset:/one/turn/{turnId}",
        "ahp-changeset:/one",
        "ahp-changeset:/one/else",
    ],
)
async def test_what_is_not_there_cannot_be_followed(client: Client, repository: Path, uri: str) -> None:
    await begin(client, repository)
    assert await refused(client, "subscribe", uri) == -32008
    assert await refused(client, "invokeChangesetOperation", uri, operationId="discard") == -32008


# -- turns -------------------------------------------------------------------------------------------------


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


def after(client: Client, uri: str) -> str:
    [file] = shown(client, uri).files
    return file.edit.after.content.uri if file.edit.after else ""


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


async def test_turns_that_are_taken_back_are_forgotten(client: Client, repository: Path) -> None:
    await begin(client, repository)
    await tell(client, "a.txt: other")
    await tell(client, "b.txt: new", "t2")
    await client.dispatch(ONE, "truncated", turnId="t1")
    await client.hear("truncated")
    assert await refused(client, "subscribe", T2) == -32008
    assert (await follow(client, T1)).status == "ready"
    assert files(client, T1) == {"a.txt"}


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
async def served(folder: Path) -> AsyncGenerator[tuple[Client, asyncio.subprocess.Process]]:
    """A client of a host that is a process of its own."""
    person = folder / "person"
    person.mkdir(exist_ok=True)
    async with running("serve", "--port", "0", home=folder / "home", HOME=str(person)) as host:
        address, token = (await host.says(r"address  http://(\S+?)/\?tkn=(\S+)")).groups()
        async with connecting(f"ws://{address}", "one", token=token) as client:
            await client.initialize()
            yield client, host.process


async def test_a_turn_that_the_host_is_killed_in_has_what_was_seen_of_it_and_says_so(
    repository: Path, tmp_path: Path
) -> None:
    async with served(tmp_path) as (client, process):
        await begin(client, repository, provider="demo")
        await client.dispatch(ONE, "turnStarted", turnId="t1", userMessage={"text": "work 60"})
        await client.until(lambda: client.session(ONE).active_turn)
        await follow(client, T1)
        (repository / "seen.txt").write_text("x\n")
        await client.until(lambda: files(client, T1) == {"seen.txt"})
        process.kill()
        await process.wait()
    (repository / "while it was down.txt").write_text("x\n")
    async with served(tmp_path) as (client, _):
        (repository / "afterwards.txt").write_text("x\n")
        state = await follow(client, T1)
        assert [file.id for file in state.files] == ["seen.txt"]
        assert state.error is not None
        assert "the end of this turn was not seen" in state.error.message
        (repository / "seen.txt").write_text("other\n")
        content = await client.request("resourceRead", ROOT, uri=after(client, T1))
        assert content["data"] == "x\n"
        assert len((await follow(client, SESSION)).files) == 3


async def test_a_forked_session_begins_anew(client: Client, repository: Path) -> None:
    await begin(client, repository)
    await tell(client, "a.txt: other")
    fork = "ahp-session:/fork"
    await begin(client, repository, fork, fork={"session": ONE, "turnId": "t1"})
    state = await follow(client, "ahp-changeset:/fork/session")
    assert (state.status, state.files) == ("ready", [])


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


async def test_a_fork_in_another_folder_says_that_its_first_turns_are_not_recorded(
    client: Client, repository: Path, tmp_path: Path
) -> None:
    await begin(client, repository)
    await tell(client, "a.txt: other")
    other = make_repository(make_folder(tmp_path / "other"))
    await begin(client, other, "ahp-session:/fork", fork={"session": ONE, "turnId": "t1"})
    state = await follow(client, "ahp-changeset:/fork/turn/t1")
    assert state.error is not None
    assert state.error.error_type == "not_recorded"
    assert "forked from" in state.error.message


async def test_a_git_that_fails_stops_no_turn_and_is_told_of(client: Client, repository: Path) -> None:
    await begin(client, repository)
    await client.until(lambda: counts(client) == (0, 0, 0))
    index = (repository / ".git/index").read_bytes()
    (repository / ".git/index").write_bytes(b"not an index at all, by no means")
    await tell(client, "b.txt: new")
    state = await follow(client, T1)
    assert state.error is not None
    assert state.error.error_type == "git_failed"
    assert "index" in state.error.message
    (repository / ".git/index").write_bytes(index)
    await client.until(lambda: counts(client) == (1, 1, 0))


async def test_a_repository_that_is_taken_away_is_done_without(
    house: House, client: Client, repository: Path
) -> None:
    await begin(client, repository)
    await follow(client, UNCOMMITTED)
    await tell(client, "b.txt: new")
    await client.until(lambda: counts(client) == (1, 1, 0))
    shutil.rmtree(repository / ".git")
    await client.until(lambda: len(client.session(ONE).summary.changesets or ()) == 2)
    await client.until(lambda: shown(client, UNCOMMITTED).status == "error")
    await tell(client, "a.txt: other", "t2")
    assert (await follow(client, T2)).status == "ready"
    assert files(client, T2) == {"a.txt"}
    lost = await follow(client, T1)
    assert lost.error is not None
    assert "the repository in which this was recorded is gone" in lost.error.message
    await client.until(lambda: counts(client) == (1, 1, 2))
    await client.close()
    make_repository(repository)
    await house.restart()
    async with connecting(house.url, "after") as again:
        await again.initialize()
        assert (await follow(again, T2)).status == "ready"
        assert files(again, T2) == {"a.txt"}
        assert (await follow(again, UNCOMMITTED)).status == "ready"


# -- without git -------------------------------------------------------------------------------------------


async def test_without_git_there_is_what_tools_edited(house: House, client: Client, folder: Path) -> None:
    await begin(client, folder)
    assert [one.uri_template for one in client.session(ONE).summary.changesets or ()] == [
        SESSION,
        "ahp-changeset:/one/turn/{turnId}",
    ]
    (folder / "mine.txt").write_text("nobody's business\n")
    await tell(client, "a.txt: other\nb.txt: new")
    await client.until(lambda: counts(client) == (2, 2, 2))
    assert (await follow(client, T1)).status == "ready"
    assert files(client, T1) == {"a.txt", "b.txt"}
    assert [one.id for one in shown(client, T1).operations or ()] == ["discard", "open"]
    assert await refused(client, "subscribe", UNCOMMITTED) == -32008
    await follow(client, SESSION)
    (folder / "b.txt").write_text("new\nand newer\n")
    await client.until(lambda: counts(client) == (2, 3, 2))
    await client.close()
    await house.restart()
    async with connecting(house.url, "after") as again:
        await again.initialize()
        assert (await follow(again, T1)).status == "ready"
        assert files(again, T1) == {"a.txt", "b.txt"}
        await again.request(
            "invokeChangesetOperation", T1, operationId="discard", target=at(folder / "a.txt")
        )
    assert (folder / "a.txt").read_text() == "one\ntwo\n"
    assert (folder / "b.txt").exists()


async def test_a_turn_without_git_that_edited_nothing_is_empty(
    house: House, client: Client, folder: Path
) -> None:
    await begin(client, folder)
    await tell(client, "")
    await client.close()
    await house.restart()
    async with connecting(house.url, "after") as again:
        await again.initialize()
        state = await follow(again, T1)
        assert (state.status, state.files) == ("ready", [])


# -- operations --------------------------------------------------------------------------------------------


def at(file: Path, **fields: Any) -> dict[str, Any]:
    return {"kind": "resource", "resource": file.as_uri(), **fields}


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
    assert "lost" in str(discard.confirmation)
    result = await client.request("invokeChangesetOperation", SESSION, operationId="discard")
    assert result["message"] == "Discarded the changes to 2 files"
    await client.until(lambda: files(client, SESSION) == set())
    assert (repository / "a.txt").read_text() == "one\ntwo\n"
    assert not (repository / "b.txt").exists()


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


async def test_nobody_but_the_host_writes_a_changeset(client: Client, repository: Path) -> None:
    await begin(client, repository)
    await follow(client, SESSION)
    seq = await client.dispatch(SESSION, "changeset/cleared")
    await client.until(lambda: [e for e in client.envelopes if e.get("origin", {}).get("clientSeq") == seq])
    [sent_back] = [e for e in client.envelopes if e.get("origin", {}).get("clientSeq") == seq]
    assert sent_back["rejectionReason"].startswith("server_only")


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


# -- the end -----------------------------------------------------------------------------------------------


async def test_nothing_is_left_of_a_session_that_is_disposed_of(
    house: House, client: Client, repository: Path
) -> None:
    await begin(client, repository)
    await follow(client, SESSION)
    kept = changes_folder(house.host.home, ONE)
    assert kept.is_dir()
    await client.request("disposeSession", ONE)
    assert not kept.exists()
    assert house.host.channels.get(SESSION) is None
    assert await refused(client, "subscribe", SESSION) == -32008
    assert ROOT in client.state.subscriptions
