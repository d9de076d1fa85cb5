"""Below which directories files may be had, and how. Only resolving a root looks at the disk."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Flag, auto

from serai.ahp.commands import ResourceRequestParams
from serai.uris import path_of


class Access(Flag):
    """What one wants to do with a file."""

    READ = auto()
    WRITE = auto()


@dataclass(frozen=True, slots=True)
class Root:
    """A directory with all below it, or a single file.

    `path` is a real path: absolute, without links. It is taken as it is and opened without following links,
    so a root whose path has become a link leads nowhere. Make one with `of` when a person or a session
    names it, keep that one, and do not resolve it again: whoever may write below another root could have put
    a link there.
    """

    path: str
    writable: bool = False
    readable: bool = True

    @classmethod
    def of(cls, path: str | os.PathLike[str], *, writable: bool = False, readable: bool = True) -> Root:
        """The root at a path, or at a `file:` URI, with links resolved now. It need not exist.

        Raises:
            ProtocolError: It is a URI, and not one of a file on this machine.
            ValueError: The path is relative.
        """
        named = os.fspath(path)
        named = os.fspath(path_of(named)) if named[:5].lower() == "file:" else named
        if not named.startswith("/"):
            raise ValueError(f"a root needs an absolute path, not {named!r}")
        return cls(os.path.realpath(named), writable, readable)

    def allows(self, access: Access) -> bool:
        """Whether files below it may be had that way."""
        return (Access.READ not in access or self.readable) and (Access.WRITE not in access or self.writable)

    def holds(self, path: str, *, itself: bool = True) -> bool:
        """Whether a real path is in it; `itself` says whether the root counts as well."""
        if path == self.path:
            return itself
        return path.startswith(self.path if self.path == "/" else f"{self.path}/")


@dataclass(frozen=True, slots=True)
class Roots:
    """All that may be had at once. Roots add up: where two overlap, each allows what it allows.

    No root forbids. What may not be had although it is in one, such as the host's own files, is `closed`, and
    is recognised by what it is, not by its name. So the comparison by name that is done here may fail to
    recognise a path (written in another case, say) and then refuses too much, never too little; `walk` asks
    the disk before it takes that for an answer.
    """

    all: tuple[Root, ...] = ()
    closed: tuple[str, ...] = ()
    """Directories that may not be had, nor anything in them."""

    @classmethod
    def of(cls, *roots: Root) -> Roots:
        """These roots, each once, in an order that does not depend on how they came."""
        return cls(tuple(sorted(set(roots), key=lambda root: (root.path, root.writable, root.readable))))

    def __or__(self, others: Iterable[Root]) -> Roots:
        """These and others."""
        return replace(Roots.of(*self.all, *others), closed=self.closed)

    def closing(self, *paths: str | os.PathLike[str]) -> Roots:
        """These, but for some directories and all that is in them."""
        return replace(self, closed=(*self.closed, *(os.fspath(path) for path in paths)))

    def allow(self, path: str | os.PathLike[str], access: Access, *, itself: bool = True) -> bool:
        """Whether a real path may be had that way, by name; `itself` says whether a root's own path may."""
        named = os.fspath(path)
        return all(
            any(root.allows(one) and root.holds(named, itself=itself) for root in self.all) for one in access
        )


def wanted(params: ResourceRequestParams) -> Root:
    """What a `resourceRequest` asks for, resolved now. Neither read nor write means read.

    Raises:
        ProtocolError: `PERMISSION_DENIED`: it is no file on this machine.
    """
    writable = bool(params.write)
    return Root.of(params.uri, writable=writable, readable=bool(params.read) or not writable)
