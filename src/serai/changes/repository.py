"""The person's repository around a directory: what is committed, ignored and staged in it.

Only `stage` writes to it, and only because a person asked for it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from serai.changes.diff import printable
from serai.changes.git import NO_REPOSITORY, Answer, Git
from serai.errors import GitFailed
from serai.machine.watch.events import SeenPaths

EMPTY_TREES = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
"""Ids of the empty tree, which every git knows without looking."""

_CARRIED = frozenset({"core.attributesfile", "core.autocrlf", "core.eol", "core.excludesfile"})
"""Settings about ignored files and conversions. None of them names a program."""

_NO_WORK_TREE = (NO_REPOSITORY, "must be run in a work tree", "cannot use bare repository")
_GRACE = 2.0
"""Seconds that git has to remove its lock when it is ended early."""


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """Facts from the person's index."""

    conflicts: frozenset[str] = frozenset()
    """Files that a merge left for a person to decide."""
    forced: frozenset[str] = frozenset()
    """Files that are tracked although they are ignored."""
    absent: frozenset[str] = frozenset()
    """Files that a sparse checkout leaves out."""


@dataclass(slots=True)
class Repository:
    """A repository with a work tree, as seen from a directory in it. All paths are from that directory."""

    git: Git
    directory: str
    """Path of the directory, without any link."""
    top: str
    """Root of the work tree."""
    git_dir: str
    """Folder of this work tree's HEAD and index."""
    common_dir: str
    """Folder of the objects, which all work trees share."""
    object_format: str
    prefix: str
    """Path of the directory below the root: empty, or with a slash at its end."""
    _facts: IndexFacts = field(default_factory=IndexFacts)
    _seen: SeenPaths | None = None

    async def head_tree(self) -> str | None:
        """Return the last commit of the directory as a tree; `None` when there is none."""
        name = f"HEAD:{self.prefix}" if self.prefix else "HEAD^{tree}"
        answer = await self.run(
            "rev-parse", "-q", "--verify", name, doing="read the last commit", accept=(0, 1, 128)
        )
        return answer.output.decode().strip() if answer.code == 0 else None

    async def index_facts(self) -> IndexFacts:
        """Read the facts from the person's index, if it has changed since."""
        if self._seen is None or not await asyncio.to_thread(self._seen.are_unchanged):
            seen = await asyncio.to_thread(SeenPaths, f"{self.git_dir}/index")
            doing = "read the index"
            is_sparse = await asyncio.to_thread(Path(self.git_dir, "info/sparse-checkout").exists)
            unmerged = await self.run("ls-files", "-u", "-z", doing=doing)
            ignored = await self.run("ls-files", "-i", "-c", "--exclude-standard", "-z", doing=doing)
            tagged = (await self.run("ls-files", "-t", "-z", doing=doing)).names if is_sparse else []
            self._facts = IndexFacts(
                frozenset(line.partition("\t")[2] for line in unmerged.names),
                frozenset(ignored.names),
                frozenset(name[2:] for name in tagged if name.startswith("S ")),
            )
            self._seen = seen
        return self._facts

    async def conversions(self, paths: Collection[str]) -> tuple[frozenset[str], frozenset[str]]:
        """Return the files that a program converts, as LFS does, and those that other attributes convert."""
        if not paths:
            return frozenset(), frozenset()
        asked = ("filter", "text", "crlf", "eol", "ident", "working-tree-encoding")
        answer = await self.run(
            "check-attr", "-z", "--stdin", *asked, doing="read the attributes", data=listed(paths)
        )
        words = iter(answer.names)
        said = [
            (path, attribute)
            for path, attribute, value in zip(words, words, words, strict=True)
            if value not in {"unspecified", "unset"}
        ]
        return (
            frozenset(path for path, attribute in said if attribute == "filter"),
            frozenset(path for path, attribute in said if attribute != "filter"),
        )

    async def stage(self, paths: Sequence[str]) -> dict[str, str]:
        """Put files into the person's index as they are now. Returns why some were left out, by path.

        Raises:
            GitFailed: The index is locked, or a file cannot be read. Nothing was staged.
        """
        filtered, _ = await self.conversions(paths)
        chosen = [path for path in paths if path not in filtered]
        if chosen:
            await self.run(
                *("update-index", "--add", "--remove", "--replace", "-z", "--stdin"),
                doing="stage the files",
                data=listed(chosen),
                grace=_GRACE,
            )
        return dict.fromkeys(filtered, "a filter such as LFS converts it: stage it with git")

    async def run(
        self,
        *arguments: str,
        doing: str,
        data: bytes = b"",
        accept: tuple[int, ...] = (0,),
        grace: float = 0,
        variables: Mapping[str, str] | None = None,
    ) -> Answer:
        """Run git in the person's repository (`Git.run`)."""
        return await self.git.run(
            *arguments,
            doing=doing,
            folder=self.directory,
            environment={"GIT_DIR": self.git_dir, "GIT_WORK_TREE": self.top, **(variables or {})},
            data=data,
            accept=accept,
            grace=grace,
        )


def listed(paths: Collection[str]) -> bytes:
    """Join paths as git reads them, each ended by a NUL."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


async def find_repository(git: Git, directory: str) -> Repository | None:
    """Find the repository whose work tree a directory is in; return `None` when there is none.

    A directory that its repository ignores has none, too: git would not see any change in it.

    Raises:
        GitFailed: Git refuses to use the repository, since it belongs to someone else for instance; or its
            work tree is elsewhere.
    """
    try:
        answer = await git.run(
            *("rev-parse", "--path-format=absolute", "--show-toplevel", "--absolute-git-dir"),
            *("--git-common-dir", "--show-object-format", "--show-prefix"),
            doing="find the repository",
            folder=directory,
        )
    except GitFailed as error:
        if any(words in error.words for words in _NO_WORK_TREE):
            return None
        raise
    lines = os.fsdecode(answer.output).removesuffix("\n").split("\n")
    if len(lines) != 5:
        raise GitFailed("the folder, or one that it is in, has a line end in its name")
    top, git_dir, common_dir, object_format, prefix = lines
    if not await asyncio.to_thread(_is_same, f"{top}/{prefix}", directory):
        raise GitFailed(f"the repository of this folder has its work tree elsewhere, at {printable(top)}")
    repository = Repository(git, directory, top, git_dir, common_dir, object_format, prefix)
    if prefix and await _is_ignored(repository):
        return None
    return repository


def _is_same(one: str, other: str) -> bool:
    try:
        return Path(one).samefile(other)
    except OSError:
        return False


async def _is_ignored(repository: Repository) -> bool:
    # This command has no literal paths; with dots before it, a path has no magic either.
    name = repository.prefix.rstrip("/").rpartition("/")[2]
    answer = await repository.run(
        *("check-ignore", "-q", "-z", "--stdin"),
        doing="see what is ignored",
        data=b"../" + os.fsencode(name) + b"\0",
        accept=(0, 1),
        variables={"GIT_LITERAL_PATHSPECS": "0"},
    )
    return answer.code == 0


async def read_settings(git: Git, directory: str) -> dict[str, str]:
    """Read the settings about ignored files and conversions, the person's own included."""
    answer = await git.run("config", "--list", "-z", doing="read its settings", folder=directory)
    found: dict[str, str] = {}
    for entry in answer.names:
        name, has_value, value = entry.partition("\n")
        if name in _CARRIED:
            home = os.environ.get("HOME", "")
            value = value if has_value else "true"
            found[name] = f"{home}{value[1:]}" if value.startswith("~/") else value
    return found
