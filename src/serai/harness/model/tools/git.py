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
from serai.errors import ToolError
from serai.harness.model.tool import Asking, BuiltIn, Preview, ToolAnswer, ToolContext
from serai.session.agent_file import FsScopeTier

_STATUS = ("status", "--porcelain=v1", "--untracked-files=all", "--ignore-submodules=all", "--no-renames")
_DIFF = ("diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
_DRIVERS = r"^filter\..*\.(clean|smudge|process|required)$"
_MOST_SHOWN = 50
"""Most files that a person sees in the question."""


class _Checkout:
    """The repository of a session, as far as its tier reaches."""

    def __init__(self, repository: Repository, quiet: tuple[str, ...]) -> None:
        self.repository = repository
        self._quiet = quiet

    @classmethod
    async def of(cls, context: ToolContext) -> _Checkout:
        """Find the repository.

        Raises:
            ToolError: There is none.
            GitFailed: Git does not want to use it.
            GitUnavailable: There is no git.
        """
        git, folder = await find_git(), str(context.folder.resolve())
        repository = await find_repository(git, folder)
        if repository is not None and context.situation.fs_scope_tier != FsScopeTier.SANDBOXED:
            repository = await find_repository(git, repository.top)
        if repository is None:
            raise ToolError("the working directory is in no git repository, or is ignored by it")
        # A filter is a program that the repository's own settings name. Without a name it does nothing.
        found = await repository.run(
            *("config", "--name-only", "-z", "--get-regexp", _DRIVERS),
            doing="read its settings",
            accept=(0, 1),
        )
        off = [f"{name}={'false' if name.endswith('.required') else ''}" for name in found.names]
        return cls(repository, tuple(word for setting in off for word in ("-c", setting)))

    async def run(self, *arguments: str, doing: str, data: bytes = b"") -> bytes:
        """Run a git command, and return its output."""
        answer = await self.repository.run(*self._quiet, *arguments, doing=doing, data=data, grace=2.0)
        return answer.output

    async def changed(self, within: Sequence[str]) -> list[str]:
        """List the changed files, relative to the repository's directory."""
        listed = (await self.run(*_STATUS, "-z", "--", *within, doing="see what has changed")).split(b"\0")
        return [os.fsdecode(line[3:]).removeprefix(self.repository.prefix) for line in listed if line]

    def inside(self, paths: Sequence[str], context: ToolContext) -> list[str]:
        """Return paths that a model names, relative to the repository's directory.

        Raises:
            ToolError: One is outside.
        """
        found = [
            os.path.relpath(context.folder.resolve() / path, self.repository.directory) for path in paths
        ]
        if any(path.split("/")[0] == ".." for path in found):
            raise ToolError(f"{', '.join(paths)}: not all of this is within the session's reach")
        return found


class GitStatus(BuiltIn):
    """The branch and the changed files, as git status --porcelain prints them."""

    name, title = "git_status", "See what has changed"
    asking, is_idempotent = Asking.NEVER, True

    async def run(self, context: ToolContext) -> ToolAnswer:
        """Run `git status`."""
        checkout = await _Checkout.of(context)
        printed = await checkout.run(*_STATUS, "--branch", "--", ".", doing="see what has changed")
        return ToolAnswer(printed.decode(errors="replace").rstrip("\n"))


class GitDiff(BuiltIn):
    """The changes to tracked files, as git diff prints them."""

    name, title = "git_diff", "See the changes"
    asking, is_idempotent = Asking.NEVER, True

    staged: Annotated[bool, Meta(description="What is staged, instead of what is not")] = False
    path: Annotated[str, Meta(description="A file or directory", min_length=1)] | None = None

    def summary(self) -> str:
        """Return which changes are shown."""
        return f"See the changes{f' to `{self.path}`' if self.path else ''}"

    async def run(self, context: ToolContext) -> ToolAnswer:
        """Run `git diff`."""
        checkout = await _Checkout.of(context)
        within = checkout.inside([self.path], context) if self.path else ["."]
        how = ["--cached"] if self.staged else []
        printed = await checkout.run(*_DIFF, *how, "--", *within, doing="compare")
        return ToolAnswer(printed.decode(errors="replace").rstrip("\n") or "[nothing has changed]")


class GitCommit(BuiltIn):
    """Commit changed files, new ones included. A person is asked each time."""

    name, title = "git_commit", "Commit"
    asking = Asking.ALWAYS

    message: Annotated[str, Meta(min_length=1)]
    paths: Annotated[list[str], Meta(description="Files; by default all that have changed")] | None = None

    async def preview(self, context: ToolContext) -> Preview:
        """List the files. Where none are named, exactly these are committed."""
        files = await self._files(context, await _Checkout.of(context))
        listed = [f"- `{name}`" for name in files[:_MOST_SHOWN]]
        if len(files) > _MOST_SHOWN:
            listed.append(f"- and {len(files) - _MOST_SHOWN} more")
        what = "\n".join([f"Commit {len(files)} files: {self.message}", "", *listed])
        return Preview(what, shown={"files": files})

    async def run(self, context: ToolContext) -> ToolAnswer:
        """Commit the files."""
        checkout = await _Checkout.of(context)
        shown = context.shown.get("files") if self.paths is None else None
        files = shown or await self._files(context, checkout)
        left_out = await checkout.repository.stage(files)
        chosen = b"".join(os.fsencode(name) + b"\0" for name in files if name not in left_out)
        if not chosen:
            raise ToolError(f"nothing was committed: {'; '.join(set(left_out.values()))}")
        printed = await checkout.run(
            *("-c", "commit.gpgSign=false", "commit", "--no-verify", "--only", "--no-status"),
            *("-m", self.message, "--pathspec-from-file=-", "--pathspec-file-nul"),
            doing="commit",
            data=chosen,
        )
        notes = [f"[{name} is left out: {why}]" for name, why in left_out.items()]
        return ToolAnswer("\n".join([printed.decode(errors="replace").rstrip("\n"), *notes]))

    async def _files(self, context: ToolContext, checkout: _Checkout) -> list[str]:
        within = checkout.inside(self.paths, context) if self.paths else ["."]
        files = await checkout.changed(within)
        if not files:
            raise ToolError("there is nothing to commit")
        return files
