"""What is written down of a message on its way into a session."""

from __future__ import annotations

import asyncio
import base64
import os

from hosts import WITHIN
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
from serai.harness.demo import DemoHarness
from serai.host.deliveries import deliveries_channel, unsettled
from serai.host.host import Host
from serai.host.messages import user_message
from serai.host.session import Session
from serai.store.memory import MemoryStore

SESSION = "ahp-session:/one"


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
    rows = await store.rows(deliveries_channel(SESSION), 0)
    assert b"".join(row.action for row in rows).count(image.encode()) == 1
    [held] = unsettled(rows).held
    assert user_message(held.message) == message
    await host.close()
