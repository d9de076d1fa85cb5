"""The private git directory of a session: records a folder as trees, byte for byte, and checks files out.

The person's folder is its work tree and the person's objects are its alternates; index, refs, settings and
new objects are private. An attribute switches every conversion off, so that a recorded file has the bytes
that it has on the disk, and comes back with them. Of the settings of the person and of the folder, only those
about ignored files count.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import stat
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from serai.changes.diff import DIFF_TREE, Change, Side, parse
from serai.changes.git import Answer, Git, TooMuchOutput
from serai.changes.repository import EMPTY_TREES, IndexFacts, Repository, listed
from serai.config.private import write_private
from serai.errors import FolderTooLarge, GitFailed, GitTimedOut

MAX_FILES = 100_000
"""Most files in a folder whose changes are recorded."""
MAX_BYTES = 2 << 30
"""Most bytes in the files of such a folder."""
MAX_FILE_BYTES = 50 << 20
"""Largest recorded file, in bytes."""

_MAX_LISTED = 32 << 20
_PRIVATE = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_ATTR_NOSYSTEM": "1"}
_BYTE_FOR_BYTE = "* -text -eol -ident -filter -working-tree-encoding\n"
_WITHOUT_PROGRAMS = "* -filter\n"
_CONVERSIONS = ("core.autocrlf", "core.eol", "core.attributesfile")
_DRAFTS = ".serai-*.tmp\n"
"""Pattern for drafts of the host."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A record of a folder."""

    tree: str
    left_out: tuple[str, ...]
    """Files that were left out, since they are too large or unreadable."""


class FolderRecorder:
    """Records one folder, for one session. Its methods must not run at the same time: the caller has a lock.

    Args:
        git: The git to use.
        folder: The private directory, which is made if need be.
        directory: The folder to record, without any link.
        repository: The repository that it is in, if any.
        settings: The settings of the person that are obeyed (`read_settings`).
        home: The host's own folder, without any link, which is never recorded.
    """

    def __init__(
        self,
        git: Git,
        folder: Path,
        directory: str,
        *,
        repository: Repository | None,
        settings: Mapping[str, str],
        home: Path,
    ) -> None:
        self.bases: dict[str, str] = {}
        """Kept trees, by name."""
        self.folder = folder
        self._git = git
        self._directory = directory
        self._repository = repository
        self._settings = settings
        self._top = repository.top if repository else directory
        self._prefix = repository.prefix if repository else ""
        self._format = repository.object_format if repository else "sha1"
        self._home = home
        self._facts = IndexFacts()
        self._too_large: FolderTooLarge | None = None
        self._tree: str | None = None
        """Tree of the index; `None` when the index has changed since."""

    @property
    def empty_tree(self) -> str:
        """Id of the empty tree."""
        return EMPTY_TREES[self._format]

    async def open(self) -> bool:
        """Make the private directory, or open an existing one. Returns whether the repository is the same.

        Raises:
            GitFailed: It cannot be made, or is broken.
        """
        await self._init("git", _BYTE_FOR_BYTE)
        is_same = await asyncio.to_thread(self._note_repository)
        with contextlib.suppress(OSError, ValueError):
            self.bases = json.loads(await asyncio.to_thread((self.folder / "bases.json").read_text))
        return is_same

    async def _init(self, name: str, attributes: str) -> None:
        place = self.folder / name
        if not await asyncio.to_thread((place / "info/attributes").exists):
            await asyncio.to_thread(_make_private, self.folder)
            await self._git.run(
                *("init", "-q", "--bare", "--template=", "--shared=0600"),
                f"--object-format={self._format}",
                doing="make a directory for what it records",
                folder=str(self.folder),
                environment={**_PRIVATE, "GIT_DIR": str(place)},
            )
            await asyncio.to_thread(_write, place / "info/attributes", attributes)
        store = Path(self._repository.common_dir, "objects") if self._repository else None
        alternates = f"{store}\n" if store and "\n" not in str(store) else ""
        await asyncio.to_thread(_write, place / "objects/info/alternates", alternates)

    def _note_repository(self) -> bool:
        """Drop the index when the repository is another one: what it names may be gone with the old one."""
        note = self.folder / "repository"
        now = f"{self._top}\n{self._repository.common_dir if self._repository else ''}"
        if note.exists() and note.read_text("utf-8", "surrogateescape") == now:
            return True
        (self.folder / "git/index").unlink(missing_ok=True)
        _write(note, now)
        return False

    async def _run(
        self,
        *arguments: str,
        doing: str,
        data: bytes = b"",
        name: str = "git",
        index: Path | None = None,
        accept: tuple[int, ...] = (0,),
        max_bytes: int = 64 << 20,
        variables: Mapping[str, str] | None = None,
    ) -> Answer:
        place = self.folder / name
        obeyed = _CONVERSIONS if name == "converted" else ("core.excludesfile",)
        settings = [f"{key}={value}" for key, value in self._settings.items() if key in obeyed]
        return await self._git.run(
            *(word for setting in settings for word in ("-c", setting)),
            *arguments,
            doing=doing,
            folder=self._directory,
            environment={
                **_PRIVATE,
                "GIT_DIR": str(place),
                "GIT_WORK_TREE": self._top,
                "GIT_INDEX_FILE": str(index or place / "index"),
                **(variables or {}),
            },
            data=data,
            accept=accept,
            max_bytes=max_bytes,
        )

    # -- recording -----------------------------------------------------------------------------------------

    async def record(self) -> Recorded:
        """Record the folder as it is now.

        Raises:
            FolderTooLarge: It has too many files, or too many bytes in them.
            GitFailed: It cannot be read.
        """
        left_out = await self._scan()
        try:
            self._tree = self._tree or await self._write_tree()
        except GitFailed:  # the repository may have deleted objects that the index names
            await asyncio.to_thread((self.folder / "git/index").unlink, missing_ok=True)
            left_out = await self._scan()
            self._tree = await self._write_tree()
        return Recorded(self._tree, left_out)

    async def _scan(self) -> tuple[str, ...]:
        """Bring the private index up to date. Returns the files that were left out."""
        if self._too_large is not None:
            raise self._too_large
        await asyncio.to_thread(self._note_ignored)
        try:
            answer = await self._run(
                *("ls-files", "-z", "-m", "-o", "--exclude-standard"),
                doing="list the files",
                max_bytes=_MAX_LISTED,
            )
        except (TooMuchOutput, GitTimedOut):
            raise self._is_too_large() from None
        names = dict.fromkeys(answer.names)
        names |= dict.fromkeys(await self._newly_forced())
        if len(names) > MAX_FILES:
            raise self._is_too_large()
        there, gone, left_out, size = await asyncio.to_thread(self._sort, names)
        if size > MAX_BYTES:
            raise self._is_too_large()
        if gone or there:
            self._tree = None
        if gone:
            await self._run(
                *("update-index", "--force-remove", "-z", "--stdin"), doing="record the files", data=gone
            )
        if there:
            await self._run(
                *("update-index", "--add", "--remove", "--replace", "-z", "--stdin"),
                doing="record the files",
                data=there,
            )
        return left_out

    async def _newly_forced(self) -> frozenset[str]:
        """Return the ignored files that the person tracks all the same, if their index has changed."""
        if self._repository is None:
            return frozenset()
        before = self._facts
        with contextlib.suppress(GitFailed):  # reported where it matters
            self._facts = await self._repository.index_facts()
        return self._facts.forced if self._facts is not before else frozenset()

    def _is_too_large(self) -> FolderTooLarge:
        self._too_large = FolderTooLarge(
            f"the folder has more than {MAX_FILES:,} files, or {MAX_BYTES >> 30} GB: "
            "its changes are not recorded",
            remedy="Begin a session in a smaller folder, or add files that do not matter to .gitignore",
        )
        return self._too_large

    def _note_ignored(self) -> None:
        """Copy the person's own list of ignored files. Reads the disk."""
        said = ""
        if self._repository is not None:
            with contextlib.suppress(OSError):
                exclude = Path(self._repository.common_dir, "info/exclude")
                said = exclude.read_text("utf-8", "surrogateescape")
        own = os.path.relpath(self._home, self._top)
        hidden = "" if own.split("/")[0] == ".." else "/" + re.sub(r"([\\*?\[\]!# ])", r"\\\1", own) + "\n"
        _write(self.folder / "git/info/exclude", f"{said.rstrip()}\n{_DRAFTS}{hidden}")

    def _sort(self, names: Iterable[str]) -> tuple[bytes, bytes, tuple[str, ...], int]:
        """Sort files into those to record, those that are gone, and those to leave out. Reads the disk."""
        there: list[str] = []
        gone: list[str] = []
        left_out: list[str] = []
        size = 0
        plain: dict[str, bool] = {"": True}

        def is_plain(folder: str) -> bool:
            """Tell whether a folder is reached without any link, and not in a repository of its own."""
            if folder not in plain:
                full = f"{self._directory}/{folder}"
                is_folder = is_plain(folder.rpartition("/")[0]) and stat.S_ISDIR(_mode(full))
                plain[folder] = is_folder and not _mode(f"{full}/.git")
            return plain[folder]

        for name in names:
            if name.endswith("/"):
                continue  # a repository of its own
            full = f"{self._directory}/{name}"
            try:
                info = os.lstat(full) if is_plain(name.rpartition("/")[0]) else None
            except OSError:
                info = None
            if info is None or stat.S_ISDIR(info.st_mode):
                gone.append(name)
            elif stat.S_ISLNK(info.st_mode):
                there.append(name)
            elif not stat.S_ISREG(info.st_mode):
                gone.append(name)
            elif info.st_size > MAX_FILE_BYTES or not os.access(full, os.R_OK):
                left_out.append(name)
            else:
                there.append(name)
                size += info.st_size
        return listed(there), listed(gone), tuple(sorted(left_out)), size

    async def _write_tree(self) -> str:
        options = (f"--prefix={self._prefix}",) if self._prefix else ()
        answer = await self._run("write-tree", *options, doing="record the files", accept=(0, 128))
        if answer.code == 0:
            return answer.output.decode().strip()
        listed = await self._run("ls-files", "-z", doing="record the files")
        if not listed.output:
            return self.empty_tree  # git does not find the folder in the index
        raise GitFailed("git could not record the files: some of their content is gone")

    async def keep(self, trees: Mapping[str, str | None]) -> None:
        """Keep trees by their names; `None` removes one. Nothing here is ever collected as garbage."""
        kept = {name: tree for name, tree in {**self.bases, **trees}.items() if tree}
        if kept != self.bases:
            await asyncio.to_thread(_write, self.folder / "bases.json", json.dumps(kept))
            self.bases = kept

    async def has(self, tree: str) -> bool:
        """Tell whether a tree exists with all its content."""
        answer = await self._run(
            "rev-list", "--objects", "--quiet", tree, doing="check a tree", accept=(0, 1, 128)
        )
        return answer.code == 0

    async def copy_from(self, other: Path, keys: Collection[str]) -> None:
        """Copy trees with their content from the private directory of another session.

        Args:
            other: The folder of that session's recorder.
            keys: The beginnings of the names of the trees.
        """
        source = FolderRecorder(
            self._git, other, self._directory, repository=self._repository, settings={}, home=self._home
        )
        await source.open()
        trees = {name: tree for name, tree in source.bases.items() if name.startswith(tuple(keys))}
        if not trees:
            return
        await source._run(
            *("pack-objects", "--revs", "--local", "-q", str(self.folder / "git/objects/pack/pack")),
            doing="take over what was recorded",
            data="".join(f"{tree}\n" for tree in trees.values()).encode(),
        )
        await self.keep(trees)

    # -- comparing and reading -----------------------------------------------------------------------------

    async def diff(self, before: str, after: str) -> tuple[Change, ...]:
        """Compare two trees.

        Raises:
            GitFailed: A tree, or content that it names, no longer exists.
        """
        try:
            answer = await self._run(*DIFF_TREE, before, after, doing="compare the files")
        except GitFailed as error:
            if not re.search("bad object|unable to read", error.words):
                raise
            raise GitFailed("some of what was recorded is no longer in the repository") from None
        return parse(answer.output)

    async def ignored(self, paths: Collection[str]) -> frozenset[str]:
        """Return the files that are ignored by now, and not tracked by the person."""
        if not paths:
            return frozenset()
        answer = await self._run(
            *("check-ignore", "--no-index", "-z", "--stdin"),
            doing="see what is ignored",
            data=listed([f"./{path}" for path in paths]),  # so that no path has pathspec magic
            accept=(0, 1),
            variables={"GIT_LITERAL_PATHSPECS": "0"},
        )
        return frozenset(name[2:] for name in answer.names) - self._facts.forced

    async def same_for_git(self, changes: Collection[Change], converted: Collection[str]) -> frozenset[str]:
        """Return the modified files that differ from the last commit only in line ends or encoding.

        Args:
            changes: The changes.
            converted: The files that git converts by their attributes.
        """
        if self._settings.get("core.autocrlf", "false") == "false":
            changes = [change for change in changes if change.path in converted]
        asked = {
            change.path: change.before.content
            for change in changes
            if change.before and change.after and len(change.paths) == 1
            if change.before.mode == change.after.mode and "\n" not in change.path
        }
        if not asked:
            return frozenset()
        await self._init("converted", _WITHOUT_PROGRAMS)
        answer = await self._run(
            *("hash-object", "--stdin-paths"),
            doing="compare the files",
            data=b"".join(os.fsencode(path) + b"\n" for path in asked),
            name="converted",
            accept=(0, 128),  # a file may be gone by now
        )
        ids = answer.output.decode().split()
        return frozenset(
            path for (path, before), now in zip(asked.items(), ids, strict=False) if now == before
        )

    async def read(self, blob: str) -> bytes:
        """Return recorded content.

        Raises:
            GitFailed: It does not exist, or no longer.
        """
        return (await self._run("cat-file", "blob", blob, doing="read the content")).output

    async def check_out(self, sides: Collection[Side], *, converted: bool) -> None:
        """Write files as they were. Existing files stay, and so do those behind links.

        Args:
            sides: The files.
            converted: Give them the line ends and the encoding that the person's git gives them.
        """
        name = "converted" if converted else "git"
        if converted:
            await self._init(name, _WITHOUT_PROGRAMS)
        index = self.folder / "checkout"
        await asyncio.to_thread(index.unlink, missing_ok=True)
        lines = [f"{side.mode:o} {side.content}\t{self._prefix}{side.path}" for side in sides]
        await self._run(
            *("update-index", "-z", "--index-info"),
            doing="put the files back",
            data=listed(lines),
            name=name,
            index=index,
        )
        await self._run(
            *("checkout-index", "-a", "-q"),
            doing="put the files back",
            name=name,
            index=index,
            accept=(0, 1, 128),
        )
        await asyncio.to_thread(index.unlink, missing_ok=True)


def _make_private(folder: Path) -> None:
    """Make a folder, and those above it, for nobody but their owner."""
    for one in (*reversed(folder.parents), folder):
        one.mkdir(mode=0o700, exist_ok=True)


def _mode(path: str) -> int:
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


def _write(path: Path, text: str) -> None:
    """Write a small private file, unless it has this content already."""
    data = text.encode("utf-8", "surrogateescape")
    try:
        if path.read_bytes() == data:
            return
    except OSError:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(path, data)
