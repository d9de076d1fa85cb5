"""Changesets as AHP shows them: a session's catalogue, a change as a file, and their URIs. Pure.

    ahp-changeset:/<session>/uncommitted
    ahp-changeset:/<session>/session
    ahp-changeset:/<session>/turn/{turnId}
    serai-change:/<session>/<blob>/<path>

The last one names content that is no longer in the folder, or that no `file:` URI leads to: the target of a
link, and a file whose name is not UTF-8. The path is there for people and for editors.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import quote, quote_from_bytes, unquote, unquote_to_bytes

from serai import uris
from serai.ahp.actions import (
    ChangesetAction,
    ChangesetClearedAction,
    ChangesetFileRemovedAction,
    ChangesetFileSetAction,
)
from serai.ahp.types import (
    URI,
    ChangesetFile,
    ChangesetSummary,
    ContentRef,
    FileEdit,
    FileEditDiff,
    FileEditSide,
    FreeForm,
)
from serai.changes.diff import LINK_MODE, Change, Side
from serai.errors import ProtocolError

CONTENT_SCHEME = "serai-change:/"

_SCHEME = "ahp-changeset:/"
_BLOB = re.compile("[0-9a-f]{40}(?:[0-9a-f]{24})?")


class ChangesetKind(StrEnum):
    """Kind of a changeset: the states that it compares."""

    UNCOMMITTED = "uncommitted"
    """The files now, with the last commit."""
    SESSION = "session"
    """The files now, with those when the session began."""
    TURN = "turn"
    """The files after a turn, with those before it."""


class Which(NamedTuple):
    """Name of a changeset within its session."""

    kind: ChangesetKind
    turn_id: str | None = None


UNCOMMITTED = Which(ChangesetKind.UNCOMMITTED)
SESSION = Which(ChangesetKind.SESSION)


class Address(NamedTuple):
    """Name of a changeset and its session."""

    session_id: str
    which: Which


class Counts(NamedTuple):
    """Numbers of changed files and lines. Files that are not text have no lines."""

    files: int | None
    additions: int | None
    deletions: int | None


def uri_of(session_id: str, which: Which) -> URI:
    """Return the channel of a changeset."""
    end = "" if which.turn_id is None else f"/{quote(which.turn_id, safe='')}"
    return f"{_SCHEME}{quote(session_id, safe='')}/{which.kind.value}{end}"


def address_of(uri: URI) -> Address | None:
    """Return the changeset that a channel names; `None` when it names none of this host."""
    if not uri.startswith(_SCHEME):
        return None
    try:
        parts = [unquote(part, errors="strict") for part in uri.removeprefix(_SCHEME).split("/")]
    except UnicodeDecodeError:
        return None
    match parts:
        case [str() as session_id, ("uncommitted" | "session") as kind] if session_id:
            return Address(session_id, Which(ChangesetKind(kind)))
        case [str() as session_id, "turn", str() as turn_id] if session_id and turn_id:
            return Address(session_id, Which(ChangesetKind.TURN, turn_id))
        case _:
            return None


def summaries(
    session_id: str, known: Mapping[Which, tuple[Counts, str | None]], *, has_git: bool
) -> list[ChangesetSummary]:
    """Return the catalogue of a session. Outside of a repository nothing can be uncommitted.

    Args:
        session_id: The session.
        known: The counts of changesets, as far as they are known, and notes such as on files that were left
            out.
        has_git: The working directory is in a repository.
    """
    catalogue: list[ChangesetSummary] = []
    for which, label in ((UNCOMMITTED, "Uncommitted changes"), (SESSION, "Since the session began")):
        if has_git or which != UNCOMMITTED:
            counts, note = known.get(which, (Counts(None, None, None), None))
            template = uri_of(session_id, which)
            catalogue.append(
                ChangesetSummary(label=label, uri_template=template, description=note, **counts._asdict())
            )
    template = f"{_SCHEME}{quote(session_id, safe='')}/turn/{{turnId}}"
    return [*catalogue, ChangesetSummary(label="In this turn", uri_template=template)]


# -- files --------------------------------------------------------------------------------------------------


def show(change: Change, directory: str, session_id: str, *, live: bool) -> ChangesetFile:
    """Return a change as a file of a changeset. Its id is its path, escaped as in a URI.

    Args:
        change: The change.
        directory: The working directory, as the session names it.
        session_id: The session, for the URIs of content.
        live: The side after the change is the file as it is now; otherwise it is recorded content.
    """
    before = after = diff = None
    if change.before is not None:
        before = FileEditSide(
            uri=uris.uri_of(f"{directory}/{change.before.path}"),
            content=ContentRef(uri=content_uri(session_id, change.before)),
        )
    if change.after is not None:
        uri = uris.uri_of(f"{directory}/{change.after.path}")
        is_unicode = not re.search("[\ud800-\udfff]", f"{directory}/{change.after.path}")
        is_file = live and change.after.mode != LINK_MODE and is_unicode
        content = uri if is_file else content_uri(session_id, change.after)
        after = FileEditSide(uri=uri, content=ContentRef(uri=content))
    if change.added is not None and change.removed is not None:
        diff = FileEditDiff(added=change.added, removed=change.removed)
    return ChangesetFile(
        id=file_id(change.path), edit=FileEdit(before=before, after=after, diff=diff), meta=_meta(change)
    )


def _meta(change: Change) -> FreeForm:
    """Return what AHP has no field for. The version changes with the content, if nothing else does."""
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
    """Return the fewest actions that turn one list of files into the other.

    Files are matched by their ids. Their order does not matter: new files come to the end.
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


def file_id(path: str) -> str:
    """Return the id of a file in a changeset: a different one for every path, whatever bytes are in it."""
    return quote_from_bytes(os.fsencode(path))


def path_below(directory: str, uri: URI) -> str | None:
    """Return the path in a directory that a `file:` URI names; `None` when it names none there."""
    try:
        path = str(uris.path_of(uri))
    except ProtocolError:
        return None
    base = directory.rstrip("/") + "/"
    return path.removeprefix(base) if path.startswith(base) else None


def content_uri(session_id: str, side: Side) -> URI:
    """Return the URI of recorded content."""
    return f"{CONTENT_SCHEME}{quote(session_id, safe='')}/{side.content}/{file_id(side.path)}"


class ContentAddress(NamedTuple):
    """Recorded content that a session's changes refer to."""

    session_id: str
    blob: str
    path: str


def content_address(uri: URI) -> ContentAddress | None:
    """Return the recorded content that a URI names; `None` when it names none of this host."""
    if not uri.startswith(CONTENT_SCHEME):
        return None
    session_id, _, rest = uri.removeprefix(CONTENT_SCHEME).partition("/")
    blob, _, path = rest.partition("/")
    if not session_id or not path or not _BLOB.fullmatch(blob):
        return None
    return ContentAddress(unquote(session_id), blob, os.fsdecode(unquote_to_bytes(path)))
