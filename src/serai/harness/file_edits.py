"""Edits of files, as AHP shows them: before and after, kept beside the session."""

from __future__ import annotations

from mimetypes import guess_type

from serai.ahp import types as t
from serai.changes.diff import count_lines
from serai.host.turn import Turn

__all__ = ["file_edit", "made"]


def file_edit(turn: Turn, uri: str, before: bytes | None, after: str) -> t.FileEdit:
    """What writing a text changes in a file, or (`None`) in one that is not there."""

    def side(data: bytes) -> t.FileEditSide:
        return t.FileEditSide(uri=uri, content=turn.keep(data, guess_type(uri)[0] or "text/plain"))

    added, removed = count_lines(before or b"", after.encode())
    return t.FileEdit(
        before=None if before is None else side(before),
        after=side(after.encode()),
        diff=t.FileEditDiff(added=added, removed=removed),
    )


def made(edit: t.FileEdit) -> t.ToolResultFileEditContent:
    """An edit that was made, as the result of its call."""
    return t.ToolResultFileEditContent(before=edit.before, after=edit.after, diff=edit.diff)
