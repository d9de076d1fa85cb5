"""What a person said, as the content blocks of a prompt."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import quote

from serai.acp import Block, text_block
from serai.ahp.types import (
    MessageAttachment,
    MessageEmbeddedResourceAttachment,
    MessageResourceAttachment,
    SimpleMessageAttachment,
    TextSelection,
    UserMessage,
)
from serai.ahp.wire import Unknown
from serai.completions.sources import KIND

__all__ = ["COMMAND", "blocks_of"]

COMMAND = "command"
"""The kind of an attachment that stands for one of the agent's own commands."""


def blocks_of(message: UserMessage) -> tuple[list[Block], list[str]]:
    """The message as content blocks, and the types of those attachments that are not known here.

    The text is first: a command has to stand at the beginning. Whether an agent can take the blocks is for
    `serai.acp.fit_prompt` to say.
    """
    blocks = [text_block(message.text)] if message.text else []
    unknown: list[str] = []
    for attachment in message.attachments or ():
        if isinstance(attachment, Unknown):
            unknown.append(str(attachment.raw.get("type")))
        elif (block := _block(attachment)) is not None:
            blocks.append(block)
    return blocks, unknown


def _block(attachment: MessageAttachment) -> Block | None:
    match attachment:
        case SimpleMessageAttachment():
            return _simple(attachment)
        case MessageEmbeddedResourceAttachment():
            return _embedded(attachment)
        case MessageResourceAttachment():
            return _link(attachment)
        case _:
            return None


def _simple(attachment: SimpleMessageAttachment) -> Block | None:
    if (attachment.meta or {}).get(KIND) == COMMAND:
        return None  # the text begins with it already
    if attachment.model_representation is None:
        return text_block(f"[{attachment.label}]")
    return text_block(f"{attachment.label}:\n{attachment.model_representation}")


def _embedded(attachment: MessageEmbeddedResourceAttachment) -> Block:
    kind = attachment.content_type.partition("/")[0].lower()
    if kind in ("image", "audio"):
        return {"type": kind, "data": attachment.data, "mimeType": attachment.content_type}
    resource: dict[str, Any] = {
        "uri": f"attachment:///{quote(attachment.label)}",
        "mimeType": attachment.content_type,
    }
    text = _text(attachment.data)
    resource |= {"blob": attachment.data} if text is None else {"text": text}
    return {"type": "resource", "resource": resource}


def _text(data: str) -> str | None:
    """The text in base64; `None` for what is none."""
    try:
        return base64.b64decode(data, validate=True).decode()
    except ValueError:
        return None


def _link(attachment: MessageResourceAttachment) -> Block:
    block: Block = {"type": "resource_link", "uri": attachment.uri, "name": attachment.label}
    if attachment.content_type is not None:
        block["mimeType"] = attachment.content_type
    if attachment.size_hint is not None:
        block["size"] = int(attachment.size_hint)
    if attachment.selection is not None:
        block["description"] = _selected(attachment.selection)
    return block


def _selected(selection: TextSelection) -> str:
    first, last = selection.range.start.line + 1, selection.range.end.line + 1
    return f"Line {first} is selected" if first == last else f"Lines {first} to {last} are selected"
