"""Agents that have other agents do something."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from serai.ahp import actions as a
from serai.ahp.commands import CreateSessionParams
from serai.ahp.types import TurnState, UserMessage
from serai.errors import CapabilityUnsupported, ProtocolError, SeraiError, SessionGone
from serai.harness.callback import Answer, CallbackHarness
from serai.host.host import Host
from serai.host.session.session import Session
from serai.host.turn import Turn
from serai.journal.subscriptions import Subscriber
from serai.store.memory import MemoryStore

WITHIN = 30.0
ORIGIN = a.ActionOrigin(client_id="c", client_seq=0)


class Nobody(Subscriber):
    def publish(self, frames: bytes) -> None:
        del frames


class Inn:
    """A host whose parent agent is given by each test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.as_uri()
        self.parent: Answer = self._nothing
        self.child: Answer = self._nothing
        self.outcome: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        agents = [
            CallbackHarness("parent", self._answer_parent),
            CallbackHarness("child", self._answer_child),
            Broken("broken", self._nothing),
        ]
        self.host = Host(MemoryStore(), agents, lambda message: message)

    async def _nothing(self, turn: Turn) -> None:
        del turn

    async def _answer_parent(self, turn: Turn) -> None:
        await self.parent(turn)

    async def _answer_child(self, turn: Turn) -> None:
        await self.child(turn)

    async def begin(self) -> Session:
        params = CreateSessionParams(
            channel="ahp-session:/p", provider="parent", working_directory=self.folder
        )
        session = await self.host.create(params, "c")
        await session.ready()
        start = a.SessionTurnStartedAction(turn_id="t", user_message=UserMessage(text="go"))
        session.dispatch(start, ORIGIN, Nobody())
        return session


class Broken(CallbackHarness):
    async def create(self, settings: object, context: object) -> object:  # pyright: ignore[reportIncompatibleMethodOverride] - it never returns
        del settings, context
        raise RuntimeError("no such program")


@pytest.fixture
async def inn(tmp_path: Path) -> AsyncGenerator[Inn]:
    inn = Inn(tmp_path)
    await inn.host.open()
    async with asyncio.timeout(WITHIN):
        yield inn
    await inn.host.close()


async def test_cancelling_the_turn_cancels_what_it_delegated(inn: Inn) -> None:
    working = asyncio.Event()

    async def parent(turn: Turn) -> None:
        child = await turn.delegate("child", UserMessage(text="work"), title="Work")
        inn.outcome.set_result(child.uri)
        await child.answer()

    async def child(turn: Turn) -> None:
        del turn
        working.set()
        await asyncio.Event().wait()

    inn.parent, inn.child = parent, child
    session = await inn.begin()
    other = inn.host.sessions.get(str(await inn.outcome))
    assert other is not None
    await working.wait()
    session.dispatch(a.SessionTurnCancelledAction(turn_id="t"), ORIGIN, Nobody())
    while other.live.turn is not None:
        await inn.host.journal.committed()
    assert other.live.head.turns[-1].state == TurnState.CANCELLED


async def failing(inn: Inn, provider: str) -> SeraiError:
    async def parent(turn: Turn) -> None:
        try:
            child = await turn.delegate(provider, UserMessage(text="again"), title="Again")
            await child.answer()
        except SeraiError as error:
            inn.outcome.set_result(error)

    inn.parent = parent
    await inn.begin()
    outcome = await inn.outcome
    assert isinstance(outcome, SeraiError)
    return outcome


async def test_an_agent_that_is_not_there_is_refused(inn: Inn) -> None:
    assert isinstance(await failing(inn, "nobody"), ProtocolError)


async def test_an_agent_that_begins_itself_for_ever_is_stopped(inn: Inn) -> None:
    error = await failing(inn, "parent")
    assert isinstance(error, CapabilityUnsupported)
    assert inn.host.sessions.count() == 4


async def test_who_waits_for_a_turn_that_is_taken_back_is_told(inn: Inn) -> None:
    async def forever(turn: Turn) -> None:
        del turn
        await asyncio.Event().wait()

    inn.child = forever
    session = await inn.host.create(CreateSessionParams(channel="ahp-session:/c", provider="child"), "c")
    await session.ready()
    talk = asyncio.create_task(session.turns.converse(UserMessage(text="hello"), "someone"))
    while session.live.turn is None:
        await inn.host.journal.committed()
    session.dispatch(a.SessionTruncatedAction(), ORIGIN, Nobody())
    with pytest.raises(SessionGone):
        await talk
