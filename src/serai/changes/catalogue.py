"""The changesets of a session, and the URIs that name them. Pure.

ahp-changeset:/<session>/uncommitted
ahp-changeset:/<session>/session
ahp-changeset:/<session>/turn/{turnId}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote, unquote

from serai.ahp.types import URI, ChangesetSummary

__all__ = [
    "SESSION",
    "UNCOMMITTED",
    "Address",
    "ChangesetKind",
    "Counts",
    "Which",
    "address_of",
    "summaries",
    "uri_of",
]

_SCHEME = "ahp-changeset:/"


class ChangesetKind(StrEnum):
    """What the files are compared with."""

    UNCOMMITTED = "uncommitted"
    """With the last commit."""
    SESSION = "session"
    """With what there was when the session began."""
    TURN = "turn"
    """What there was before a turn, with what there was after it."""


@dataclass(frozen=True, slots=True)
class Which:
    """Which of a session's changesets."""

    kind: ChangesetKind
    turn_id: str | None = None


UNCOMMITTED = Which(ChangesetKind.UNCOMMITTED)
SESSION = Which(ChangesetKind.SESSION)


@dataclass(frozen=True, slots=True)
class Address:
    """A changeset of a session."""

    session_id: str
    which: Which


@dataclass(frozen=True, slots=True)
class Counts:
    """How much changed. Files that are not text have no lines."""

    files: int
    additions: int
    deletions: int


def uri_of(session_id: str, which: Which) -> URI:
    """The channel of a changeset."""
    end = (
        f"turn/{quote(which.turn_id or '', safe='')}"
        if which.kind is ChangesetKind.TURN
        else which.kind.value
    )
    return f"{_SCHEME}{quote(session_id, safe='')}/{end}"


def address_of(uri: URI) -> Address | None:
    """The changeset that a channel names; `None` when it names none of ours."""
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
    session_id: str,
    *,
    has_git: bool,
    counts: Mapping[Which, Counts] | None = None,
    notes: Mapping[Which, str | None] | None = None,
) -> list[ChangesetSummary]:
    """The catalogue of a session. Outside of a repository nothing can be uncommitted.

    Args:
        session_id: Whose catalogue it is.
        has_git: Whether the working directory is in a repository.
        counts: How much changed, where that is known.
        notes: What else is to be said about a changeset, such as which files were left out.
    """
    catalogue: list[ChangesetSummary] = []
    if has_git:
        catalogue.append(_summary(session_id, UNCOMMITTED, "Uncommitted changes", counts, notes))
    catalogue.append(_summary(session_id, SESSION, "Since the session began", counts, notes))
    template = f"{_SCHEME}{quote(session_id, safe='')}/turn/{{turnId}}"
    catalogue.append(ChangesetSummary(label="In this turn", uri_template=template))
    return catalogue


def _summary(
    session_id: str,
    which: Which,
    label: str,
    counts: Mapping[Which, Counts] | None,
    notes: Mapping[Which, str | None] | None,
) -> ChangesetSummary:
    known = (counts or {}).get(which)
    return ChangesetSummary(
        label=label,
        uri_template=uri_of(session_id, which),
        description=(notes or {}).get(which),
        files=known.files if known else None,
        additions=known.additions if known else None,
        deletions=known.deletions if known else None,
    )
