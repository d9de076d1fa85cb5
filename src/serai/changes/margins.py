"""What a base has beside its tree: what else was there, which no tree tells.

A tree has what git saw. What git did not see was there all the same: ignored files, those that were too large
or too many, repositories within this one, empty folders. Should git see it later, it would look new. So each
base has a *margin*: the names of all that was there and is not in its tree. Nobody deletes what is named
there. git lists it in one go: all that is not in the private index, with folders of which nothing is in it
by their names alone. Small folders are looked into, so that what is made in one later can be told from what
was there; of large ones it is only known that anything may have been in them.

Beside that it has which files were other than the tree has them, their permissions where these are unusual,
and their bytes (`plain`). A base from before there were margins has none: then nothing is known to be new.

A margin is a tree of the private side, kept by a ref as the base is. In it, `margin` has the names, and
`plain` the bytes.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable, Iterable, Iterator

import msgspec

from serai.changes.closed import Identity, identity
from serai.changes.git import both
from serai.changes.mirror import Mirror
from serai.changes.plain import Plain
from serai.changes.scanning import Scanner
from serai.errors import GitFailed, GitTimedOut

__all__ = ["PLAIN", "Margin", "Margins"]

_NAMES, PLAIN = "margin", "plain"
_MOST_NAMES = 20_000
"""Of so many names each is kept; of more only the folders that they are in."""
_MOST_EACH, _MOST_IN_ALL = 500, 5_000
"""So much is looked at in one folder that git does not look into, and in all of them."""


class Margin(msgspec.Struct, frozen=True, array_like=True):
    """What was there beside a tree. All paths are from the root of the work tree, as bytes."""

    others: frozenset[bytes] = frozenset()
    """Files that are not in the tree, and folders, with a slash behind, in which anything may have been."""
    empty: frozenset[bytes] = frozenset()
    """Folders in which nothing was."""
    stale: frozenset[bytes] = frozenset()
    """Files that were other than in the tree."""
    permissions: dict[bytes, int] = {}
    """Of files whose bytes are kept, where they were not the usual ones."""
    usual: int = 0o755
    """The permissions that a new file had then, if it was one to be run."""

    def encoded(self) -> bytes:
        """As it is kept: the same margin has the same bytes."""
        names = (sorted(self.others), sorted(self.empty), sorted(self.stale))
        return msgspec.msgpack.encode((*names, dict(sorted(self.permissions.items())), self.usual))

    def had(self, path: str) -> bool:
        """Whether something that is not in the tree was, or may have been, at a path."""
        name = os.fsencode(path)
        return name in self.others or any(folder + b"/" in self.others for folder in _above(name))

    def folders(self) -> Callable[[str], bool]:
        """What says of a path whether a folder was there, or may have been, without any file of the tree."""
        there = {folder for names in (self.others, self.empty) for name in names for folder in _above(name)}
        there |= self.empty
        return lambda path: os.fsencode(path) in there or self.had(f"{path}/x")

    def is_stale(self, path: str) -> bool:
        """Whether a file was other than in the tree."""
        return os.fsencode(path) in self.stale

    def permissions_of(self, path: str, mode: int) -> int:
        """The permissions that a file had whose bytes are kept.

        Args:
            path: The file.
            mode: Its mode, in git's words.
        """
        usual = self.usual if mode & 0o111 else self.usual & 0o666
        return self.permissions.get(os.fsencode(path), usual)


def _above(name: bytes) -> list[bytes]:
    """The folders that a path is in, up to the root, which has no name."""
    found: list[bytes] = []
    name = name.rstrip(b"/")
    while name:
        name = name.rpartition(b"/")[0]
        found.append(name)
    return found


class Margins:
    """Makes the margins of bases.

    Not for several tasks at once: whoever owns it takes turns.

    Args:
        mirror: The private side.
        scanner: What keeps its index up to date.
    """

    def __init__(self, mirror: Mirror, scanner: Scanner) -> None:
        self.plain = Plain(mirror)
        self._mirror = mirror
        self._scanner = scanner
        self._renewal = -1
        self._flagged: list[str] = []
        self._plain_tree: str | None = None
        self._last: tuple[bytes, str, str] | None = None

    def forget(self) -> None:
        """What was stored, and is part of no base, may be gone."""
        self._renewal = -1
        self._last = None

    async def written(self) -> str | None:
        """The margin of the private index, which has just been brought up to date, as a tree.

        It is `None` when it cannot be told, for instance because there is too much of it.

        Raises:
            GitTimedOut: git takes too long.
        """
        try:
            listed, plain = await both(self._listed(), self._stored())
            data = (await asyncio.to_thread(self._margin, listed)).encoded()
            if self._last is None or self._last[:2] != (data, plain):
                self._last = (data, plain, await self._put_together(data, plain))
            return self._last[2]
        except GitTimedOut:
            raise
        except (GitFailed, OSError):
            self.forget()
            return None

    async def read(self, tree: str) -> Margin | None:
        """A margin that was written; `None` when it is not there any more, or of another make."""
        try:
            found = await self._mirror.run(
                "cat-file", "blob", f"{tree}:{_NAMES}", doing="read what was there"
            )
            return msgspec.msgpack.decode(found.output, type=Margin)
        except GitTimedOut:
            raise
        except (GitFailed, msgspec.DecodeError):
            return None

    async def _put_together(self, names: bytes, plain: str) -> str:
        stored = await self._mirror.run(
            *("hash-object", "-w", "--stdin", "--no-filters"), doing="record what else there is", data=names
        )
        entries = f"100644 blob {stored.output.decode().strip()}\t{_NAMES}\n040000 tree {plain}\t{PLAIN}\n"
        answer = await self._mirror.run("mktree", doing="record what else there is", data=entries.encode())
        return answer.output.decode().strip()

    async def _stored(self) -> str:
        """The bytes of files, as a tree; and which files git was told not to look at."""
        scanner = self._scanner
        retaken, scanner.retaken = scanner.retaken, set()
        if scanner.renewals != self._renewal:
            self._renewal, self._plain_tree = -1, None
            await self.plain.begin()
            self._flagged = await self._found_flagged()
            retaken = set(scanner.taken)
            self._renewal = scanner.renewals
        if retaken or self._plain_tree is None:
            self._plain_tree = None
            if retaken:
                await self.plain.store(sorted(retaken))
            self._plain_tree = await self.plain.tree()
        return self._plain_tree

    async def _found_flagged(self) -> list[str]:
        answer = await self._mirror.run(
            *("ls-files", "-v", "-z", *self._mirror.scope), doing="see which files it is not to look at"
        )
        lines = answer.output.split(b"\0")[:-1]
        # `S`, or a small letter: the person's `update-index --skip-worktree` or `--assume-unchanged`.
        return [os.fsdecode(line[2:]) for line in lines if line[:1] == b"S" or line[:1].islower()]

    async def _listed(self) -> list[bytes]:
        answer = await self._mirror.run(
            *("ls-files", "--others", "--directory", "-z", *self._mirror.scope), doing="look for other files"
        )
        return answer.output.split(b"\0")[:-1]

    def _margin(self, listed: list[bytes]) -> Margin:
        top = os.fsencode(self._mirror.repository.top)
        others: set[bytes] = set()
        empty: set[bytes] = set()
        own = self._mirror.closed.identities()
        budget = _MOST_IN_ALL
        for name in listed:
            inside = _Inside(top, own, min(_MOST_EACH, budget))
            if name.endswith(b"/") and inside.look(name.rstrip(b"/")):
                others |= inside.files
                empty |= inside.empty
            else:
                others.add(name)
            budget -= inside.seen
        usual = self._usual()
        return Margin(
            _fewer(others),
            frozenset(sorted(empty)[:_MOST_NAMES]),
            frozenset(os.fsencode(path) for path in (*self._scanner.stale, *_there(top, self._flagged))),
            {
                os.fsencode(path): permissions
                for path, permissions in self._scanner.taken.items()
                if permissions not in {0, usual, usual & 0o666}
            },
            usual,
        )

    def _usual(self) -> int:
        """What the process gives a new file; there is no way to ask for that."""
        place = self._mirror.folder / f"new-{secrets.token_hex(4)}"
        descriptor = os.open(place, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o777)
        try:
            return os.fstat(descriptor).st_mode & 0o777
        finally:
            os.close(descriptor)
            place.unlink()


class _Inside:
    """What is in a folder that git does not look into.

    Args:
        top: The root of the work tree.
        own: What is the host's own. It is passed by.
        most: So much is looked at.
    """

    def __init__(self, top: bytes, own: frozenset[Identity], most: int) -> None:
        self._top = top
        self._own = own
        self._most = most
        self.seen = 0
        self.files: set[bytes] = set()
        self.empty: set[bytes] = set()

    def look(self, folder: bytes) -> bool:
        """Look into a folder. Says whether all was seen."""
        is_empty = True
        try:
            with os.scandir(self._top + b"/" + folder) as entries:
                for entry in entries:
                    is_empty = False
                    self.seen += 1
                    if self.seen > self._most or entry.name == b".git":
                        return False
                    path = folder + b"/" + entry.name
                    if not entry.is_dir(follow_symlinks=False):
                        self.files.add(path)
                    elif not self._is_own(path) and not self.look(path):
                        return False
        except OSError:
            return False
        if is_empty:
            self.empty.add(folder)
        return True

    def _is_own(self, path: bytes) -> bool:
        return bool(self._own) and identity(os.fsdecode(self._top + b"/" + path)) in self._own


def _fewer(names: set[bytes]) -> frozenset[bytes]:
    """Names, or where there are too many, the folders that the innermost of them are in."""
    while len(names) > _MOST_NAMES and names != {b"/"}:
        depth = max(name.rstrip(b"/").count(b"/") for name in names)
        names = {
            name if name.rstrip(b"/").count(b"/") < depth else name.rstrip(b"/").rpartition(b"/")[0] + b"/"
            for name in names
        }
    return frozenset(names)


def _there(top: bytes, paths: Iterable[str]) -> Iterator[str]:
    """Those of the files that are there. In a sparse checkout, most folders are not."""
    known: dict[bytes, bool] = {}
    for path in paths:
        place = top + b"/" + os.fsencode(path)
        folder = place.rpartition(b"/")[0]
        if folder not in known:
            known[folder] = os.path.isdir(folder)  # noqa: PTH112 - bytes, not a Path
        if known[folder] and os.path.lexists(place):
            yield path
