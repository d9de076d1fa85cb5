"""A change as AHP shows it, and the URIs of content before and after it. Pure.

Content that is no longer in the folder has a URI of our own: `serai-change:/<session>/<blob>/<path>`. The
path is there for people and for editors, which tell the language of a file by its name. So has content that
a `file:` URI does not lead to: where a link points to, and a file whose name is not UTF-8.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, quote_from_bytes, unquote, unquote_to_bytes, urlsplit

from serai.ahp.actions import (
    ChangesetAction,
    ChangesetClearedAction,
    ChangesetFileRemovedAction,
    ChangesetFileSetAction,
)
from serai.ahp.types import (
    URI,
    ChangesetFile,
    ContentRef,
    FileEdit,
    FileEditDiff,
    FileEditSide,
    FreeForm,
)
from serai.changes.records import LINK_MODE, Change, Side
from serai.uris import uri_of

__all__ = [
    "CONTENT_SCHEME",
    "ContentAddress",
    "actions_between",
    "content_address",
    "content_uri",
    "file_id",
    "path_below",
    "show",
]

CONTENT_SCHEME = "serai-change:/"

_BLOB = re.compile("[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class ContentAddress:
    """Content that a session's changes refer to."""

    session_id: str
    blob: str
    path: str


def show(change: Change, directory: str, session_id: str, *, live: bool) -> ChangesetFile:
    """A change as a file of a changeset. Its id is its path, escaped as in a URI.

    Args:
        change: What changed.
        directory: The working directory, as the session names it.
        session_id: The session, for the URIs of content.
        live: Whether what is after the change is the file as it is now; else it is recorded content.
    """
    before = after = diff = None
    if change.before is not None:
        before = FileEditSide(
            uri=_file_uri(directory, change.before.path),
            content=ContentRef(uri=content_uri(session_id, change.before)),
        )
    if change.after is not None:
        uri = _file_uri(directory, change.after.path)
        is_file = live and change.after.mode != LINK_MODE and _is_text(f"{directory}/{change.after.path}")
        content = uri if is_file else content_uri(session_id, change.after)
        after = FileEditSide(uri=uri, content=ContentRef(uri=content))
    if change.added is not None and change.removed is not None:
        diff = FileEditDiff(added=change.added, removed=change.removed)
    return ChangesetFile(
        id=file_id(change.path), edit=FileEdit(before=before, after=after, diff=diff), meta=_meta(change)
    )


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _meta(change: Change) -> FreeForm:
    """What AHP has no field for. The version changes with the content, though all else be the same."""
    meta: FreeForm = {"serai.kind": change.kind.value}
    if change.after is not None:
        meta["serai.version"] = change.after.content
        if change.before is not None and change.before.mode != change.after.mode:
            meta["serai.mode"] = [f"{change.before.mode:06o}", f"{change.after.mode:06o}"]
    if change.binary:
        meta["serai.binary"] = True
    if change.conflicted:
        meta["serai.conflicted"] = True
    return meta


def actions_between(before: Sequence[ChangesetFile], after: Sequence[ChangesetFile]) -> list[ChangesetAction]:
    """The fewest actions that bring one list of files to the other.

    Files are told apart by their ids. Their order means nothing: what is new comes to the end.
    """
    old = {file.id: file for file in before}
    wanted = {file.id: file for file in after}
    removed: list[ChangesetAction] = [
        ChangesetFileRemovedAction(file_id=file_id) for file_id in old if file_id not in wanted
    ]
    changed: list[ChangesetAction] = [
        ChangesetFileSetAction(file=file) for file in wanted.values() if old.get(file.id) != file
    ]
    if removed and (not wanted or len(removed) + len(changed) > 1 + len(wanted)):
        return [ChangesetClearedAction(), *(ChangesetFileSetAction(file=file) for file in wanted.values())]
    return removed + changed


# -- URIs ----------------------------------------------------------------------------------------------------


def file_id(path: str) -> str:
    """The id of a file in a changeset: another for every path, whatever bytes are in it."""
    return quote_from_bytes(os.fsencode(path))


def _file_uri(directory: str, path: str) -> URI:
    return uri_of(posixpath.join(directory, path))


def path_below(directory: str, uri: URI) -> str | None:
    """The path in a directory that a `file:` URI names; `None` when it names none there."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"} or parts.query or parts.fragment:
        return None
    full = os.fsdecode(unquote_to_bytes(parts.path))
    base = directory.rstrip("/") + "/"
    path = full.removeprefix(base)
    is_plain = path and "\0" not in path and posixpath.normpath(path) == path
    if path == full or not is_plain or path.split("/")[0] in {"", "..", "."}:
        return None
    return path


def content_uri(session_id: str, side: Side) -> URI:
    """The URI of recorded content."""
    return f"{CONTENT_SCHEME}{quote(session_id, safe='')}/{side.content}/{file_id(side.path)}"


def content_address(uri: URI) -> ContentAddress | None:
    """The recorded content that a URI names; `None` when it names none of ours."""
    if not uri.startswith(CONTENT_SCHEME):
        return None
    session_id, _, rest = uri.removeprefix(CONTENT_SCHEME).partition("/")
    blob, _, path = rest.partition("/")
    if not session_id or not path or not _BLOB.fullmatch(blob):
        return None
    return ContentAddress(unquote(session_id), blob, os.fsdecode(unquote_to_bytes(path)))
