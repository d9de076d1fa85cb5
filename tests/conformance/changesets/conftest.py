"""A house with an agent that writes files, and what a client sees of the changes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from conformance.client import Client, Refused
from conformance.conftest import ONE, new_session, over, say
from hosts import KEY, House, housing
from serai.ahp.types import ChangesetState, ChangesetSummary
from serai.harness.callback import CallbackHarness
from serai.host.changes import folder_watch
from serai.host.turn import Turn
from serai.store.sqlite.store import SqliteStore

UNCOMMITTED = "ahp-changeset:/one/uncommitted"
SESSION = "ahp-changeset:/one/session"
T1 = "ahp-changeset:/one/turn/t1"
T2 = "ahp-changeset:/one/turn/t2"


class Scribe:
    """An agent that does as it is told on each line: `name: content`, `name` to delete it, or `git …`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def answer(self, turn: Turn) -> None:
        for line in turn.message.text.splitlines():
            if line.startswith("git "):
                git(self.folder, *line.split()[1:])
                continue
            name, _, content = line.partition(": ")
            if content:
                (self.folder / name).write_text(content + "\n")
            elif name:
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


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked often whether a folder is still the same one."""
    monkeypatch.setattr(folder_watch, "_AGAIN", 0.05)


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


def after(client: Client, uri: str) -> str:
    [file] = shown(client, uri).files
    return file.edit.after.content.uri if file.edit.after else ""


def at(file: Path, **fields: Any) -> dict[str, Any]:
    return {"kind": "resource", "resource": file.as_uri(), **fields}
