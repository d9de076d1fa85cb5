"""A change as AHP shows it, and the URIs of content before and after it. Pure.

Content that is no longer in the work tree has a URI of our own: `serai-change:/<session>/<content>/<path>`.
The path is there for people and for editors, which tell the language of a file by its name. So has content
that a `file:` URI does not lead to: where a link points to, since whoever reads the link gets what is there,
and a file whose name is not UTF-8. After `<content>` there may be a dot and the tree that it is from, which
says what form it had as a file.
"""

from __future__ import annotations

import os
import posixpath
import re
from dataclasses import dataclass
from urllib.parse import quote, quote_from_bytes, unquote, unquote_to_bytes, urlsplit

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
    "content_address",
    "content_uri",
    "file_id",
    "file_uri",
    "path_below",
    "show",
]

CONTENT_SCHEME = "serai-change:/"

_ID = "[0-9a-f]{40}(?:[0-9a-f]{24})?"
_CONTENT = re.compile(rf"({_ID})(?:\.({_ID}))?\Z")


@dataclass(frozen=True, slots=True)
class ContentAddress:
    """Content that a session's changes refer to."""

    session_id: str
    content: str
    path: str
    tree: str | None = None
    """What it is from, if that is said."""


def show(
    change: Change,
    directory: str,
    session_id: str,
    *,
    live: bool,
    start: str | None = None,
    end: str | None = None,
) -> ChangesetFile:
    """A change as a file of a changeset. Its id is its path, escaped as in a URI.

    Args:
        change: What changed.
        directory: The working directory, as the session names it.
        session_id: The session, for the URIs of content.
        live: Whether what is after the change is the file as it is now, where a URI can lead to that; else it
            is kept content.
        start: The tree that kept content from before the change is from.
        end: The same for what is after the change.
    """
    before = after = diff = None
    if change.before is not None:
        uri = file_uri(directory, change.before.path)
        before = FileEditSide(uri=uri, content=ContentRef(uri=content_uri(session_id, change.before, start)))
    if change.after is not None:
        uri = file_uri(directory, change.after.path)
        is_file = (
            live and change.after.mode != LINK_MODE and _is_text(posixpath.join(directory, change.after.path))
        )
        content = uri if is_file else content_uri(session_id, change.after, end)
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
    """What AHP has no field for. The version is another when the content is, though all else be the same."""
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


def file_id(path: str) -> str:
    """The id of a file in a changeset: another for every path, whatever bytes are in it."""
    return quote_from_bytes(os.fsencode(path))


def file_uri(directory: str, path: str) -> URI:
    """The `file:` URI of a path in a directory."""
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


def content_uri(session_id: str, side: Side, tree: str | None = None) -> URI:
    """The URI of content that is kept, and of the tree that it is from."""
    path = quote_from_bytes(os.fsencode(side.path))
    content = f"{side.content}.{tree}" if tree else side.content
    return f"{CONTENT_SCHEME}{quote(session_id, safe='')}/{content}/{path}"


def content_address(uri: URI) -> ContentAddress | None:
    """The content that a URI names; `None` when it names none of ours."""
    if not uri.startswith(CONTENT_SCHEME):
        return None
    session_id, _, rest = uri.removeprefix(CONTENT_SCHEME).partition("/")
    content, _, path = rest.partition("/")
    ids = _CONTENT.match(content)
    if not session_id or not path or ids is None:
        return None
    return ContentAddress(unquote(session_id), ids[1], os.fsdecode(unquote_to_bytes(path)), ids[2])
