"""What a person says, with what they attached to it, as content that is kept and that a model can read."""

from __future__ import annotations

import hashlib

from serai.ahp import types as t
from serai.host.blobs import BLOB_SCHEME
from serai.redact.redactor import decode_base64
from serai.session.messages import DurableContentPart, MediaPart, TextPart
from serai.store.contract import BlobRow

__all__ = ["user_content"]

_MOST_TEXT = 256 * 1024
"""How many characters of an attached text are kept in the message."""


def user_content(message: t.UserMessage, session: str) -> tuple[list[DurableContentPart], list[BlobRow]]:
    """The parts of a person's message, and the media in it: those are kept beside the transcript."""
    parts: list[DurableContentPart] = [TextPart(text=message.text)] if message.text else []
    blobs: list[BlobRow] = []
    for attachment in message.attachments or ():
        match attachment:
            case t.MessageEmbeddedResourceAttachment(data=data, content_type=kind, label=label):
                content = decode_base64(data) or b""
                if kind.startswith("image/"):
                    digest = hashlib.sha256(content).hexdigest()
                    blobs.append(BlobRow(digest, kind, content, session))
                    parts.append(MediaPart(handle=f"{BLOB_SCHEME}{digest}", media_type=kind))
                else:
                    parts.append(_named(label, content.decode("utf-8", "replace")[:_MOST_TEXT]))
            case t.SimpleMessageAttachment(label=label, model_representation=said):
                parts.append(_named(label, said or ""))
            case t.MessageResourceAttachment(label=label, uri=uri, selection=selection):
                lines = ""
                if selection is not None:
                    lines = f", lines {selection.range.start.line + 1} to {selection.range.end.line + 1}"
                parts.append(TextPart(text=f"[Attached: {label}, {uri}{lines}]"))
            case _:
                parts.append(TextPart(text="[Something is attached that cannot be shown to a model]"))
    return parts, blobs


def _named(label: str, text: str) -> TextPart:
    return TextPart(text=f"[Attached: {label}]\n{text}" if text else f"[Attached: {label}]")
