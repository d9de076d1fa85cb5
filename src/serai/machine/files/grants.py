"""What a person has allowed: to whom, which files, how, and until when.

Nothing here looks at a clock or a disk: the time is given, and a root was resolved when the person was asked
about it. Show them `grant.root.path`, which is where it really is, not the URI that was asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from serai.ahp.commands import ResourceRequestParams
from serai.machine.files.roots import Root, Roots

__all__ = ["Grant", "GrantHolder", "Grants", "wanted"]


@dataclass(frozen=True, slots=True)
class GrantHolder:
    """Who may use a grant: a client, by its id, or a session, by its URI."""

    kind: Literal["client", "session"]
    id: str


@dataclass(frozen=True, slots=True)
class Grant:
    """Leave to read or write below a root until a moment, which no longer counts."""

    holder: GrantHolder
    root: Root
    expires: float
    """On the clock whose time is given to `Grants`."""

    def holds_at(self, now: float) -> bool:
        """Whether it may still be used."""
        return now < self.expires


def wanted(params: ResourceRequestParams) -> Root:
    """What a `resourceRequest` asks for, resolved now. Neither read nor write means read.

    Raises:
        ProtocolError: `PERMISSION_DENIED`: it is no file on this machine.
    """
    writable = bool(params.write)
    return Root.of(params.uri, writable=writable, readable=bool(params.read) or not writable)


class Grants:
    """The grants that there are."""

    def __init__(self, grants: Collection[Grant] = ()) -> None:
        self._grants = list(grants)

    def __iter__(self) -> Iterator[Grant]:
        return iter(tuple(self._grants))

    def add(self, grant: Grant) -> None:
        """Allow something. For the same root and holder, the later one takes the place of the earlier."""
        self._grants = [g for g in self._grants if (g.holder, g.root) != (grant.holder, grant.root)]
        self._grants.append(grant)

    def revoke(self, holder: GrantHolder, root: Root | None = None) -> tuple[Grant, ...]:
        """Take back what someone was allowed, or one root of it. Returns what was taken."""
        taken = tuple(g for g in self._grants if g.holder == holder and root in {None, g.root})
        self._grants = [g for g in self._grants if g not in taken]
        return taken

    def expire(self, now: float) -> tuple[Grant, ...]:
        """Forget what has run out. Returns it, so that it can be told."""
        gone = tuple(g for g in self._grants if not g.holds_at(now))
        self._grants = [g for g in self._grants if g.holds_at(now)]
        return gone

    def next_expiry(self) -> float | None:
        """When the next one runs out; `None` when there is none."""
        return min((g.expires for g in self._grants), default=None)

    def roots(self, holders: Collection[GrantHolder], now: float) -> Roots:
        """What these may use together at a moment: a client, say, and the session that it asks about."""
        return Roots.of(*(g.root for g in self._grants if g.holder in holders and g.holds_at(now)))
