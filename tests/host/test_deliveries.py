"""What is written down of a message on its way into a session."""

from __future__ import annotations

import asyncio
import base64
import os
from typing import TypeVar

from hosts import WITHIN, deliveries
from serai.ahp import actions as a
from serai.ahp.commands import CreateSessionParams
from serai.ahp.types import (
    MessageEmbeddedResourceAttachment,
    MessageResourceAttachment,
    PendingMessageKind,
    SessionLifecycle,
    SimpleMessageAttachment,
    UserMessage,
)
from serai.harness.callback import CallbackHarness
from serai.harness.demo import DemoHarness
from serai.host.host import Host
from serai.host.session.deliveries import user_message
from serai.host.session.mailbox import Waiting
from serai.host.session.session import Session
from serai.host.turn import Turn
from serai.redact import Redactor
from serai.store.memory import MemoryStore
from store.kinds import contents

SESSION = "ahp-session:/one"
MANAGED = "correct-horse-battery-staple-9000"
SHAPE = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5"
T = TypeVar("T")


class Nobody:
    """A subscriber that is told nothing of interest."""

    def publish(self, frames: bytes) -> None:
        del frames


async def ready_session(host: Host) -> Session:
    session = await host.create(CreateSessionParams(channel=SESSION), "client")
    async with asyncio.timeout(WITHIN):
        while session.live.head.lifecycle != SessionLifecycle.READY:
            await host.journal.committed()
            await asyncio.sleep(0)
    return session


async def test_an_attached_image_is_kept_once_and_comes_back_whole() -> None:
    store = MemoryStore()
    host = Host(store, [DemoHarness(pace="instant")], bytes)
    await host.open()
    session = await ready_session(host)
    image = base64.b64encode(os.urandom(100_000)).decode()
    message = UserMessage(
        text="look",
        attachments=[
            MessageEmbeddedResourceAttachment(label="seen", data=image, content_type="image/png"),
            MessageResourceAttachment(label="file", uri="file:///a.py"),
            SimpleMessageAttachment(label="note", model_representation="mind this"),
        ],
    )
    for number, action in enumerate(
        [
            a.SessionTurnStartedAction(turn_id="t", user_message=UserMessage(text="ask text")),
            a.SessionPendingMessageSetAction(kind=PendingMessageKind.QUEUED, id="q", user_message=message),
        ],
        1,
    ):
        session.dispatch(action, a.ActionOrigin(client_id="client", client_seq=number), Nobody())
    await host.journal.committed()
    rows = [action for (action,) in store._db.execute("SELECT action FROM journal")]
    assert b"".join(rows).count(image.encode()) == 1
    assert [image in repr(record) for record in await deliveries(host, SESSION)] == [False, False]
    await host.close()
    host = Host(store, [DemoHarness(pace="instant")], bytes)
    await host.open()
    again = await host.sessions.bring(SESSION)
    assert again is not None
    held = again.mailbox.take(Waiting("queued", "q"))
    assert held is not None
    assert user_message(held.message) == message
    await host.close()


async def test_what_an_agent_sends_is_masked_before_it_is_written_anywhere() -> None:
    store = MemoryStore()
    host = Host(store, [DemoHarness(pace="instant")], bytes, redactor=Redactor({"HORSE": MANAGED}))
    await host.open()
    session = await ready_session(host)
    async with asyncio.timeout(WITHIN):
        await session.turns.converse(UserMessage(text=f"use {MANAGED} and {SHAPE}"), "agent")
    session.turns.hold("restart")
    session.seat.queue(UserMessage(text=f"then {MANAGED} and {SHAPE}"), "agent")
    await host.journal.committed()
    written = contents(store)
    assert MANAGED.encode() not in written
    assert SHAPE.encode() not in written
    await host.close()


async def test_a_prompt_passes_the_redactor_once_and_keeps_what_is_the_persons() -> None:
    passed: list[object] = []

    class Counting(Redactor):
        def redact_value(self, value: T, *, observed: bool) -> T:  # also what `redact_value` stands on
            passed.extend([value] if "prompt" in repr(value) else [])
            return super().redact_value(value, observed=observed)

    async def answer(turn: Turn) -> None:
        await turn.say("done")

    host = Host(MemoryStore(), [CallbackHarness("demo", answer)], bytes, redactor=Counting({"H": MANAGED}))
    await host.open()
    session = await ready_session(host)
    session.act(a.SessionTitleChangedAction(title="given"))
    message = UserMessage(text=f"prompt {MANAGED} {SHAPE}")
    action = a.SessionTurnStartedAction(turn_id="t", user_message=message)
    host.dispatch(SESSION, action, a.ActionOrigin(client_id="client", client_seq=1), Nobody())
    async with asyncio.timeout(WITHIN):
        while not session.live.head.turns:
            await host.journal.committed()
    assert session.live.head.turns[0].user_message.text == f"prompt [secret:H] {SHAPE}"
    assert len(passed) == 1
    await host.close()
