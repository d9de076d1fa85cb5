"""A message of AHP and one of the contract are each other's, whole."""

from __future__ import annotations

from datetime import UTC, datetime

from serai.ahp import wire
from serai.ahp.types import (
    MessageEmbeddedResourceAttachment,
    MessageResourceAttachment,
    SimpleMessageAttachment,
    UserMessage,
)
from serai.contract import (
    AgentTarget,
    DeliveryMode,
    FileAttachment,
    ImageAttachment,
    JsonAttachment,
    MessageKind,
    RelayMessage,
    SenderReference,
    TextAttachment,
)
from serai.host.session.deliveries import relay_message, user_message


def test_what_ahp_has_comes_back_as_it_was() -> None:
    raw = {
        "text": "look",
        "attachments": [
            {"type": "simple", "label": "note", "modelRepresentation": "mind this", "_meta": {"a": 1}},
            {"type": "resource", "label": "file", "uri": "file:///a.py", "sizeHint": 4},
            {"type": "hologram", "label": "unheard of"},
        ],
        "_meta": {"mood": "calm"},
        "unheard": {"of": True},
    }
    said = wire.convert(raw, UserMessage)
    message = relay_message(
        "d", said, sender="me", agent="demo", session="s:/1", mode=DeliveryMode.IMMEDIATE, now=0
    )
    assert message.text == "look"
    assert wire.to_json(user_message(message)) == raw


def test_what_another_agent_attaches_becomes_what_ahp_has() -> None:
    message = RelayMessage(
        id="m",
        kind=MessageKind.DM,
        text="look",
        sender=SenderReference(id="other", name="other"),
        target=AgentTarget(agent_name="demo"),
        created_at=datetime.now(UTC),
        attachments=(
            TextAttachment(label="note", text="mind this"),
            FileAttachment(path="file:///a.py"),
            ImageAttachment(label="seen", mime_type="image/png", data="AAAA"),
            JsonAttachment(value={"a": 1}),
        ),
    )
    said = user_message(message)
    assert said.text == "look"
    assert said.attachments == [
        SimpleMessageAttachment(label="note", model_representation="mind this"),
        MessageResourceAttachment(label="file:///a.py", uri="file:///a.py"),
        MessageEmbeddedResourceAttachment(label="seen", data="AAAA", content_type="image/png"),
        SimpleMessageAttachment(label="data", model_representation='{"type": "json", "value": {"a": 1}}'),
    ]
