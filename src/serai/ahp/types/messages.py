"""What a person sends: messages, attachments, and messages that wait."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

from msgspec import field

from serai.ahp.types.common import ContentRef, FreeForm, TextRange, TextSelection
from serai.ahp.wire import UnknownType, Value


class MessageAttachmentKind(StrEnum):
    """What tells attachments apart."""

    SIMPLE = "simple"
    EMBEDDED_RESOURCE = "embeddedResource"
    RESOURCE = "resource"


class MessageAttachmentBase(Value, tag_field="type"):
    """What all attachments have. `range` is the place in the message's text that stands for it."""

    label: str
    range: TextRange | None = None
    display_kind: str | None = None
    meta: FreeForm | None = field(default=None, name="_meta")


class SimpleMessageAttachment(MessageAttachmentBase, tag=MessageAttachmentKind.SIMPLE.value):
    """An attachment that its producer describes: `model_representation` is what the model gets to read."""

    model_representation: str | None = None


class MessageEmbeddedResourceAttachment(
    MessageAttachmentBase, tag=MessageAttachmentKind.EMBEDDED_RESOURCE.value
):
    """Content that travels inside the message, in base64."""

    data: str
    content_type: str
    selection: TextSelection | None = None


class MessageResourceAttachment(ContentRef, tag_field="type", tag=MessageAttachmentKind.RESOURCE.value):
    """Content that is kept elsewhere and read when it is needed."""

    label: str
    range: TextRange | None = None
    display_kind: str | None = None
    meta: FreeForm | None = field(default=None, name="_meta")
    selection: TextSelection | None = None


MessageAttachment: TypeAlias = (
    SimpleMessageAttachment | MessageEmbeddedResourceAttachment | MessageResourceAttachment | UnknownType
)


class UserMessage(Value):
    """What a person said, with what they attached to it."""

    text: str
    attachments: list[MessageAttachment] | None = None
    meta: FreeForm | None = field(default=None, name="_meta")


class PendingMessageKind(StrEnum):
    """Into the running turn, or as a turn of its own afterwards."""

    STEERING = "steering"
    QUEUED = "queued"


class PendingMessage(Value):
    """A message that waits for its moment."""

    id: str
    user_message: UserMessage
