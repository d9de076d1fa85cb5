"""A message in two protocols: AHP's `UserMessage` travels inside the contract's `RelayMessage`, whole.

A harness reads its input with `user_message(message)`, wherever the message comes from.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from serai import contract as c
from serai.ahp import types as t, wire

_CARRIED = "userMessage"
"""In a message's metadata: what the AHP message has beside its text."""


def relay_message(
    message_id: str,
    said: t.UserMessage,
    *,
    sender: str,
    agent: str,
    session: str,
    mode: c.DeliveryMode,
    now: int,
) -> c.RelayMessage:
    """An AHP message as the contract has it. What stands beside its text is carried along as it is."""
    metadata: dict[str, Any] = {"session": session}
    if more := {name: value for name, value in wire.to_json(said).items() if name != "text"}:
        metadata[_CARRIED] = more
    return c.RelayMessage(
        id=message_id,
        kind=c.MessageKind.DM,
        text=said.text,
        sender=c.SenderReference(id=sender, name=sender),
        target=c.AgentTarget(agent_name=agent),
        mode=mode,
        metadata=metadata,
        created_at=datetime.fromtimestamp(now / 1000, UTC),
    )


def user_message(message: c.RelayMessage) -> t.UserMessage:
    """The AHP message that a message carries, or what AHP has for the attachments of any other."""
    said = wire.convert({**message.metadata.get(_CARRIED, {}), "text": message.text}, t.UserMessage)
    if not message.attachments:
        return said
    return replace(said, attachments=[*(said.attachments or ()), *map(_attachment, message.attachments)])


def _attachment(attachment: c.Attachment) -> t.MessageAttachment:
    match attachment:
        case c.ImageAttachment(data=str(data)):
            return t.MessageEmbeddedResourceAttachment(
                label=attachment.label or "image", data=data, content_type=attachment.mime_type
            )
        case c.ImageAttachment(url=str(uri)) | c.LinkAttachment(url=uri) | c.FileAttachment(path=uri):
            return t.MessageResourceAttachment(label=attachment.label or uri, uri=uri)
        case c.TextAttachment(text=text) | c.DiffAttachment(diff=text):
            return t.SimpleMessageAttachment(label=attachment.label or "text", model_representation=text)
        case _:
            text = json.dumps(c.to_wire(attachment), ensure_ascii=False)
            return t.SimpleMessageAttachment(label=attachment.label or "data", model_representation=text)
