"""The repository that a directory is in: where it is, how it is set, and what was committed last."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from serai.changes.git import NO_REPOSITORY, Git
from serai.changes.records import shown
from serai.errors import GitFailed

__all__ = [
    "EMPTY_TREES",
    "OPEN_AGAIN",
    "Repository",
    "Settings",
    "find_repository",
    "head_tree",
    "read_settings",
    "see_same_repository",
]

EMPTY_TREES = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
"""The tree with nothing in it, which every git knows without looking."""

_CARRIED = frozenset(
    {
        "core.attributesfile",
        "core.autocrlf",
        "core.checkstat",
        "core.eol",
        "core.excludesfile",
        "core.filemode",
        "core.ignorecase",
        "core.precomposeunicode",
        "core.sparsecheckout",
        "core.sparsecheckoutcone",
        "core.symlinks",
        "core.trustctime",
    }
)
"""Settings that say how files are to be read. None of them names a program."""

_NO_WORK_TREE = (NO_REPOSITORY, "must be run in a work tree", "cannot use bare repository")
_REMEDY = "See where its `.git` leads, and what core.worktree is set to there"
OPEN_AGAIN = "Try again when no turn is running: then the folder is opened anew, where it is now"


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository with a work tree, as seen from a directory in it."""

    top: str
    """The root of the work tree."""
    git_dir: str
    """Where this work tree's HEAD and index are."""
    common_dir: str
    """Where the objects are, which all work trees share."""
    object_format: str
    prefix: str
    """The directory below the root: empty, or with a slash at its end."""

    @property
    def environment(self) -> dict[str, str]:
        """What makes git use this very repository, without looking for it again."""
        return {"GIT_DIR": self.git_dir, "GIT_WORK_TREE": self.top}

    @property
    def no_content(self) -> str:
        """The id that stands for no content at all."""
        return "0" * len(EMPTY_TREES[self.object_format])

    def full(self, path: str) -> str:
        """A path from the root of the work tree, for one from the directory."""
        return f"{self.prefix}{path}"

    @property
    def scope(self) -> tuple[str, ...]:
        """The arguments that limit a command to the directory."""
        return ("--", self.prefix.rstrip("/")) if self.prefix else ("--",)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a repository that matter here."""

    carried: Mapping[str, str]
    """How files are to be read; harmless in any folder."""
    filters: Mapping[str, str]
    """The programs that convert files on their way in and out. They run in trusted folders only."""

    def is_off(self, name: str) -> bool:
        """Whether a setting that is on by itself is off."""
        return self.carried.get(name, "true").lower() in {"false", "no", "off", "0", ""}

    @property
    def drivers(self) -> frozenset[str]:
        """The names of the filters that there are."""
        return frozenset(name.split(".", 1)[1].rpartition(".")[0] for name in self.filters)


async def find_repository(git: Git, directory: str) -> Repository | None:
    """The repository whose work tree a directory is in; `None` when there is none.

    There is also none for a directory that its repository ignores: git would not see any change in it.

    Raises:
        GitFailed: git does not want to use the repository, since it belongs to someone else for instance; or
            its work tree is elsewhere, so that all that git says and does here would be about other files.
    """
    repository = await _named(git, directory)
    if repository is None:
        return None
    if not await asyncio.to_thread(_is_in_place, repository, directory):
        raise GitFailed(
            f"the repository of this folder has its work tree elsewhere, at {shown(repository.top)}",
            remedy=_REMEDY,
        )
    if repository.prefix and await _is_ignored(git, repository):
        return None
    return repository


async def see_same_repository(git: Git, repository: Repository, directory: str) -> None:
    """Look whether a directory still is where its repository was found. Whoever writes files does so first.

    Raises:
        GitFailed: It is in another by now, or in none; or git names other folders for it.
    """
    found = await _named(git, directory)
    if found is None:
        raise GitFailed("the repository is gone")
    if found != repository or not await asyncio.to_thread(_is_in_place, repository, directory):
        is_another = await asyncio.to_thread(_is_in_place, found, directory)
        raise GitFailed(
            "the repository of this folder is not where it was",
            remedy=OPEN_AGAIN if is_another else _REMEDY,
        )


async def _named(git: Git, directory: str) -> Repository | None:
    """What git says of a directory."""
    # Names may have line ends in them, so a word that nobody can know stands between the answers.
    mark = f"--{secrets.token_hex(12)}"
    questions = (
        "--show-toplevel",
        "--absolute-git-dir",
        "--git-common-dir",
        "--show-prefix",
        "--show-object-format",
    )
    asked = [word for question in questions for word in (question, mark)]
    try:
        answer = await git.run(
            "rev-parse", "--path-format=absolute", *asked, doing="find the repository", folder=directory
        )
    except GitFailed as error:
        if any(words in error.words for words in _NO_WORK_TREE):
            return None
        raise
    top, git_dir, common_dir, prefix, object_format = (
        os.fsdecode(part).removeprefix("\n").removesuffix("\n")
        for part in answer.output.split(mark.encode())[: len(questions)]
    )
    return Repository(top, git_dir, common_dir, object_format, prefix)


def _is_in_place(repository: Repository, directory: str) -> bool:
    """Whether a directory is where git says that it is. Outside of a work tree git says: at its root."""
    try:
        return Path(repository.top, repository.prefix).samefile(directory)
    except OSError:
        return False


async def _is_ignored(git: Git, repository: Repository) -> bool:
    # This command knows no literal paths; with a dot before it, a path has no magic either.
    answer = await git.run(
        *("check-ignore", "-q", "-z", "--stdin"),
        doing="see what is ignored",
        folder=repository.top,
        environment=repository.environment | {"GIT_LITERAL_PATHSPECS": "0"},
        data=b"./" + os.fsencode(repository.prefix.rstrip("/")) + b"\0",
        accept=(0, 1),
    )
    return answer.code == 0


async def head_tree(git: Git, repository: Repository) -> str:
    """What was committed last, as a tree; the empty one before the first commit."""
    answer = await git.run(
        *("rev-parse", "-q", "--verify", "HEAD^{tree}"),
        doing="read the last commit",
        folder=repository.top,
        environment=repository.environment,
        accept=(0, 1),
    )
    return answer.output.decode().strip() if answer.code == 0 else EMPTY_TREES[repository.object_format]


async def read_settings(git: Git, repository: Repository, environ: Mapping[str, str]) -> Settings:
    """The settings of a repository, the person's own included. Reading them runs nothing."""
    answer = await git.run(
        "config",
        "--list",
        "-z",
        doing="read its settings",
        folder=repository.top,
        environment=repository.environment,
    )
    carried = _defaults(environ)
    filters: dict[str, str] = {}
    for entry in answer.output.split(b"\0")[:-1]:
        name, has_value, value = os.fsdecode(entry).partition("\n")
        if not has_value:
            value = "true"
        if name in _CARRIED:
            carried[name] = _expanded(value, environ) if name.endswith("file") else value
        elif name.startswith("filter.") and name.endswith((".clean", ".smudge", ".process", ".required")):
            filters[name] = value
    return Settings(carried, filters)


def _defaults(environ: Mapping[str, str]) -> dict[str, str]:
    """Where git looks for the person's ignored files and attributes when no setting says it."""
    home = environ.get("HOME", "")
    folder = environ.get("XDG_CONFIG_HOME") or (f"{home}/.config" if home else "")
    if not folder:
        return {}
    return {"core.excludesfile": f"{folder}/git/ignore", "core.attributesfile": f"{folder}/git/attributes"}


def _expanded(value: str, environ: Mapping[str, str]) -> str:
    home = environ.get("HOME")
    return f"{home}{value[1:]}" if home and value.startswith("~/") else value
