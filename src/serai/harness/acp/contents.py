"""What an agent's tool calls show, as AHP has it."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from serai.acp.shapes import is_object, object_of, text_of
from serai.ahp.types import (
    ContentRef,
    FileEdit,
    FileEditDiff,
    FileEditSide,
    ToolResultContent,
    ToolResultEmbeddedResourceContent,
    ToolResultFileEditContent,
    ToolResultResourceContent,
    ToolResultTextContent,
)
from serai.changes.diff import count_lines
from serai.machine.files.content_types import content_type
from serai.uris import uri_of

__all__ = ["Keep", "bytes_of", "contents_of", "edit_of", "edited_paths", "link_to", "size_of"]

Keep = Callable[[bytes, str], ContentRef]
"""Keeps content beside the session and refers to it."""
_LINKED = frozenset({"http", "https", "file"})
"""What a link may lead to. Another one may be more than a place: a `javascript:` is a deed."""
_MEANING = re.compile(r"[\\`*\[\]<>]|(?<![^\W_])_|_(?![^\W_])")
"""What would mean something in Markdown. An underscore within a word does not."""
_NOT_IN_A_LINK = re.compile(r"[\x00-\x20\x7f()<>\\]")


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
        terminal: Finds a terminal of the host by the id that the agent has for it.
    """
    return [_content(entry, folder, keep, terminal) for entry in entries]


def _content(
    entry: Mapping[str, Any],
    folder: Path,
    keep: Keep,
    terminal: Callable[[str], ToolResultContent | None],
) -> ToolResultContent:
    match entry:
        case {"type": "content", "content": block} if is_object(block):
            return _block(block)
        case {"type": "diff"}:
            edit = edit_of(entry, folder, keep)
            if edit is not None:
                return ToolResultFileEditContent(before=edit.before, after=edit.after, diff=edit.diff)
        case {"type": "terminal", "terminalId": str(name)}:
            found = terminal(name)
            if found is not None:
                return found
        case _:
            pass
    return _as_it_came(entry)


def _block(block: Mapping[str, Any]) -> ToolResultContent:
    match block:
        case {"type": "text", "text": str(text)}:
            return ToolResultTextContent(text=text)
        case {"type": "image" | "audio", "data": str(data)}:
            return ToolResultEmbeddedResourceContent(
                data=data, content_type=text_of(block.get("mimeType")) or "application/octet-stream"
            )
        case {"type": "resource_link", "uri": str(uri)}:
            size = block.get("size")
            return ToolResultResourceContent(
                uri=uri,
                size_hint=size if isinstance(size, int) else None,
                content_type=text_of(block.get("mimeType")),
            )
        case {"type": "resource", "resource": {"text": str(text)}}:
            return ToolResultTextContent(text=text)
        case {"type": "resource", "resource": {"blob": str(data)}}:
            kind = text_of(object_of(block["resource"]).get("mimeType"))
            return ToolResultEmbeddedResourceContent(
                data=data, content_type=kind or "application/octet-stream"
            )
        case _:
            return _as_it_came(block)


def _as_it_came(value: Mapping[str, Any]) -> ToolResultContent:
    return ToolResultTextContent(text=json.dumps(value, ensure_ascii=False))


def edit_of(entry: Mapping[str, Any], folder: Path, keep: Keep) -> FileEdit | None:
    """The edit that a `diff` tells of; `None` when it is none."""
    path, old, new = text_of(entry.get("path")), text_of(entry.get("oldText")), text_of(entry.get("newText"))
    if path is None or new is None:
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


def edited_paths(
    entries: Iterable[Mapping[str, Any]], locations: Iterable[Mapping[str, Any]], kind: str
) -> list[str]:
    """The files that a call is going to change, as far as it says so."""
    paths = [
        path for entry in entries if entry.get("type") == "diff" and (path := text_of(entry.get("path")))
    ]
    if kind in ("edit", "delete", "move"):
        paths += [path for place in locations if (path := text_of(place.get("path")))]
    return list(dict.fromkeys(paths))


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
