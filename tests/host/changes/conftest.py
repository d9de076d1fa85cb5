"""A host with one session in a repository."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest

from serai.ahp import actions as a
from serai.ahp.commands import CreateSessionParams
from serai.ahp.types import ChangesetState, UserMessage
from serai.changes.view import SESSION, ChangesetKind, Which, uri_of
from serai.harness.callback import Answer, CallbackHarness
from serai.host.changes.changesets import ChangesetChannel
from serai.host.host import Host
from serai.host.session.session import Session
from serai.host.turn import Turn
from serai.journal.subscriptions import Subscriber
from serai.store.memory import MemoryStore

WITHIN = 30.0
ORIGIN = a.ActionOrigin(client_id="c", client_seq=0)
URI = "ahp-session:/s"
OF_SESSION = uri_of("s", SESSION)
OF_TURN = uri_of("s", Which(ChangesetKind.TURN, "t"))


class Someone(Subscriber):
    def __init__(self) -> None:
        self.news = asyncio.Event()

    def publish(self, frames: bytes) -> None:
        del frames
        self.news.set()


class Inn:
    """A host with one session in a repository."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.work.mkdir()
        (self.work / "a.txt").write_text("one\n")
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "first")
        self.store = MemoryStore()
        self.someone = Someone()
        self.answers: list[str] = []
        self.answer: Answer = self._nothing
        self.host = self._host()

    async def _nothing(self, turn: Turn) -> None:
        self.answers.append(turn.id)

    def git(self, *arguments: str) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", *person, *arguments], cwd=self.work, env=environment, check=True)  # noqa: S607 - the same

    def _host(self) -> Host:
        async def answer(turn: Turn) -> None:
            await self.answer(turn)

        return Host(
            self.store,
            [CallbackHarness("agent", answer)],
            lambda message: message,
            home=self.folder / "home",
            user_home=self.folder / "person",
        )

    async def restart(self) -> None:
        await self.host.close()
        self.host = self._host()
        await self.host.open()

    async def begin(self, folder: Path | None = None) -> Session:
        place = (folder or self.work).as_uri()
        params = CreateSessionParams(channel=URI, provider="agent", working_directory=place)
        session = await self.host.create(params, "c")
        self.host.journal.subscriptions.add(URI, self.someone)
        await session.ready()
        return session

    def start(self, session: Session, turn_id: str = "t") -> None:
        start = a.SessionTurnStartedAction(turn_id=turn_id, user_message=UserMessage(text="go"))
        session.dispatch(start, ORIGIN, self.someone)

    async def until(self, holds: Callable[[], Any]) -> None:
        """Wait until something holds that actions bring about."""
        async with asyncio.timeout(WITHIN):
            while not holds():
                self.someone.news.clear()
                await self.someone.news.wait()

    async def follow(self, uri: str) -> ChangesetState:
        await self.host.bring(uri)
        channel = self.host.channels.get(uri)
        assert isinstance(channel, ChangesetChannel)
        self.host.journal.subscriptions.add(uri, self.someone)
        await self.until(lambda: channel.live.head.status != "computing")
        return channel.live.head


@pytest.fixture
async def inn(tmp_path: Path) -> AsyncGenerator[Inn]:
    inn = Inn(tmp_path)
    await inn.host.open()
    yield inn
    await inn.host.close()


def counted(session: Session) -> list[Any]:
    return [one.files for one in session.live.head.summary.changesets or ()]


async def idle(inn: Inn, session: Session) -> None:
    """Wait until all is recorded and looked at; those who follow hear of it."""
    async with asyncio.timeout(WITHIN):
        while session.changes.bases.is_busy or session.changes._looking is not None:
            await inn.host.journal.committed()
