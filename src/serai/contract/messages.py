"""The messages that agents, people and apps send each other."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, TypeAlias

from msgspec import field

from serai.contract.delivery import DeliveryMode
from serai.contract.identity import AgentId
from serai.contract.record import Metadata, Moment, Record


class MessageKind(StrEnum):
    """Where a message was said."""

    CHANNEL = "channel"
    DM = "dm"
    GROUP_DM = "group_dm"
    THREAD_REPLY = "thread_reply"


class AgentTarget(Record, tag_field="kind", tag="agent"):
    """One participant."""

    agent_name: str
    agent_id: AgentId | None = None


class ChannelTarget(Record, tag_field="kind", tag="channel"):
    """A room. The wire calls it a channel."""

    channel_name: str
    channel_id: str | None = None


class DirectTarget(Record, tag_field="kind", tag="dm"):
    """A conversation of two."""

    conversation_id: str


class GroupTarget(Record, tag_field="kind", tag="group_dm"):
    """A conversation of several, outside of any room."""

    conversation_id: str


MessageTarget: TypeAlias = AgentTarget | ChannelTarget | DirectTarget | GroupTarget
"""To whom a message goes. On the wire `kind` tells which it is."""


class AttachmentRecord(Record, tag_field="type"):
    """What all attachments have in common."""

    label: str | None = None


class TextAttachment(AttachmentRecord, tag="text"):
    """A piece of text that stands beside the message's own."""

    text: str


class ImageAttachment(AttachmentRecord, tag="image"):
    """An image: where it is, or its bytes in base64."""

    mime_type: str
    url: str | None = None
    data: str | None = None

    def __post_init__(self) -> None:
        if (self.url is None) == (self.data is None):
            raise ValueError("an image has either a url or data")


class LinkAttachment(AttachmentRecord, tag="link"):
    """A place on the web."""

    url: str


class FileAttachment(AttachmentRecord, tag="file"):
    """A file that sender and receiver can both reach, and perhaps a line in it, counted from 1."""

    path: str
    line: int | None = None


class JsonAttachment(AttachmentRecord, tag="json"):
    """Structured data."""

    value: Any


class DiffAttachment(AttachmentRecord, tag="diff"):
    """A change, as a unified diff."""

    diff: str
    path: str | None = None


class ArtifactAttachment(AttachmentRecord, tag="artifact"):
    """Something that a session made and that is kept under an id of its own."""

    id: str
    url: str | None = None
    mime_type: str | None = None


Attachment: TypeAlias = (
    TextAttachment
    | ImageAttachment
    | LinkAttachment
    | FileAttachment
    | JsonAttachment
    | DiffAttachment
    | ArtifactAttachment
)
"""What a message carries beside its text. On the wire `type` tells which it is."""


class SenderReference(Record):
    """Who sent a message."""

    id: AgentId
    name: str


class RoomReference(Record):
    """The room in which a message was said."""

    id: str
    name: str


class Reaction(Record):
    """An emoji under a message, and who put it there."""

    emoji: str
    count: int
    agents: tuple[str, ...]
    """The names of those who reacted."""


class RelayMessage(Record, host_made=True):
    """A message as it is kept: a durable record, whether or not anyone has seen it."""

    id: str
    kind: MessageKind
    text: str
    sender: SenderReference = field(name="from")
    target: MessageTarget
    channel: RoomReference | None = None
    conversation_id: str | None = None
    thread_id: str | None = None
    parent_id: str | None = None
    mentions: tuple[str, ...] = ()
    """The handles that the message mentions."""
    attachments: tuple[Attachment, ...] = ()
    reactions: tuple[Reaction, ...] = ()
    mode: DeliveryMode | None = None
    """When the sender wants it to surface; without it the policy decides."""
    metadata: Metadata = field(default_factory=dict)
    created_at: Moment
    updated_at: Moment | None = None
    reply_count: int | None = None
    read_by_count: int | None = None
