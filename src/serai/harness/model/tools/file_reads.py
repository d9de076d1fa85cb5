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
from serai.harness.model.tool import Asking, Tool, ToolContext, ToolInput, ToolOutput
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


class ReadFileInput(ToolInput):
    """Which file, and which lines of it."""

    path: NamedPath
    first_line: Annotated[int, Meta(ge=1, description="Counted from 1")] = 1
    lines: Annotated[int, Meta(ge=1, description="How many; by default all")] | None = None


class ReadFile(Tool[ReadFileInput]):
    """Reads a text."""

    name, title = "read_file", "Read a file"
    description = "Read a text file, or some lines of it."
    takes = ReadFileInput
    asking, is_idempotent = Asking.NEVER, True

    def summary(self, given: ReadFileInput) -> str:
        """See `Tool`."""
        return f"Read `{shown_path(given.path)}`"

    async def run(self, given: ReadFileInput, context: ToolContext) -> ToolOutput:
        """See `Tool`."""
        first = given.first_line - 1
        last = None if given.lines is None else first + given.lines
        return ToolOutput(await with_files(context, _text, uri_in(context, given.path), first, last))


def _text(roots: Roots, uri: str, first: int, last: int | None) -> str:
    with open_content(c.ResourceReadParams(channel=ROOT, uri=uri), roots) as content:
        if content.encoding != c.ContentEncoding.UTF8:
            raise ToolFailed(f"{uri} is no text: it has {content.size:,} bytes of {content.content_type}")
        return content.lines(first, last, MOST_BYTES)


class ListDirectoryInput(ToolInput):
    """Which directory."""

    path: NamedPath = "."


class ListDirectory(Tool[ListDirectoryInput]):
    """Lists what is in a directory."""

    name, title = "list_directory", "List a directory"
    description = "List the names in a directory. Directories end with a slash."
    takes = ListDirectoryInput
    asking, is_idempotent = Asking.NEVER, True

    def summary(self, given: ListDirectoryInput) -> str:
        """See `Tool`."""
        return f"List `{shown_path(given.path)}`"

    async def run(self, given: ListDirectoryInput, context: ToolContext) -> ToolOutput:
        """See `Tool`."""
        params = c.ResourceListParams(channel=ROOT, uri=uri_in(context, given.path))
        found = await with_files(context, lambda roots: list_directory(params, roots).entries)
        names = [f"{one.name}/" if one.type == c.ResourceType.DIRECTORY else one.name for one in found]
        if len(names) > _MOST_ENTRIES:
            names[_MOST_ENTRIES:] = [f"[{len(names) - _MOST_ENTRIES:,} more are left out]"]
        return ToolOutput("\n".join(names) or "[the directory is empty]")


class SearchFilesInput(ToolInput):
    """What is looked for, and where."""

    text: Annotated[str, Meta(min_length=1, description="The text itself: there are no wildcards")]
    path: NamedPath = "."
    files: Annotated[str, Meta(description="Which files, from path on, such as **/*.py")] = "**"
    ignore_case: bool = False


class SearchFiles(Tool[SearchFilesInput]):
    """Finds the lines in which a text occurs.

    A text and no regular expression: one of those could keep the whole host busy for hours.
    """

    name, title = "search_files", "Search in files"
    description = "Find the lines with a text in all files below a directory. Prints file:line: text."
    takes = SearchFilesInput
    asking, is_idempotent = Asking.NEVER, True

    def summary(self, given: SearchFilesInput) -> str:
        """See `Tool`."""
        return f"Search for `{given.text}` in `{shown_path(given.path)}`"

    async def run(self, given: SearchFilesInput, context: ToolContext) -> ToolOutput:
        """See `Tool`."""
        lines = await with_files(context, _search, given, uri_in(context, given.path))
        return ToolOutput("\n".join(lines) or "[nothing was found]")


def _search(roots: Roots, given: SearchFilesInput, uri: str) -> list[str]:
    needle = given.text.casefold() if given.ignore_case else given.text

    def has(text: str) -> bool:
        return needle in (text.casefold() if given.ignore_case else text)

    search = _Search(roots, PathFilter([given.files]))
    found: list[str] = []
    for path, data in search.texts(uri):
        text = data.decode(errors="replace")
        if has(text):
            found += (
                f"{path}:{number}: {line.strip()[:_LINE]}"
                for number, line in enumerate(text.split("\n"), 1)
                if has(line)
            )
        if len(found) > _MOST_HITS:
            break
    is_part = search.is_late or len(found) > _MOST_HITS
    return found[:_MOST_HITS] + (["[there may be more: narrow the search down]"] if is_part else [])


class _Search:
    """Goes through the texts below a directory, by name. No link is followed, and only so long."""

    def __init__(self, roots: Roots, wanted: PathFilter) -> None:
        self._roots = roots
        self._wanted = wanted
        self._until = monotonic() + _MOST_SECONDS
        self._closed: set[Identity] = set()
        for path in roots.closed:
            with suppress(OSError):
                self._closed.add(identity(os.stat(path)))  # noqa: PTH116 - as a path is named there

    @property
    def is_late(self) -> bool:
        """Whether the time is over."""
        return monotonic() > self._until

    def texts(self, uri: str) -> Iterator[tuple[str, bytes]]:
        """All texts below a directory that are wanted."""
        with find(uri, self._roots, Access.READ) as place:
            if place.info is not None and not place.is_directory:
                raise ToolFailed(f"{uri} is no directory: read it with read_file")
            yield from self._below(place.open_directory(), "", 1)

    def _below(self, directory: int, prefix: str, depth: int) -> Iterator[tuple[str, bytes]]:
        """What is in an open directory, which is closed in the end."""
        try:
            go_on()
            for name in sorted(os.listdir(directory)):
                if self.is_late:
                    return
                path, inner, data = f"{prefix}{name}", -1, None
                # What cannot be read, or may not, is passed over: the search is for the rest.
                with suppress(OSError, ProtocolError):
                    info = os.stat(name, dir_fd=directory, follow_symlinks=False)
                    if stat.S_ISDIR(info.st_mode):
                        if name not in _PASSED_OVER and depth < MAX_DEPTH:
                            inner = open_directory(directory, name)
                    elif stat.S_ISREG(info.st_mode) and self._wanted.passes(path):
                        data = _text_in(directory, name)
                if inner >= 0:
                    if is_window(inner) or identity(os.fstat(inner)) in self._closed:
                        os.close(inner)
                    else:
                        yield from self._below(inner, f"{path}/", depth + 1)
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
