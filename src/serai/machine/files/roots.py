"""The directories below which files may be read or written. Only resolving a root reads the disk."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace

from serai.ahp.commands import ResourceRequestParams
from serai.uris import path_of


@dataclass(frozen=True, slots=True)
class FileRoot:
    """A directory with all below it, or a single file.

    `path` is a real path: absolute, without links. It is taken as it is and opened without following links,
    so a root whose path has become a link leads nowhere. Make one with `of` when a person or a session
    names it, keep that one, and do not resolve it again: whoever may write below another root could have put
    a link there.
    """

    path: str
    writable: bool = False

    @classmethod
    def of(cls, path: str | os.PathLike[str], *, writable: bool = False) -> FileRoot:
        """Make a root of a path or a `file:` URI, with links resolved now. It need not exist.

        Raises:
            ProtocolError: The URI is not one of a file on this machine.
            ValueError: The path is relative.
        """
        named = os.fspath(path)
        named = os.fspath(path_of(named)) if named[:5].lower() == "file:" else named
        if not named.startswith("/"):
            raise ValueError(f"a root needs an absolute path, not {named!r}")
        return cls(os.path.realpath(named), writable)

    def holds(self, path: str, *, itself: bool = True) -> bool:
        """Tell whether a real path is in the root; `itself` says whether the root's own path counts."""
        if path == self.path:
            return itself
        return path.startswith(self.path if self.path == "/" else f"{self.path}/")


@dataclass(frozen=True, slots=True)
class Roots:
    """All roots that one may use together. Where two overlap, each allows what it allows.

    No root forbids. Paths in a root that may not be used, such as the host's own files, are `closed`. They
    are recognised by their identity, not by their names. So the comparison by name that is done here may fail
    to recognise a path (written in another case, say) and then refuses too much, never too little; a walk
    asks the disk before it takes that for an answer.
    """

    all: tuple[FileRoot, ...] = ()
    closed: tuple[str, ...] = ()
    """Directories that may not be used, nor anything in them."""

    @classmethod
    def of(cls, *roots: FileRoot) -> Roots:
        """Make a set of roots, in an order that does not depend on how they came."""
        return cls(tuple(sorted(set(roots), key=lambda root: (root.path, root.writable))))

    def __or__(self, others: Iterable[FileRoot]) -> Roots:
        """Return these roots and others."""
        return replace(Roots.of(*self.all, *others), closed=self.closed)

    def closing(self, *paths: str | os.PathLike[str]) -> Roots:
        """Return these roots without some directories and all that is in them."""
        return replace(self, closed=(*self.closed, *(os.fspath(path) for path in paths)))

    def allow(self, path: str | os.PathLike[str], *, write: bool = False, itself: bool = True) -> bool:
        """Tell whether a real path may be read or written; `itself` says whether a root's own path may."""
        named = os.fspath(path)
        return any(root.holds(named, itself=itself) and (root.writable or not write) for root in self.all)


def requested_root(params: ResourceRequestParams) -> FileRoot:
    """Return the root that a `resourceRequest` asks for, resolved now. Who may write may read as well.

    Raises:
        ProtocolError: `PERMISSION_DENIED`: it is no file on this machine.
    """
    return FileRoot.of(params.uri, writable=bool(params.write))
