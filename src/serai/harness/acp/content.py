"""Content in both directions: what an agent shows becomes AHP's, what a person says becomes ACP's blocks."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from serai.acp import Block, text_block
from serai.acp.shapes import is_object, object_of, text_of
from serai.ahp.types import (
    ContentRef,
    FileEdit,
    FileEditDiff,
    FileEditSide,
    MessageAttachment,
    MessageEmbeddedResourceAttachment,
    MessageResourceAttachment,
    SimpleMessageAttachment,
    ToolResultContent,
    ToolResultEmbeddedResourceContent,
    ToolResultFileEditContent,
    ToolResultResourceContent,
    ToolResultTextContent,
    UserMessage,
)
from serai.ahp.wire import Unknown
from serai.changes.diff import count_lines
from serai.completions.completion import KIND
from serai.machine.files.content import content_type
from serai.uris import uri_of

__all__ = [
    "COMMAND",
    "Keep",
    "blocks_of",
    "bytes_of",
    "contents_of",
    "edit_of",
    "in_words",
    "link_to",
    "size_of",
]

Keep = Callable[[bytes, str], ContentRef]
"""Keeps content beside the session and refers to it."""
COMMAND = "command"
"""The kind of an attachment that stands for one of the agent's own commands."""
_BYTES = "application/octet-stream"
_LINKED = frozenset({"http", "https", "file"})
"""What a link may lead to. Another one may be more than a place: a `javascript:` is a deed."""
_MEANING = re.compile(r"[\\`*\[\]<>]|(?<![^\W_])_|_(?![^\W_])")
"""What would mean something in Markdown. An underscore within a word does not."""
_NOT_IN_A_LINK = re.compile(r"[\x00-\x20\x7f()<>\\]")


# -- what an agent shows -----------------------------------------------------------------------------------


def contents_of(
    entries: Iterable[Mapping[str, Any]],
    *,
    folder: Path,
    keep: Keep,
    terminal: Callable[[str], ToolResultContent | None],
) -> list[ToolResultContent]:
    """The content of a tool call. What is not known here is shown as it came.

    Args:
        entries: As the agent told it: `content`, `diff` and `terminal`.
        folder: Where relative paths begin.
        keep: Keeps what a file was and is.
        terminal: Finds a terminal of the host by the id that the agent has for it. Others show nothing.
    """
    shown: list[ToolResultContent] = []
    for entry in entries:
        match entry:
            case {"type": "content", "content": block} if is_object(block):
                shown.append(_content(block))
            case {"type": "diff"} if (edit := edit_of(entry, folder, keep)) is not None:
                shown.append(ToolResultFileEditContent(before=edit.before, after=edit.after, diff=edit.diff))
            case {"type": "terminal", "terminalId": str(name)}:
                shown += [found] if (found := terminal(name)) is not None else []
            case _:
                shown.append(_as_it_came(entry))
    return shown


def _content(block: Mapping[str, Any]) -> ToolResultContent:
    match block:
        case {"type": "text", "text": str(text)} | {"type": "resource", "resource": {"text": str(text)}}:
            return ToolResultTextContent(text=text)
        case {"type": "image" | "audio", "data": str(data)}:
            kind = text_of(block.get("mimeType"))
            return ToolResultEmbeddedResourceContent(data=data, content_type=kind or _BYTES)
        case {"type": "resource", "resource": {"blob": str(data)}}:
            kind = text_of(object_of(block["resource"]).get("mimeType"))
            return ToolResultEmbeddedResourceContent(data=data, content_type=kind or _BYTES)
        case {"type": "resource_link", "uri": str(uri)}:
            size = block.get("size")
            return ToolResultResourceContent(
                uri=uri,
                size_hint=size if isinstance(size, int) else None,
                content_type=text_of(block.get("mimeType")),
            )
        case _:
            return _as_it_came(block)


def _as_it_came(value: Mapping[str, Any]) -> ToolResultContent:
    return ToolResultTextContent(text=json.dumps(value, ensure_ascii=False))


def edit_of(entry: Mapping[str, Any], folder: Path, keep: Keep) -> FileEdit | None:
    """The edit that a `diff` tells of; `None` when the entry is none."""
    path, old, new = text_of(entry.get("path")), text_of(entry.get("oldText")), text_of(entry.get("newText"))
    if entry.get("type") != "diff" or path is None or new is None:
        return None
    uri = uri_of(folder / path)
    kind = content_type(path) or "text/plain"
    before, after = (old or "").encode("utf-8", "replace"), new.encode("utf-8", "replace")
    added, removed = count_lines(before, after)
    return FileEdit(
        before=FileEditSide(uri=uri, content=keep(before, kind)) if old is not None else None,
        after=FileEditSide(uri=uri, content=keep(after, kind)),
        diff=FileEditDiff(added=added, removed=removed),
    )


def size_of(entries: Iterable[Mapping[str, Any]]) -> int:
    """About how much there is to show of a tool call's content."""
    return sum(
        len(text)
        for entry in entries
        for values in (entry, object_of(entry.get("content")))
        for text in values.values()
        if isinstance(text, str)
    )


def bytes_of(block: Mapping[str, Any]) -> bytes | None:
    """The bytes of an image or a sound; `None` where there are none."""
    data = text_of(block.get("data"))
    try:
        return base64.b64decode(data, validate=True) if data else None
    except ValueError:
        return None


def in_words(block: Block) -> str | None:
    """Content that is no text, as words of an answer; `None` for what words cannot show."""
    match block:
        case {"type": "resource_link", "uri": str(uri)}:
            return link_to(uri, text_of(block.get("name")))
        case {"type": "resource", "resource": {"text": str(text)}}:
            return text
        case _:
            return None


def link_to(uri: str, name: str | None) -> str:
    """A link that the agent gave, as Markdown: it is that, whatever its name and its address are made of."""
    address = _plain(uri)
    shown = _plain(name or "") or address
    if uri.partition(":")[0].lower() in _LINKED:
        return f"[{shown}]({_NOT_IN_A_LINK.sub(lambda found: f'%{ord(found[0]):02X}', uri)})"
    return shown if shown == address else f"{shown} ({address})"


def _plain(text: str) -> str:
    """Text that is no more than that in Markdown, in a line."""
    return _MEANING.sub(r"\\\g<0>", " ".join(text.split()))


# -- what a person says ------------------------------------------------------------------------------------


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
            if (attachment.meta or {}).get(KIND) == COMMAND:
                return None  # the text begins with it already
            if attachment.model_representation is None:
                return text_block(f"[{attachment.label}]")
            return text_block(f"{attachment.label}:\n{attachment.model_representation}")
        case MessageEmbeddedResourceAttachment():
            return _embedded(attachment)
        case MessageResourceAttachment():
            return _link(attachment)
        case _:
            return None


def _embedded(attachment: MessageEmbeddedResourceAttachment) -> Block:
    kind = attachment.content_type.partition("/")[0].lower()
    if kind in ("image", "audio"):
        return {"type": kind, "data": attachment.data, "mimeType": attachment.content_type}
    resource: dict[str, Any] = {
        "uri": f"attachment:///{quote(attachment.label)}",
        "mimeType": attachment.content_type,
    }
    try:
        resource["text"] = base64.b64decode(attachment.data, validate=True).decode()
    except ValueError:
        resource["blob"] = attachment.data
    return {"type": "resource", "resource": resource}


def _link(attachment: MessageResourceAttachment) -> Block:
    block: Block = {"type": "resource_link", "uri": attachment.uri, "name": attachment.label}
    if attachment.content_type is not None:
        block["mimeType"] = attachment.content_type
    if attachment.size_hint is not None:
        block["size"] = int(attachment.size_hint)
    if attachment.selection is not None:
        lines = attachment.selection.range
        first, last = lines.start.line + 1, lines.end.line + 1
        block["description"] = (
            f"Line {first} is selected" if first == last else f"Lines {first} to {last} are selected"
        )
    return block
