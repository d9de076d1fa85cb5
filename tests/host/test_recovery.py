"""What a host does with what it finds after it was killed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from harness.conversation import Conversation, frame
from host.test_turns import queued, steering
from hosts import WITHIN, deliveries, outcome, statuses
from serai.ahp import actions as a
from serai.ahp.types import ModelSelection, UserMessage
from serai.harness.callback import STEERABLE, CallbackHarness
from serai.host.host import Host
from serai.host.session.turns import HELD
from serai.host.turn import Turn
from serai.store.contract import TurnRow
from serai.store.memory import MemoryStore


class Agent(CallbackHarness):
    """It works for ever on what begins with `work`, and never says whether it has what ends with `stuck`."""

    def __init__(self) -> None:
        super().__init__("agent", self._answer_turn, capabilities=STEERABLE)
        self.answered: list[str] = []
        self.turns: list[Turn] = []
        self.is_stuck = asyncio.Event()

    async def _answer_turn(self, turn: Turn) -> None:
        self.turns.append(turn)
        self.answered.append(turn.message.text)
        await turn.activity("begun")
        if turn.message.text.startswith("work"):
            await turn.say("I am at it")
            await asyncio.Event().wait()

    async def create(self, settings: Any, context: Any) -> Any:
        session = await super().create(settings, context)
        receive = session.receive_message

        async def receive_message(message: Any, context: Any) -> Any:
            receipt = None if message.text == "stuck" else await receive(message, context)
            if message.text.endswith("stuck"):
                self.is_stuck.set()
                await asyncio.Event().wait()
            return receipt

        session.receive_message = receive_message
        return session


class Inn:
    """Hosts on one store, one after the other."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.agent = Agent()
        self._hosts: list[Host] = []

    async def open(self) -> Host:
        """Start a host; the one before was killed."""
        if self._hosts:
            await self._hosts[-1].journal.committed()
            self.store.crash()
        host = Host(self.store, [self.agent], frame)
        self._hosts.append(host)
        await host.open()
        return host

    async def back(self, talk: Conversation) -> Conversation:
        host = await self.open()
        session = await host.sessions.bring(talk.session.uri)
        assert session is not None
        return Conversation(host, session)

    async def close(self) -> None:
        for host in reversed(self._hosts):
            await host.close()


@pytest.fixture
async def inn() -> AsyncIterator[Inn]:
    inn = Inn()
    async with asyncio.timeout(WITHIN):
        yield inn
        await inn.close()


@pytest.mark.parametrize(
    ("where", "text", "end"),
    [
        ("in the host", "stuck", "delivered"),
        ("in another process", "stuck", "outcome_unknown"),
        ("in another process", "work, stuck", "delivered"),
    ],
)
async def test_a_message_being_handed_over_is_settled_by_evidence(
    inn: Inn, where: str, text: str, end: str
) -> None:
    inn.agent.in_process = where == "in the host"
    talk = await Conversation.begin(await inn.open(), "agent")
    talk.start(text)
    await inn.agent.is_stuck.wait()
    if text == "work, stuck":
        await talk.heard("session/responsePart")
    [record] = await deliveries(talk.host, talk.session.uri)
    assert record.state == ("delivered" if inn.agent.in_process else "handing")
    talk = await inn.back(talk)
    [record] = await deliveries(talk.host, talk.session.uri)
    assert outcome(record) == end


async def test_a_choice_that_waited_for_the_end_of_the_turn_holds_and_waits_no_longer(inn: Inn) -> None:
    talk = await Conversation.begin(await inn.open(), "agent")
    talk.start("work")
    talk.dispatch(a.SessionModelChangedAction(model=ModelSelection(id="large")))
    assert talk.state.summary.model is None
    for chosen in ("large", "small"):
        talk = await inn.back(talk)
        assert talk.state.summary.model == ModelSelection(id=chosen)
        talk.dispatch(a.SessionModelChangedAction(model=ModelSelection(id="small")))


async def test_a_message_that_waited_keeps_its_delivery_over_a_restart(inn: Inn) -> None:
    talk = await Conversation.begin(await inn.open(), "agent")
    talk.dispatch(queued("work"))
    talk.dispatch(queued("later"))
    await talk.until(lambda: inn.agent.answered)
    talk = await inn.back(talk)
    talk.dispatch(queued("last"))
    await talk.until(lambda: inn.agent.answered == ["work", "later", "last"])
    records = await deliveries(talk.host, talk.session.uri)
    assert [record.metadata["pendingMessage"]["id"] for record in records] == ["work", "later", "last"]
    assert [statuses(record) for record in records] == [["accepted", "delivered"]] * 3


@pytest.mark.parametrize("first", ["work", "hello"])
async def test_a_message_that_steered_and_was_not_taken_is_the_next_one_once_someone_goes_on(
    inn: Inn, first: str
) -> None:
    talk = await Conversation.begin(await inn.open(), "agent")
    talk.dispatch(queued(first))
    await talk.until(lambda: inn.agent.answered)
    later = ["later"] if first == "work" else []
    for name in later:
        talk.dispatch(queued(name))
    talk.dispatch(steering("steer", "steer"))
    talk = await inn.back(talk)
    assert talk.state.steering_message is None
    waiting = [waits.user_message.text for waits in talk.state.queued_messages or ()]
    assert waiting == ["steer", *later]
    assert (talk.state.meta or {})[HELD] == "restart"
    talk.dispatch(queued("last"))
    await talk.until(lambda: inn.agent.answered == [first, "steer", *later, "last"])
    await talk.end()
    assert not talk.session.mailbox
    records = await deliveries(talk.host, talk.session.uri)
    assert [record.id for record in records if record.is_open] == []
    assert [record.error for record in records if record.state == "failed"] == ["requeued"]
    [steered] = [turn.id for turn in talk.state.turns if turn.user_message.text == "steer"]
    [requeued] = [record for record in records if record.evidence.get("turnId") == steered]
    assert outcome(requeued) == "delivered"


async def test_an_agent_whose_turn_was_taken_away_cannot_speak_in_one_of_the_same_name(inn: Inn) -> None:
    talk = await Conversation.begin(await inn.open(), "agent")
    start = a.SessionTurnStartedAction(turn_id="t", user_message=UserMessage(text="work"))
    talk.dispatch(start)
    await talk.until(lambda: inn.agent.turns)
    talk.dispatch(a.SessionTruncatedAction())
    talk.dispatch(start)
    await inn.agent.turns[0].say("from before")
    assert talk.state.active_turn is not None
    assert talk.state.active_turn.response_parts == []


async def test_a_session_whose_folder_is_gone_still_opens_and_answers(inn: Inn, tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    talk = await Conversation.begin(await inn.open(), "agent", working_directory=folder.as_uri())
    folder.rmdir()
    again = await inn.back(talk)
    again.start("work")
    await again.heard("session/activityChanged")


async def test_a_session_that_cannot_be_brought_back_stops_no_start_and_comes_back_later(
    inn: Inn, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = await inn.open()
    uris: list[str] = []
    for number in range(3):
        talk = await Conversation.begin(host, "agent")
        talk.start(f"work {number}")
        await talk.heard("session/activityChanged")
        uris.append(talk.session.uri)
    read = inn.store.turns

    async def turns(uri: str, **which: int | None) -> list[TurnRow]:
        if uri == uris[1]:
            raise RuntimeError("nobody has thought of this")
        return await read(uri, **which)

    monkeypatch.setattr(inn.store, "turns", turns)
    again = await inn.open()
    assert {session.uri for session in again.sessions.in_memory()} == {uris[0], uris[2]}
    assert {summary.resource for summary in again.sessions.summaries()} == set(uris)
    assert f"{uris[1]} could not be brought back" in caplog.text
    monkeypatch.undo()
    recovered = await again.sessions.bring(uris[1])
    assert recovered is not None
    assert recovered.live.turn is None
    assert recovered.live.head.turns[-1].state == "error"
