"""The trees that are recorded for a session: what there was when it began, and before and after its turns.

Each is kept by a ref of the private side (`mirror`), so that it is there again when the host starts anew, and
also when the person's repository is gone: then for what is in the private objects alone.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from serai.ahp.errors import AhpErrorCode
from serai.changes.attributes import Attributes, attributes_in, entries_in, is_in_tree, unpack
from serai.changes.diff import diff_to_tree
from serai.changes.git import MAX_BYTES, both
from serai.changes.inodes import take_inodes
from serai.changes.margins import PLAIN, Earlier, Margins
from serai.changes.mirror import Mirror, is_of_same_place
from serai.changes.reaching import Found
from serai.changes.records import UNSEEN, Changes, LeftOut, Side
from serai.changes.scanning import removal, take_entries
from serai.changes.showing import ContentAddress
from serai.changes.writing import share
from serai.errors import GitFailed, GitTimedOut, ProtocolError

__all__ = ["SESSION_BASE", "RecordedTrees", "is_lost", "names_of"]

SESSION_BASE = "session"

_REFS = "refs/bases/"
_MARGINS = "refs/margins/"
_LOST = ("bad object", "bad tree", "unable to read", "not a tree object", "not a valid object")
"""What git says of content that it does not have."""
_LEFT_OUT = msgspec.json.Decoder(tuple[LeftOut, ...])


class RecordedTrees:
    """The trees of one session, by their names.

    Not for several tasks at once: whoever owns it takes turns.

    Args:
        mirror: The private side.
    """

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._trees: dict[str, str] = {}
        self._last: tuple[int, str] | None = None

    async def load(self) -> None:
        """Find those that are there already.

        Raises:
            GitFailed: They cannot be read.
        """
        self._trees = await self._listed(self._mirror.folder)

    async def _listed(self, folder: Path) -> dict[str, str]:
        answer = await self._mirror.run(
            *("for-each-ref", "--format=%(refname) %(objectname)", _REFS, _MARGINS),
            doing="read its bases",
            environment=self._mirror.environment() | {"GIT_DIR": str(folder)},
        )
        pairs = (line.partition(" ") for line in answer.output.decode().splitlines())
        return {ref: tree for ref, _, tree in pairs}

    # -- which there are -----------------------------------------------------------------------------------

    def has(self, name: str) -> bool:
        """Whether a tree of that name is recorded."""
        return _ref(name) in self._trees

    def of(self, name: str) -> str:
        """The tree of that name.

        Raises:
            ProtocolError: There is none.
        """
        tree = self._trees.get(_ref(name))
        if tree is None:
            raise ProtocolError(
                "what there was before this session or turn was not recorded", number=AhpErrorCode.NOT_FOUND
            )
        return tree

    def end_of(self, turn_id: str | None) -> str:
        """What there was after a turn, or what was seen last in it.

        Raises:
            ProtocolError: Neither is known.
        """
        end, seen = (self._trees.get(_ref(f"{name}/{turn_id}")) for name in ("end", "seen"))
        tree = end or seen
        if tree is None:
            raise ProtocolError(
                "the end of this turn was not seen, so it is not known what changed in it",
                number=AhpErrorCode.NOT_FOUND,
            )
        return tree

    # -- keeping -------------------------------------------------------------------------------------------

    def margin_of(self, name: str) -> str | None:
        """What was recorded beside the tree of that name, if anything was (`margins`)."""
        return self._trees.get(_margin(name))

    def margin_beside(self, tree: str) -> str | None:
        """The same for a tree. Several bases may have it; their margins are as good as each other."""
        for ref, recorded in self._trees.items():
            margin = self._trees.get(_MARGINS + ref.removeprefix(_REFS))
            if recorded == tree and ref.startswith(_REFS) and margin is not None:
                return margin
        return None

    async def keep(self, name: str, tree: str, margin: str | None = None) -> None:
        """Record a tree, and what there is beside it.

        Raises:
            GitFailed: There is no such tree, or it could not be recorded.
        """
        wanted = {_ref(name): tree} | ({_margin(name): margin} if margin else {})
        lines = [f"update {ref} {to}" for ref, to in wanted.items() if self._trees.get(ref) != to]
        if margin is None and _margin(name) in self._trees:
            lines.append(f"delete {_margin(name)}")
        if lines:
            data = "".join(f"{line}\n" for line in lines).encode()
            await self._mirror.run("update-ref", "--stdin", doing="record a base", data=data)
            if margin is None:
                self._trees.pop(_margin(name), None)
            self._trees |= wanted

    async def keep_left_out(self, turn_id: str, left_out: Sequence[LeftOut]) -> None:
        """Record what may have changed in a turn and was not looked at, if there is anything.

        Raises:
            GitFailed: It could not be recorded.
        """
        if left_out:
            stored = await self._mirror.run(
                *("hash-object", "-w", "--stdin", "--no-filters"),
                doing="record what was left out",
                data=msgspec.json.encode(left_out),
            )
            await self.keep(f"left/{turn_id}", stored.output.decode().strip())

    async def keep_index(self, name: str, generation: int, margins: Margins | None = None) -> None:
        """Record what the private index has.

        Args:
            name: What it is to be known by.
            generation: Another number whenever the index may have become another.
            margins: What tells what there is beside it; without, that is not recorded.

        Raises:
            GitFailed: That could not be recorded.
        """
        known, self._last = self._last, None
        if known is not None and known[0] != generation:
            known = None
        tree, margin = await both(self._written_unless(known), _margin_by(margins))
        try:
            await self.keep(name, tree, margin)
        except GitFailed:
            if known is None:
                raise
            # The person's repository had that tree already, and has it no longer.
            tree = await self._written()
            await self.keep(name, tree, margin)
        self._last = (generation, tree)

    async def _written_unless(self, known: tuple[int, str] | None) -> str:
        return known[1] if known is not None else await self._written()

    async def _written(self, environment: Mapping[str, str] | None = None) -> str:
        # A partial clone lacks content that nobody looked at; that is no matter here.
        answer = await self._mirror.run(
            "write-tree", "--missing-ok", doing="record what there is", environment=environment
        )
        return answer.output.decode().strip()

    async def stored(self, earlier: Mapping[str, Found | None]) -> Earlier:
        """Store files as they were, or that they were not there.

        Raises:
            GitFailed: They could not be stored.
        """
        repository = self._mirror.repository
        entries: list[bytes] = []
        permissions: dict[str, int] = {}
        paths: set[str] = set()
        for path, found in earlier.items():
            full = repository.full(path)
            paths.add(full)
            if found is None:
                entries.append(removal(repository, full))
                continue
            stored = await self._mirror.run(
                *("hash-object", "-w", "--stdin", "--no-filters"), doing="store a file", data=found.data
            )
            entry = f"{found.mode:o} {stored.output.decode().strip()}\t".encode()
            entries.append(entry + os.fsencode(full) + b"\0")
            if found.permissions is not None:
                permissions[full] = found.permissions
        return Earlier(tuple(entries), permissions, frozenset(paths))

    async def written_with(self, earlier: Earlier) -> str:
        """The tree of what the private index has, but with some files as they were, or not there.

        Raises:
            GitFailed: It could not be written.
        """
        async with self._mirror.copied_index() as index:
            environment = self._mirror.environment(index)
            await self._mirror.run(
                *("update-index", "--add", "--replace", "-z", "--index-info"),
                doing="record what there was",
                data=b"".join(earlier.entries),
                environment=environment,
            )
            return await self._written(environment)

    async def written_also(self, paths: Iterable[str]) -> str:
        """The tree of what the private index has, and of further files as they are now.

        Raises:
            GitFailed: It could not be written.
        """
        async with self._mirror.copied_index() as index:
            environment = self._mirror.environment(index)
            full = [self._mirror.repository.full(path) for path in paths]
            await take_entries(self._mirror, full, environment)
            return await self._written(environment)

    async def drop(self, *names: str) -> bool:
        """Keep trees no longer. Says whether there were any.

        Raises:
            GitFailed: They could not be dropped.
        """
        refs = [ref for name in names for ref in (_ref(name), _margin(name)) if ref in self._trees]
        if refs:
            lines = "".join(f"delete {ref}\n" for ref in refs)
            await self._mirror.run("update-ref", "--stdin", doing="drop a base", data=lines.encode())
            for ref in refs:
                del self._trees[ref]
        return bool(refs)

    async def adopt(self, folder: Path, turn_ids: Iterable[str]) -> None:
        """Take over what is recorded of turns in another private side, if it is of the same place.

        What is taken over does not need the other one any more.

        Raises:
            GitFailed: That could not be read, or not be recorded.
        """
        if not await asyncio.to_thread(is_of_same_place, folder, self._mirror.folder):
            return
        theirs = await self._listed(folder)
        names = [name for turn_id in turn_ids for name in names_of(turn_id)]
        wanted = [ref for name in names for ref in (_ref(name), _margin(name)) if ref in theirs]
        if not wanted:
            return
        await asyncio.to_thread(_link_objects, folder / "objects", self._mirror.folder / "objects")
        await asyncio.to_thread(take_inodes, self._mirror, folder)
        found = await self._mirror.run(
            *("cat-file", "--batch-check=%(objectname)"),
            doing="look for bases",
            data="".join(f"{theirs[ref]}\n" for ref in wanted).encode(),
        )
        there = set(found.output.decode().splitlines())  # one that is missing has another word behind it
        taken = {ref: theirs[ref] for ref in wanted if theirs[ref] in there}
        lines = "".join(f"update {ref} {tree}\n" for ref, tree in taken.items())
        await self._mirror.run("update-ref", "--stdin", doing="record bases", data=lines.encode())
        self._trees |= taken

    # -- what they say -------------------------------------------------------------------------------------

    async def in_turn(self, turn_id: str | None) -> Changes:
        """What changed in a turn that is over.

        Raises:
            ProtocolError: That is not recorded.
            GitFailed: Something that is needed to tell is no longer there.
        """
        start, end = self.of(f"turn/{turn_id}"), self.end_of(turn_id)
        changes = await diff_to_tree(self._mirror, start, end)
        lacks = None if self.has(f"end/{turn_id}") else UNSEEN
        left_out = await self._left_out(f"left/{turn_id}")
        return Changes(changes, left_out, settled=True, lacks=lacks, start=start, end=end)

    async def _left_out(self, name: str) -> tuple[LeftOut, ...]:
        if not self.has(name):
            return ()
        kept = await self._mirror.run("cat-file", "blob", self.of(name), doing="read what was left out")
        return _LEFT_OUT.decode(kept.output)

    async def read(self, address: ContentAddress, head: str | None = None) -> bytes:
        """Content of a file, in the form that it had in its tree, or would have in the work tree.

        Args:
            address: The content. If it does not say which tree it is from,
            head: this one is meant, should it be from there.

        Raises:
            GitFailed: It is not there, or no longer.
        """
        full = self._mirror.repository.full(address.path)
        plain = await self._plain(address, full)
        if plain is not None:
            answer = await self._mirror.run("cat-file", "blob", plain, doing="read earlier content")
            return answer.output
        with self._mirror.scratch("read") as name:
            folder = Path(name)
            attributes = await self._attributes(address, full, head, folder / "lists")
            if attributes.is_earlier:
                side = {full: Side(full, address.content)}
                files = folder / "files"
                await unpack(self._mirror, attributes, side, index=folder / "index", files=files)
                return await asyncio.to_thread(_read, files / full)
        answer = await self._mirror.run(
            *("cat-file", "--filters", f"--path={full}", address.content),
            doing="read earlier content",
            environment=self._mirror.reading_environment(),
        )
        return answer.output

    async def _plain(self, address: ContentAddress, full: str) -> str | None:
        """The content with the very bytes that the file had in its tree, if that is kept."""
        margin = self.margin_beside(address.tree) if address.tree else None
        if margin is None or address.tree is None:
            return None
        try:
            found = (await entries_in(self._mirror, f"{margin}:{PLAIN}", [full])).get(full)
            is_meant = found and await is_in_tree(self._mirror, address.tree, full, address.content)
        except GitTimedOut:
            raise
        except GitFailed:
            return None  # it is gone; the content may be there all the same
        return found[1] if found and is_meant else None

    async def _attributes(
        self, address: ContentAddress, full: str, head: str | None, folder: Path
    ) -> Attributes:
        tree = address.tree
        try:
            if tree is None and head and await is_in_tree(self._mirror, head, full, address.content):
                tree = head
            if tree is not None:
                return await attributes_in(self._mirror, tree, [full], folder)
        except GitTimedOut:
            raise
        except GitFailed:
            pass  # the tree is gone; the content may be there all the same
        return Attributes(self._mirror.repository.top)


def names_of(turn_id: str) -> tuple[str, ...]:
    """The names of all that is recorded of a turn.

    That is: from before it, from after it, as it was seen last, and what was left out.
    """
    return f"turn/{turn_id}", f"end/{turn_id}", f"seen/{turn_id}", f"left/{turn_id}"


def is_lost(error: GitFailed) -> bool:
    """Whether a command failed since git does not have something any more."""
    return any(words in error.words for words in _LOST)


def _ref(name: str) -> str:
    # Turn ids may have letters that a ref cannot have.
    return f"{_REFS}{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _margin(name: str) -> str:
    return _MARGINS + _ref(name).removeprefix(_REFS)


async def _margin_by(margins: Margins | None) -> str | None:
    return await margins.written() if margins is not None else None


def _read(file: Path) -> bytes:
    with file.open("rb") as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise GitFailed(f"there is more than {MAX_BYTES >> 20} MB of this content")
    return data


def _link_objects(source: Path, target: Path) -> None:
    """Have all objects of another private side here too. Nobody ever changes an object, or packs ours."""
    for found in source.glob("??/*"):
        share(found, target / found.parent.name / found.name)
