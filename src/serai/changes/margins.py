"""What a base has beside its tree: what else was there, which no tree tells.

A tree has what git saw. What git did not see was there all the same: ignored files, those that were too large
or too many, repositories within this one, empty folders (`unseen`). Should git see it later, it would look
new. So each base has a *margin*: the names of all that was there and is not in its tree, and what these files
are known by when they are renamed (`moved`). Nobody deletes what is named there. Of folders with very many
ignored files it has the lists that say what is ignored, as they were.

Beside that it has which files were other than the tree has them, the permissions of files where these are
unusual, and the bytes of those that git had to convert (`plain`). A base from before there were margins has
none: then nothing is known to be new.

A margin is a tree of the private side, kept by a ref as the base is. In it, `margin` has the names, `plain`
the bytes, and the name of a third entry says when it was made.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from serai.changes.attributes import lists_for
from serai.changes.drafts import NOT_DRAFTS
from serai.changes.git import both
from serai.changes.inodes import keep_inodes, short
from serai.changes.mirror import Mirror
from serai.changes.moved import Moment, identity_of
from serai.changes.permissions import Permissions
from serai.changes.plain import Plain
from serai.changes.reaching import read_file
from serai.changes.records import LINK_MODE
from serai.changes.scanning import Scanner
from serai.changes.unseen import above, look
from serai.errors import FileInTheWay, GitFailed, GitTimedOut

__all__ = ["IGNORE_LIST", "PLAIN", "Earlier", "Margin", "Margins"]

_NAMES, PLAIN, _AT = "margin", "plain", "at-"
IGNORE_LIST = ".gitignore"
_MOST_LISTS, _MAX_LIST = 1000, 4 << 20
"""So many lists of ignored files are kept; one that is larger counts as none."""
_MOST_TAKEN = 5000
"""Of so many files that the person's index has not, or otherwise, the numbers are kept."""


class Margin(msgspec.Struct, frozen=True, array_like=True):
    """What was there beside a tree. All paths are from the root of the work tree, as bytes."""

    others: frozenset[bytes] = frozenset()
    """Files that are not in the tree, and folders, with a slash behind, in which anything may have been."""
    empty: frozenset[bytes] = frozenset()
    """Folders in which nothing was."""
    stale: frozenset[bytes] = frozenset()
    """Files that were other than in the tree."""
    permissions: dict[bytes, int] = {}
    """Of files whose permissions were not the usual ones."""
    usual: int = 0o755
    """The permissions that a new file had then, if it was one to be run."""
    vague: frozenset[bytes] = frozenset()
    """Folders, with a slash behind, in which anything may have been that was ignored."""
    lists: dict[bytes, bytes] = {}
    """The lists of ignored files on the way there, by their paths; the first has the person's own, too."""
    identities: frozenset[int] = frozenset()
    """What the files are known by that are named here (`moved`)."""
    noted: frozenset[bytes] = frozenset()
    """Files that had changed since the base when this was recorded; what they were was known."""
    shut: dict[bytes, int] = {}
    """The permissions of folders that fewer may enter or read than is usual."""
    inodes: frozenset[int] = frozenset()
    """The numbers, in short, of files in the tree that the person's index had not, or otherwise."""

    def encoded(self) -> bytes:
        """As it is kept: the same margin has the same bytes."""
        names = (sorted(self.others), sorted(self.empty), sorted(self.stale))
        permissions, lists, shut = (
            dict(sorted(one.items())) for one in (self.permissions, self.lists, self.shut)
        )
        vague, identities, noted = sorted(self.vague), sorted(self.identities), sorted(self.noted)
        return msgspec.msgpack.encode(
            (*names, permissions, self.usual, vague, lists, identities, noted, shut, sorted(self.inodes))
        )

    def names(self, path: str) -> bool:
        """Whether a file that is not in the tree was at a path."""
        return os.fsencode(path) in self.others

    def had(self, path: str) -> bool:
        """Whether something that is not in the tree was, or may have been, at a path."""
        return self.names(path) or _is_in(self.others, path)

    def may_have_had(self, path: str) -> bool:
        """Whether something may have been at a path, if it was ignored."""
        return _is_in(self.vague, path)

    def folders(self) -> Callable[[str], bool]:
        """What says of a path whether a folder was there, or may have been, without any file of the tree."""
        there = {folder for names in (self.others, self.empty) for name in names for folder in above(name)}
        there |= {folder for name in self.vague for folder in (name.rstrip(b"/"), *above(name))}
        there |= self.empty
        return lambda path: (
            os.fsencode(path) in there or self.had(f"{path}/x") or self.may_have_had(f"{path}/x")
        )

    def is_stale(self, path: str) -> bool:
        """Whether a file was other than in the tree."""
        return os.fsencode(path) in self.stale

    def knows_permissions_of(self, path: str) -> bool:
        """Whether the permissions of a file were unusual."""
        return os.fsencode(path) in self.permissions

    def permissions_of(self, path: str, mode: int) -> int:
        """The permissions that a file had.

        Args:
            path: The file.
            mode: Its mode, in git's words.
        """
        usual = self.usual if mode & 0o111 else self.usual & 0o666
        return self.permissions.get(os.fsencode(path), usual)

    def permissions_of_folder(self, path: str) -> int | None:
        """The permissions that a folder had, if they were unusual."""
        return self.shut.get(os.fsencode(path))


def _is_in(folders: frozenset[bytes], path: str) -> bool:
    return bool(folders) and any(folder + b"/" in folders for folder in above(os.fsencode(path)))


@dataclass(frozen=True, slots=True)
class Earlier:
    """Files that were otherwise when the session began than they are now, when that is recorded."""

    entries: tuple[bytes, ...] = ()
    """What they were, as `update-index --index-info` takes it."""
    permissions: Mapping[str, int] = field(default_factory=dict[str, int])
    """Those that they had, as far as they are known; by paths from the root of the work tree."""
    paths: frozenset[str] = frozenset()
    """All of them, also those that were not there."""


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
        self._permissions = Permissions(mirror)
        self._plain_tree: str | None = None
        self._last: tuple[bytes, str] | None = None

    def forget(self) -> None:
        """What was stored, and is part of no base, may be gone."""
        self._renewal = -1
        self._last = None

    async def written(self, earlier: Earlier | None = None) -> str | None:
        """The margin of the private index, which has just been brought up to date, as a tree.

        It is `None` when it cannot be told, for instance because there is too much of it.

        Args:
            earlier: The files that are not in the base as they are now.

        Raises:
            GitTimedOut: git takes too long.
        """
        try:
            return await self._written(earlier or Earlier())
        except GitTimedOut:
            raise
        except (GitFailed, OSError):
            self.forget()
        try:
            return await self._written(earlier or Earlier())
        except GitTimedOut:
            raise
        except (GitFailed, OSError):
            self.forget()
            return None

    async def read(self, tree: str) -> tuple[Margin, Moment | None] | None:
        """A margin that was written, and when; `None` when it is not there any more, or of another make."""
        try:
            found, entries = await both(
                self._mirror.run("cat-file", "blob", f"{tree}:{_NAMES}", doing="read what was there"),
                self._mirror.run("ls-tree", "--name-only", tree, doing="read what was there"),
            )
            margin = msgspec.msgpack.decode(found.output, type=Margin)
        except GitTimedOut:
            raise
        except (GitFailed, msgspec.DecodeError):
            return None
        times = [name[len(_AT) :] for name in entries.output.decode().split() if name.startswith(_AT)]
        return margin, Moment(int(times[0])) if times else None

    async def _written(self, earlier: Earlier) -> str:
        listed, plain = await both(self._listed(), self._stored())
        at = time.time_ns()
        if earlier.entries:
            plain = await self.plain.tree(earlier.entries)
        data = (await asyncio.to_thread(self._margin, listed, earlier)).encoded()
        await asyncio.to_thread(keep_inodes, self._mirror, at)
        if self._last is None or self._last[0] != data:
            self._last = None
            stored = await self._mirror.run(
                *("hash-object", "-w", "--stdin", "--no-filters"),
                doing="record what else there is",
                data=data,
            )
            self._last = (data, stored.output.decode().strip())
        blob = f"100644 blob {self._last[1]}\t"
        entries = f"{blob}{_AT}{at}\n{blob}{_NAMES}\n040000 tree {plain}\t{PLAIN}\n"
        answer = await self._mirror.run("mktree", doing="record what else there is", data=entries.encode())
        return answer.output.decode().strip()

    async def _stored(self) -> str:
        """The bytes of files, as a tree; and which files git was told not to look at."""
        scanner = self._scanner
        retaken, scanner.retaken = scanner.retaken, set()
        if scanner.renewals != self._renewal:
            self._renewal, self._plain_tree = -1, None
            await self.plain.begin()
            await self._look_at_known()
            retaken = set(scanner.taken)
            self._renewal = scanner.renewals
        elif not self._permissions.are_changes:
            await self._look_at_known()
        if retaken or self._plain_tree is None:
            self._plain_tree = None
            there = scanner.taken.keys() & retaken
            self._permissions.add(there)
            # First these: there may be a folder, or a link, in their place.
            await self.plain.drop(sorted(retaken - there))
            await self.plain.store(sorted(there))
            self._plain_tree = await self.plain.tree()
        return self._plain_tree

    async def _look_at_known(self) -> None:
        """See which of the files that are as in the index git was told not to look at, or are private."""
        answer = await self._mirror.run(
            *("ls-files", "-v", "-z", *self._mirror.scope), doing="see which files it is not to look at"
        )
        lines = answer.output.split(b"\0")[:-1]
        # `S`, or a small letter: the person's `update-index --skip-worktree` or `--assume-unchanged`.
        self._flagged = [os.fsdecode(line[2:]) for line in lines if line[:1] == b"S" or line[:1].islower()]
        await asyncio.to_thread(self._permissions.look_at, [line[2:] for line in lines])

    async def _listed(self) -> list[bytes]:
        answer = await self._mirror.run(
            *("ls-files", "--others", "--directory", *NOT_DRAFTS, "-z", *self._mirror.scope),
            doing="look for other files",
        )
        return answer.output.split(b"\0")[:-1]

    def _margin(self, listed: list[bytes], earlier: Earlier) -> Margin:
        top = os.fsencode(self._mirror.repository.top)
        unseen = look(top, listed, self._scanner.left_out, self._mirror.closed.identities())
        stale = {os.fsencode(path) for path in (*self._scanner.stale, *_there(top, self._flagged))}
        known = (identity_of(top + b"/" + name) for name in (*unseen.files, *stale))
        taken = itertools.islice(self._scanner.taken, _MOST_TAKEN)
        recorded = (identity_of(top + b"/" + os.fsencode(name)) for name in taken)
        usual = self._permissions.usual()
        looks = self._permissions.files, self._scanner.taken
        first, last = looks if self._permissions.are_changes else looks[::-1]  # the last is newer
        permissions = {**first, **last, **earlier.permissions}
        return Margin(
            frozenset(unseen.files | unseen.shut),
            frozenset(unseen.empty),
            frozenset(stale),
            {
                os.fsencode(path): found
                for path, found in permissions.items()
                if not self._permissions.are_usual(found, usual)
            },
            usual,
            frozenset(unseen.vague),
            self._lists(unseen.vague),
            frozenset(one for one in known if one is not None),
            frozenset(map(os.fsencode, earlier.paths)),
            self._permissions.of_folders(usual),
            frozenset(short(one) for one in recorded if one is not None),
        )

    def _lists(self, folders: set[bytes]) -> dict[bytes, bytes]:
        """The lists of ignored files on the way into folders."""
        if not folders:
            return {}
        names = lists_for((os.fsdecode(folder + b"x").lstrip("/") for folder in folders), IGNORE_LIST)
        lists: dict[bytes, bytes] = {}
        for name in sorted(names, key=lambda name: (name.count("/"), name))[:_MOST_LISTS]:
            try:
                found = read_file(self._mirror.repository.top, name, _MAX_LIST, self._mirror.closed)
            except FileInTheWay:
                continue
            if found is not None and found.mode != LINK_MODE:
                lists[os.fsencode(name)] = found.data
        # What the person's own lists say, all others may overrule.
        first = os.fsencode(IGNORE_LIST)
        own = (self._mirror.settings.carried.get("core.excludesfile"), self._mirror.folder / "info/exclude")
        lists[first] = b"\n".join((*(_read(Path(place)) for place in own if place), lists.get(first, b"")))
        return lists


def _read(list_of_ignored: Path) -> bytes:
    try:
        is_meant = list_of_ignored.is_file() and list_of_ignored.stat().st_size <= _MAX_LIST
        return list_of_ignored.read_bytes() if is_meant else b""
    except OSError:
        return b""


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
