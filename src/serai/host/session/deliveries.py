"""Deliveries: whatever enters a session is one, with an id, a context and receipts.

Its message travels as the contract has it; AHP's `UserMessage` is carried inside, whole. A harness reads its
input with `user_message(message)`, wherever the message comes from.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from msgspec.structs import replace

from serai import contract as c
from serai.ahp import types as t, wire

_CARRIED = "userMessage"
"""Name, in a message's metadata, of all that the AHP message has beside its text."""


class Delivery(NamedTuple):
    """A message on its way into a session."""

    record: c.DeliveryRecord
    message: c.RelayMessage

    @property
    def id(self) -> str:
        """The id of its records and receipts."""
        return self.record.id

    @property
    def context(self) -> c.MessageContext:
        """The reason for the delivery, for the harness."""
        record = self.record
        return c.MessageContext(
            id=record.id,
            mode=record.mode,
            reason=record.reason,
            priority=record.priority,
            deadline=record.deadline,
            metadata=record.metadata,
        )


class Postman(Protocol):
    """Brings a session the messages that the relay has for it."""

    def take_for_next_message(self) -> tuple[list[Delivery], str]:
        """Take the messages that enter with a person's next message, and their text together."""
        ...

    def steered(self, delivery_id: str) -> None:
        """Hear that the agent has the steering message that was a delivery of the relay."""
        ...

    def displaced(self, delivery_id: str) -> None:
        """Hear that a client's message has replaced the relay's steering message."""
        ...

    def turn_ended(self) -> None:
        """Hear that a turn is over."""
        ...

    def idle(self) -> None:
        """Hear that the session may have become idle."""
        ...

    def disposed(self) -> None:
        """Hear that the session is gone: the messages that wait for it fail."""
        ...


def relay_message(
    message_id: str,
    message: t.UserMessage,
    *,
    sender: str,
    agent: str,
    session: str,
    mode: c.DeliveryMode,
    now: int,
) -> c.RelayMessage:
    """Make the contract's message of an AHP message, which is carried inside."""
    metadata: dict[str, Any] = {"session": session}
    if more := {name: value for name, value in wire.to_json(message).items() if name != "text"}:
        metadata[_CARRIED] = more
    return c.RelayMessage(
        id=message_id,
        kind=c.MessageKind.DM,
        text=message.text,
        sender=c.SenderReference(id=sender, name=sender),
        target=c.AgentTarget(agent_name=agent),
        mode=mode,
        metadata=metadata,
        created_at=datetime.fromtimestamp(now / 1000, UTC),
    )


def user_message(message: c.RelayMessage) -> t.UserMessage:
    """Return the AHP message that a message carries, with its attachments in AHP's form."""
    ours = wire.convert({**message.metadata.get(_CARRIED, {}), "text": message.text}, t.UserMessage)
    if not message.attachments:
        return ours
    return replace(ours, attachments=[*(ours.attachments or ()), *map(_attachment, message.attachments)])


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
