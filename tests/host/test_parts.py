"""The parts of a session stand on its core alone: they are made and used here without a host."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator

import pytest

from hosts import WITHIN
from serai.ahp import actions as a
from serai.ahp.types import (
    SessionActiveClient,
    SessionInputRequest,
    SessionLifecycle,
    SessionState,
    SessionStatus,
    SessionSummary,
    UserMessage,
)
from serai.host.session.client_tools import ClientTools
from serai.host.session.core import SessionCore
from serai.host.session.deliveries import Door, deliveries_channel
from serai.host.session.mailbox import Mailbox, Waiting
from serai.host.session.questions import Questions
from serai.host.settings import HostSettings
from serai.host.telemetry import SessionTelemetry
from serai.journal.journal import Journal
from serai.journal.sessions import KeptSession
from serai.redact import Redactor
from serai.store.memory import MemoryStore
from serai.telemetry.telemetry import Telemetry

SESSION = "ahp-session:/one"


@pytest.fixture
async def core() -> AsyncIterator[SessionCore]:
    summary = SessionSummary(
        resource=SESSION,
        provider="none",
        title="",
        status=int(SessionStatus.IDLE),
        created_at=0,
        modified_at=0,
    )
    kept = KeptSession.create(
        SESSION, SessionState(summary=summary, lifecycle=SessionLifecycle.READY.value, turns=[])
    )
    journal, redactor, ids = Journal(MemoryStore(), bytes), Redactor(), itertools.count()
    telemetry = Telemetry(redactor.redact, lambda: 0, lambda _channel, _payload: None)
    await journal.open()
    async with asyncio.timeout(WITHIN):
        yield SessionCore(
            journal,
            kept,
            redactor,
            SessionTelemetry(telemetry.activities, SESSION, summary),
            settings=HostSettings(),
            now=lambda: 0,
            new_id=lambda: str(next(ids)),
            changed=lambda _kept: None,
        )
    await journal.close()


async def test_a_question_is_asked_and_answered(core: SessionCore) -> None:
    questions = Questions(core)
    asking = asyncio.create_task(questions.ask(SessionInputRequest(id="q", message="Well?")))
    await asyncio.sleep(0)
    assert [request.id for request in core.live.head.input_requests or ()] == ["q"]
    questions.conclude("q", "accept")
    assert (await asking).accepted
    assert not core.live.head.input_requests


async def test_a_message_that_waits_is_written_with_its_receipt(core: SessionCore) -> None:
    mailbox = Mailbox(Door(core))
    mailbox.put(Waiting("queued", "m"), UserMessage(text="later"), "me")
    mailbox.drop(Waiting("queued", "m"), "cancelled")
    await core.journal.committed()
    rows = await core.journal.store.rows(deliveries_channel(SESSION), 0)
    kinds = [row.action.split(b'"')[3] for row in rows]
    assert kinds == [b"delivery.created", b"delivery.accepted", b"delivery.failed"]


async def test_a_client_that_leaves_is_no_longer_the_active_one(core: SessionCore) -> None:
    tools = ClientTools(core, lambda _client: False, core.act)
    active = SessionActiveClient(client_id="gone", tools=[])
    core.act(a.SessionActiveClientChangedAction(active_client=active))
    tools.client_left("another")
    assert core.live.head.active_client == active
    tools.client_left("gone")
    assert core.live.head.active_client is None
    tools.close()
