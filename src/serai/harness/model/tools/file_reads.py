"""Tools that read files: one, a directory, or all in which a text occurs. Nobody is asked.

Which files tools reach is decided here, too: by the session's tier, and never what is Serai's own.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from time import monotonic
from typing import Annotated, Concatenate, ParamSpec, TypeVar

from msgspec import Meta

from serai.ahp import commands as c
from serai.ahp.types import ROOT
from serai.errors import ProtocolError, ToolFailed
from serai.harness.model.tool import Asking, BuiltIn, ToolContext, ToolOutput
from serai.host.project import project_of
from serai.machine.draft import pieces
from serai.machine.files import Access, Root, Roots, find, list_directory, open_content
from serai.machine.files.place import open_regular
from serai.machine.files.threads import go_on
from serai.machine.safe_paths import MAX_DEPTH, Identity, identity, is_window, open_directory
from serai.machine.watch.globs import PathFilter
from serai.session.agent_file import FsScopeTier
from serai.uris import path_of, uri_of

P = ParamSpec("P")
T = TypeVar("T")

MOST_BYTES = 1 << 20
"""Most bytes that are read at once, and the largest file that is searched."""
_MOST_ENTRIES = 2_000
_MOST_HITS = 200
_MOST_SECONDS = 20.0
_LINE = 400
"""Most characters that are shown of a line that was found."""
_PASSED_OVER = frozenset({".git", ".venv", "node_modules", "__pycache__"})

NamedPath = Annotated[str, Meta(description="From the working directory on, or absolute", min_length=1)]


def uri_in(context: ToolContext, path: str) -> str:
    """The URI of a path that a model names, from the working directory on."""
    return uri_of(os.path.normpath(context.folder / path))


def shown_path(path: str) -> str:
    """The path as one writes it, without what leads nowhere: two ways to write it are one."""
    return os.path.normpath(path)


async def with_files(
    context: ToolContext, do: Callable[Concatenate[Roots, P], T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Do something with the files that the session reaches, in a thread. Cancelling stops the waiting.

    Raises:
        ProtocolError: The files may not be had, are not there, or are not what they should be.
    """
    seat = context.seat
    roots = await seat.roots()
    return await seat.file_threads.run(lambda: do(_widened(roots, context), *args, **kwargs))


def _widened(roots: Roots, context: ToolContext) -> Roots:
    """The session's folders, and what its tier adds. What is closed stays closed. Reads the disk."""
    match context.situation.fs_scope_tier:
        case FsScopeTier.SANDBOXED:
            return roots
        case FsScopeTier.PROJECT:
            project = project_of(uri_of(context.folder))
            return roots | ([Root.of(path_of(project.uri), writable=True)] if project else [])
        case FsScopeTier.FULL:
            return roots | [Root("/", writable=True)]


class ReadFile(BuiltIn):
    """Read a text file, or some lines of it."""

    name, title = "read_file", "Read a file"
    asking, is_idempotent = Asking.NEVER, True

    path: NamedPath
    first_line: Annotated[int, Meta(ge=1, description="Counted from 1")] = 1
    lines: Annotated[int, Meta(ge=1, description="How many; by default all")] | None = None

    def summary(self) -> str:
        """Which file."""
        return f"Read `{shown_path(self.path)}`"

    async def run(self, context: ToolContext) -> ToolOutput:
        """Read it."""
        first = self.first_line - 1
        last = None if self.lines is None else first + self.lines
        return ToolOutput(await with_files(context, _text, uri_in(context, self.path), first, last))


def _text(roots: Roots, uri: str, first: int, last: int | None) -> str:
    with open_content(c.ResourceReadParams(channel=ROOT, uri=uri), roots) as content:
        if content.encoding != c.ContentEncoding.UTF8:
            raise ToolFailed(f"{uri} is no text: it has {content.size:,} bytes of {content.content_type}")
        return content.lines(first, last, MOST_BYTES)


class ListDirectory(BuiltIn):
    """List the names in a directory. Directories end with a slash."""

    name, title = "list_directory", "List a directory"
    asking, is_idempotent = Asking.NEVER, True

    path: NamedPath = "."

    def summary(self) -> str:
        """Which directory."""
        return f"List `{shown_path(self.path)}`"

    async def run(self, context: ToolContext) -> ToolOutput:
        """List it."""
        params = c.ResourceListParams(channel=ROOT, uri=uri_in(context, self.path))
        found = await with_files(context, lambda roots: list_directory(params, roots).entries)
        names = [f"{one.name}/" if one.type == c.ResourceType.DIRECTORY else one.name for one in found]
        if len(names) > _MOST_ENTRIES:
            names[_MOST_ENTRIES:] = [f"[{len(names) - _MOST_ENTRIES:,} more are left out]"]
        return ToolOutput("\n".join(names) or "[the directory is empty]")


class SearchFiles(BuiltIn):
    """Find the lines with a text in all files below a directory. Prints file:line: text."""

    # A text and no regular expression: one of those could keep the whole host busy for hours.
    name, title = "search_files", "Search in files"
    asking, is_idempotent = Asking.NEVER, True

    text: Annotated[str, Meta(min_length=1, description="The text itself: there are no wildcards")]
    path: NamedPath = "."
    files: Annotated[str, Meta(description="Which files, from path on, such as **/*.py")] = "**"
    ignore_case: bool = False

    def summary(self) -> str:
        """What is looked for, and where."""
        return f"Search for `{self.text}` in `{shown_path(self.path)}`"

    async def run(self, context: ToolContext) -> ToolOutput:
        """Look for it."""
        lines = await with_files(context, self._search, uri_in(context, self.path))
        return ToolOutput("\n".join(lines) or "[nothing was found]")

    def _search(self, roots: Roots, uri: str) -> list[str]:
        needle = self.text.casefold() if self.ignore_case else self.text

        def has(text: str) -> bool:
            return needle in (text.casefold() if self.ignore_case else text)

        until = monotonic() + _MOST_SECONDS
        found: list[str] = []
        for path, data in _texts(roots, uri, PathFilter([self.files]), until):
            text = data.decode(errors="replace")
            if has(text):
                found += (
                    f"{path}:{number}: {line.strip()[:_LINE]}"
                    for number, line in enumerate(text.split("\n"), 1)
                    if has(line)
                )
            if len(found) > _MOST_HITS:
                break
        is_part = monotonic() > until or len(found) > _MOST_HITS
        return found[:_MOST_HITS] + (["[there may be more: narrow the search down]"] if is_part else [])


def _texts(roots: Roots, uri: str, wanted: PathFilter, until: float) -> Iterator[tuple[str, bytes]]:
    """All texts below a directory that are wanted, by name. No link is followed, and only so long."""
    closed: set[Identity] = set()
    for path in roots.closed:
        with suppress(OSError):
            closed.add(identity(os.stat(path)))  # noqa: PTH116 - as a path is named there
    with find(uri, roots, Access.READ) as place:
        if place.info is not None and not place.is_directory:
            raise ToolFailed(f"{uri} is no directory: read it with read_file")
        yield from _below(place.open_directory(), "", wanted, closed, until)


def _below(
    directory: int, prefix: str, wanted: PathFilter, closed: set[Identity], until: float
) -> Iterator[tuple[str, bytes]]:
    """What is in an open directory, which is closed in the end."""
    try:
        go_on()
        for name in sorted(os.listdir(directory)):
            if monotonic() > until:
                return
            path, inner, data = f"{prefix}{name}", -1, None
            # What cannot be read, or may not, is passed over: the search is for the rest.
            with suppress(OSError, ProtocolError):
                info = os.stat(name, dir_fd=directory, follow_symlinks=False)
                if stat.S_ISDIR(info.st_mode):
                    if name not in _PASSED_OVER and path.count("/") < MAX_DEPTH:
                        inner = open_directory(directory, name)
                elif stat.S_ISREG(info.st_mode) and wanted.passes(path):
                    data = _text_in(directory, name)
            if inner >= 0:
                if is_window(inner) or identity(os.fstat(inner)) in closed:
                    os.close(inner)
                else:
                    yield from _below(inner, f"{path}/", wanted, closed, until)
            elif data is not None:
                yield path, data
    finally:
        os.close(directory)


def _text_in(directory: int, name: str) -> bytes | None:
    """What is in a file; `None` when it is large, or no text."""
    handle, info = open_regular(directory, name, name)
    try:
        data = b"".join(pieces(handle, 0, info.st_size)) if info.st_size <= MOST_BYTES else b"\0"
    finally:
        os.close(handle)
    return None if b"\0" in data[:8192] else data
