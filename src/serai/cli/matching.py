"""Which session or terminal a person means."""

from __future__ import annotations

from collections.abc import Sequence

from serai.ahp.types import URI
from serai.errors import SessionGone

__all__ = ["match_session", "match_terminal", "session_id"]


def session_id(uri: URI) -> str:
    """The last part of a session's URI, or of a terminal's."""
    return uri.rpartition("/")[2]


def match_session(name: str, uris: Sequence[URI], *, lists: str = "`serai sessions` lists them") -> URI:
    """Which of these sessions a person means. `lists` says where they stand.

    Raises:
        SessionGone: None of them, or more than one.
    """
    return _match("session", name, uris, lists)


def match_terminal(name: str, uris: Sequence[URI]) -> URI:
    """Which of these terminals a person means.

    Raises:
        SessionGone: None of them, or more than one.
    """
    return _match("terminal", name, uris, "`serai terminals` lists them")


def _match(kind: str, name: str, uris: Sequence[URI], lists: str) -> URI:
    if name.startswith(f"ahp-{kind}:"):
        return name
    found = [uri for uri in uris if session_id(uri) == name] or [
        uri for uri in uris if name and session_id(uri).startswith(name)
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        raise SessionGone(f"there is no {kind} {name!r}", remedy=lists)
    ids = ", ".join(session_id(uri) for uri in found[:5])
    raise SessionGone(f"{len(found)} {kind}s begin with {name!r}: {ids}", remedy="Write more of the id")
