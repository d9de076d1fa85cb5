"""Which session a person means."""

from __future__ import annotations

from collections.abc import Sequence

from serai.ahp.types import URI
from serai.errors import SessionGone

__all__ = ["match_session", "session_id"]


def session_id(uri: URI) -> str:
    """The last part of a session's URI."""
    return uri.rpartition("/")[2]


def match_session(name: str, uris: Sequence[URI]) -> URI:
    """Which of these sessions a person means.

    Raises:
        SessionGone: None of them, or more than one.
    """
    if name.startswith("ahp-session:"):
        return name
    found = [uri for uri in uris if session_id(uri) == name] or [
        uri for uri in uris if name and session_id(uri).startswith(name)
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        raise SessionGone(f"there is no session {name!r}", remedy="`serai sessions` lists them")
    ids = ", ".join(session_id(uri) for uri in found[:5])
    raise SessionGone(f"{len(found)} sessions begin with {name!r}: {ids}", remedy="Write more of the id")
