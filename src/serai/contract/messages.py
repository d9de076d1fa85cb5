"""The messages that agents, people and apps send each other."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, TypeAlias

from msgspec import field

from serai.contract.delivery import DeliveryMode
from serai.contract.identity import AgentId
from serai.contract.record import Metadata, Moment, Record


class MessageKind(StrEnum):
    """The place of a message: a room, a conversation or a thread."""

    CHANNEL = "channel"
    DM = "dm"
    GROUP_DM = "group_dm"
    THREAD_REPLY = "thread_reply"


class AgentTarget(Record, tag_field="kind", tag="agent"):
    """One participant."""

    agent_name: str
    agent_id: AgentId | None = None


class ChannelTarget(Record, tag_field="kind", tag="channel"):
    """A room, which is called a channel in JSON."""

    channel_name: str
    channel_id: str | None = None


class DirectTarget(Record, tag_field="kind", tag="dm"):
    """A conversation of two."""

    conversation_id: str


class GroupTarget(Record, tag_field="kind", tag="group_dm"):
    """A conversation of several, outside of any room."""

    conversation_id: str


MessageTarget: TypeAlias = AgentTarget | ChannelTarget | DirectTarget | GroupTarget
"""The recipients of a message. In JSON, `kind` distinguishes them."""


class AttachmentRecord(Record, tag_field="type"):
    """The base of all attachments."""

    label: str | None = None


class TextAttachment(AttachmentRecord, tag="text"):
    """A text in addition to the message's own."""

    text: str


class ImageAttachment(AttachmentRecord, tag="image"):
    """An image: its URL, or its bytes in base64."""

    mime_type: str
    url: str | None = None
    data: str | None = None

    def __post_init__(self) -> None:
        if (self.url is None) == (self.data is None):
            raise ValueError("an image has either a url or data")


class LinkAttachment(AttachmentRecord, tag="link"):
    """A link to a web page."""

    url: str


class FileAttachment(AttachmentRecord, tag="file"):
    """A file that both sender and receiver can reach, and perhaps a line in it, counted from 1."""

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
    """An artifact that a session has created and that is stored under its own id."""

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
"""The attachments of a message. In JSON, `type` distinguishes them."""


class SenderReference(Record):
    """The sender of a message."""

    id: AgentId
    name: str


class RoomReference(Record):
    """The room of a message."""

    id: str
    name: str


class Reaction(Record):
    """An emoji under a message, and the participants who added it."""

    emoji: str
    count: int
    agents: tuple[str, ...]
    """Names of those who have reacted."""


class RelayMessage(Record, host_made=True):
    """A stored message: a durable record, whether or not anyone has seen it."""

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
    """Delivery mode that the sender wants; without it the policy decides."""
    metadata: Metadata = field(default_factory=dict)
    created_at: Moment
    updated_at: Moment | None = None
    reply_count: int | None = None
    read_by_count: int | None = None
