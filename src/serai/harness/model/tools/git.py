"""Tools for the repository that the working directory is in: what has changed, and committing it.

Nothing of the folder runs: no hooks, no filters, no external diffs, no programs that sign. In the tier
`sandboxed`, only what is below the working directory is seen and committed; else all of the repository.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from serai.changes.git import find_git
from serai.changes.repository import Repository, find_repository
from serai.errors import ToolFailed
from serai.harness.model.tool import Asking, Preview, Tool, ToolContext, ToolInput, ToolOutput
from serai.session.agent_file import FsScopeTier

_STATUS = ("status", "--porcelain=v1", "--untracked-files=all", "--ignore-submodules=all", "--no-renames")
_DIFF = ("diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
_DRIVERS = r"^filter\..*\.(clean|smudge|process|required)$"
_MOST_SHOWN = 50
"""Most files that are named to whoever is asked."""


class _Checkout:
    """The repository of a session, as far as its tier reaches."""

    def __init__(self, repository: Repository, quiet: tuple[str, ...]) -> None:
        self.repository = repository
        self._quiet = quiet

    @classmethod
    async def of(cls, context: ToolContext) -> _Checkout:
        """Find it.

        Raises:
            ToolFailed: There is none.
            GitFailed: Git does not want to use it.
            GitUnavailable: There is no git.
        """
        git, folder = await find_git(), str(context.folder.resolve())
        repository = await find_repository(git, folder)
        if repository is not None and context.situation.fs_scope_tier != FsScopeTier.SANDBOXED:
            repository = await find_repository(git, repository.top)
        if repository is None:
            raise ToolFailed("the working directory is in no git repository, or is ignored by it")
        # A filter is a program that the repository's own settings name. Without a name it does nothing.
        found = await repository.run(
            *("config", "--name-only", "-z", "--get-regexp", _DRIVERS),
            doing="read its settings",
            accept=(0, 1),
        )
        off = [f"{name}={'false' if name.endswith('.required') else ''}" for name in found.names]
        return cls(repository, tuple(word for setting in off for word in ("-c", setting)))

    async def run(self, *arguments: str, doing: str, data: bytes = b"") -> bytes:
        """What a command prints."""
        answer = await self.repository.run(*self._quiet, *arguments, doing=doing, data=data, grace=2.0)
        return answer.output

    async def changed(self) -> list[str]:
        """The files that have changed, from the repository's directory on."""
        listed = (await self.run(*_STATUS, "-z", "--", ".", doing="see what has changed")).split(b"\0")
        return [os.fsdecode(line[3:]).removeprefix(self.repository.prefix) for line in listed if line]

    def inside(self, paths: Sequence[str], context: ToolContext) -> list[str]:
        """Paths that a model names, from the repository's directory on.

        Raises:
            ToolFailed: One is outside.
        """
        found = [
            os.path.relpath(context.folder.resolve() / path, self.repository.directory) for path in paths
        ]
        if any(path.split("/")[0] == ".." for path in found):
            raise ToolFailed(f"{', '.join(paths)}: this is not all inside what the session reaches")
        return found


class GitStatusInput(ToolInput):
    """Nothing."""


class GitStatus(Tool[GitStatusInput]):
    """Tells the branch, and which files have changed."""

    name, title = "git_status", "See what has changed"
    description = "The branch and the changed files, as git status --porcelain prints them."
    takes = GitStatusInput
    asking, is_idempotent = Asking.NEVER, True

    async def run(self, given: GitStatusInput, context: ToolContext) -> ToolOutput:
        """See `Tool`."""
        del given
        checkout = await _Checkout.of(context)
        printed = await checkout.run(*_STATUS, "--branch", "--", ".", doing="see what has changed")
        return ToolOutput(printed.decode(errors="replace").rstrip("\n"))


class GitDiffInput(ToolInput):
    """What is compared."""

    staged: Annotated[bool, Meta(description="What is staged, instead of what is not")] = False
    path: Annotated[str, Meta(description="A file or directory", min_length=1)] | None = None


class GitDiff(Tool[GitDiffInput]):
    """Shows the changes to tracked files."""

    name, title = "git_diff", "See the changes"
    description = "The changes to tracked files, as git diff prints them."
    takes = GitDiffInput
    asking, is_idempotent = Asking.NEVER, True

    def summary(self, given: GitDiffInput) -> str:
        """See `Tool`."""
        return f"See the changes{f' to `{given.path}`' if given.path else ''}"

    async def run(self, given: GitDiffInput, context: ToolContext) -> ToolOutput:
        """See `Tool`."""
        checkout = await _Checkout.of(context)
        within = checkout.inside([given.path], context) if given.path else ["."]
        how = ["--cached"] if given.staged else []
        printed = await checkout.run(*_DIFF, *how, "--", *within, doing="compare")
        return ToolOutput(printed.decode(errors="replace").rstrip("\n") or "[nothing has changed]")


class GitCommitInput(ToolInput):
    """What is committed, and with which words."""

    message: Annotated[str, Meta(min_length=1)]
    paths: Annotated[list[str], Meta(description="Files; by default all that have changed")] | None = None


class GitCommit(Tool[GitCommitInput]):
    """Commits files as they are. A person is asked each time."""

    name, title = "git_commit", "Commit"
    description = "Commit changed files, new ones included. A person is asked each time."
    takes = GitCommitInput
    asking = Asking.ALWAYS

    def __init__(self) -> None:
        self._shown: dict[str, list[str]] = {}
        """The files that a person was shown, by the call: these and no others are committed."""

    async def preview(self, given: GitCommitInput, context: ToolContext) -> Preview:
        """See `Tool`."""
        files = await self._files(given, context, await _Checkout.of(context))
        if given.paths is None:
            self._shown[context.call.id] = files
        listed = [f"- `{name}`" for name in files[:_MOST_SHOWN]]
        if len(files) > _MOST_SHOWN:
            listed.append(f"- and {len(files) - _MOST_SHOWN} more")
        return Preview("\n".join([f"Commit {len(files)} files: {given.message}", "", *listed]))

    async def run(self, given: GitCommitInput, context: ToolContext) -> ToolOutput:
        """See `Tool`."""
        checkout = await _Checkout.of(context)
        shown = self._shown.pop(context.call.id, None) if given.paths is None else None
        files = shown or await self._files(given, context, checkout)
        left_out = await checkout.repository.stage(files)
        chosen = b"".join(os.fsencode(name) + b"\0" for name in files if name not in left_out)
        if not chosen:
            raise ToolFailed(f"nothing was committed: {'; '.join(set(left_out.values()))}")
        printed = await checkout.run(
            *("-c", "commit.gpgSign=false", "commit", "--no-verify", "--only", "--no-status"),
            *("-m", given.message, "--pathspec-from-file=-", "--pathspec-file-nul"),
            doing="commit",
            data=chosen,
        )
        notes = [f"[{name} is left out: {why}]" for name, why in left_out.items()]
        return ToolOutput("\n".join([printed.decode(errors="replace").rstrip("\n"), *notes]))

    async def _files(self, given: GitCommitInput, context: ToolContext, checkout: _Checkout) -> list[str]:
        changed = await checkout.changed()
        wanted = checkout.inside(given.paths, context) if given.paths is not None else ["."]
        files = [name for name in changed if any(_covers(path, name) for path in wanted)]
        if not files:
            raise ToolFailed("there is nothing to commit")
        return files


def _covers(path: str, name: str) -> bool:
    return path in {".", name} or name.startswith(f"{path.rstrip('/')}/")
