"""Edits of files, as AHP shows them: before and after, kept beside the session."""

from __future__ import annotations

from collections.abc import Callable

from serai.ahp import types as t
from serai.changes.diff import count_lines
from serai.machine.files.content import content_type

Keep = Callable[[bytes, str], t.ContentRef]
"""Keeps content beside the session and refers to it."""


def file_edit(keep: Keep, uri: str, before: bytes | None, after: bytes) -> t.FileEdit:
    """What writing a text changes in a file, or (`None`) in one that is not there."""

    def side(data: bytes) -> t.FileEditSide:
        return t.FileEditSide(uri=uri, content=keep(data, content_type(uri) or "text/plain"))

    added, removed = count_lines(before or b"", after)
    return t.FileEdit(
        before=None if before is None else side(before),
        after=side(after),
        diff=t.FileEditDiff(added=added, removed=removed),
    )


def made(edit: t.FileEdit) -> t.ToolResultFileEditContent:
    """An edit that was made, as the result of its call."""
    return t.ToolResultFileEditContent(before=edit.before, after=edit.after, diff=edit.diff)
