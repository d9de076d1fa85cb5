"""A message in two protocols: AHP's `UserMessage` travels inside the contract's `RelayMessage`, whole.

A harness reads its input with `user_message(message)`, wherever the message comes from.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from serai.ahp import wire
from serai.ahp.types import (
    MessageAttachment,
    MessageEmbeddedResourceAttachment,
    MessageResourceAttachment,
    SimpleMessageAttachment,
    UserMessage,
)
from serai.contract import (
    AgentTarget,
    Attachment,
    DeliveryMode,
    DiffAttachment,
    FileAttachment,
    ImageAttachment,
    LinkAttachment,
    MessageKind,
    RelayMessage,
    SenderReference,
    TextAttachment,
    to_wire,
)

__all__ = ["relay_message", "user_message"]

_CARRIED = "userMessage"
"""In a message's metadata: what the AHP message has beside its text."""


def relay_message(
    message_id: str, said: UserMessage, *, sender: str, agent: str, session: str, mode: DeliveryMode, now: int
) -> RelayMessage:
    """An AHP message as the contract has it. What stands beside its text is carried along as it is.

    Args:
        message_id: Its id.
        said: The AHP message.
        sender: Who sent it.
        agent: The agent that it is for.
        session: The URI of the session that it enters.
        mode: When it may reach the agent.
        now: The time, in milliseconds since 1970.
    """
    metadata: dict[str, Any] = {"session": session}
    if more := {name: value for name, value in wire.to_json(said).items() if name != "text"}:
        metadata[_CARRIED] = more
    return RelayMessage(
        id=message_id,
        kind=MessageKind.DM,
        text=said.text,
        sender=SenderReference(id=sender, name=sender),
        target=AgentTarget(agent_name=agent),
        mode=mode,
        metadata=metadata,
        created_at=datetime.fromtimestamp(now / 1000, UTC),
    )


def user_message(message: RelayMessage) -> UserMessage:
    """The AHP message that a message carries, or what AHP has for the attachments of any other."""
    said = wire.convert({**message.metadata.get(_CARRIED, {}), "text": message.text}, UserMessage)
    if not message.attachments:
        return said
    return replace(said, attachments=[*(said.attachments or ()), *map(_attachment, message.attachments)])


def _attachment(attachment: Attachment) -> MessageAttachment:
    match attachment:
        case ImageAttachment(data=str(data)):
            return MessageEmbeddedResourceAttachment(
                label=attachment.label or "image", data=data, content_type=attachment.mime_type
            )
        case ImageAttachment(url=str(uri)) | LinkAttachment(url=uri) | FileAttachment(path=uri):
            return MessageResourceAttachment(label=attachment.label or uri, uri=uri)
        case TextAttachment(text=text) | DiffAttachment(diff=text):
            return SimpleMessageAttachment(label=attachment.label or "text", model_representation=text)
        case _:
            text = json.dumps(to_wire(attachment), ensure_ascii=False)
            return SimpleMessageAttachment(label=attachment.label or "data", model_representation=text)
