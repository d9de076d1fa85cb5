"""Tools that read and write files. A person sees an edit before it is made, unless they have allowed such.

Which files tools reach is decided here, too: by the session's tier, and never what is Serai's own.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator
from contextlib import suppress
from time import monotonic
from typing import Annotated, Concatenate, NamedTuple, ParamSpec, TypeVar

from msgspec import Meta

from serai.ahp import commands as c
from serai.ahp.commands import AhpErrorCode
from serai.ahp.types import ROOT
from serai.errors import ProtocolError, ToolError
from serai.harness.model.tool import Asking, BuiltIn, Preview, ToolAnswer, ToolContext
from serai.host.surroundings.files import project_of
from serai.host.tool_call import file_edit, made
from serai.machine.draft import pieces
from serai.machine.files import FileRoot, Roots, find, list_directory, open_content, write
from serai.machine.files.place import find_or_make, open_regular
from serai.machine.files.threads import check_not_stopping
from serai.machine.safe_paths import MAX_DEPTH, Identity, identity, is_kernel_view
from serai.machine.watch.globs import PathFilter
from serai.session.agent_file import FsScopeTier
from serai.uris import path_of, uri_of

P = ParamSpec("P")
T = TypeVar("T")

_MOST_BYTES = 1 << 20
"""Most bytes that are read at once, and the size of the largest file that is searched."""
_MOST_ENTRIES = 2_000
_MOST_HITS = 200
_MOST_SECONDS = 20.0
_LINE = 400
"""Most characters of a found line that are shown."""
_PASSED_OVER = frozenset({".git", ".venv", "node_modules", "__pycache__"})

_Path = Annotated[str, Meta(description="From the working directory on, or absolute", min_length=1)]


def _uri_in(context: ToolContext, path: str) -> str:
    """Return the URI of a path that a model names, relative to the working directory."""
    return uri_of(os.path.normpath(context.folder / path))


def _shown_path(path: str) -> str:
    """Return the normalised path, so that one file has one spelling."""
    return os.path.normpath(path)


async def _with_files(
    context: ToolContext, do: Callable[Concatenate[Roots, P], T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Run a function on the session's files, in a thread. Cancelling stops the waiting.

    Raises:
        ProtocolError: The files may not be had, are not there, or are not what they should be.
    """
    seat = context.seat
    roots = await seat.roots()
    return await seat.file_threads.run(lambda: do(_widened(roots, context), *args, **kwargs))


def _widened(roots: Roots, context: ToolContext) -> Roots:
    """Return the session's folders, widened by its tier. Closed paths stay closed. Reads the disk."""
    match context.situation.fs_scope_tier:
        case FsScopeTier.SANDBOXED:
            return roots
        case FsScopeTier.PROJECT:
            project = project_of(uri_of(context.folder))
            return roots | ([FileRoot.of(path_of(project.uri), writable=True)] if project else [])
        case FsScopeTier.FULL:
            return roots | [FileRoot("/", writable=True)]


class ReadFile(BuiltIn):
    """Read a text file, or some lines of it."""

    name, title = "read_file", "Read a file"
    asking, is_idempotent = Asking.NEVER, True

    path: _Path
    first_line: Annotated[int, Meta(ge=1, description="Counted from 1")] = 1
    lines: Annotated[int, Meta(ge=1, description="How many; by default all")] | None = None

    def summary(self) -> str:
        """Return which file is read."""
        return f"Read `{_shown_path(self.path)}`"

    async def run(self, context: ToolContext) -> ToolAnswer:
        """Read the file."""
        first = self.first_line - 1
        last = None if self.lines is None else first + self.lines
        return ToolAnswer(await _with_files(context, _text, _uri_in(context, self.path), first, last))


def _text(roots: Roots, uri: str, first: int, last: int | None) -> str:
    with open_content(c.ResourceReadParams(channel=ROOT, uri=uri), roots) as content:
        if content.encoding != c.ContentEncoding.UTF8:
            raise ToolError(f"{uri} is no text: it has {content.size:,} bytes of {content.content_type}")
        return content.lines(first, last, _MOST_BYTES)


class ListDirectory(BuiltIn):
    """List the names in a directory. Directories end with a slash."""

    name, title = "list_directory", "List a directory"
    asking, is_idempotent = Asking.NEVER, True

    path: _Path = "."

    def summary(self) -> str:
        """Return which directory is listed."""
        return f"List `{_shown_path(self.path)}`"

    async def run(self, context: ToolContext) -> ToolAnswer:
        """List the directory."""
        params = c.ResourceListParams(channel=ROOT, uri=_uri_in(context, self.path))
        found = await _with_files(context, lambda roots: list_directory(params, roots).entries)
        names = [f"{one.name}/" if one.type == c.ResourceType.DIRECTORY else one.name for one in found]
        if len(names) > _MOST_ENTRIES:
            names[_MOST_ENTRIES:] = [f"[{len(names) - _MOST_ENTRIES:,} more are left out]"]
        return ToolAnswer("\n".join(names) or "[the directory is empty]")


class SearchFiles(BuiltIn):
    """Find the lines with a text in all files below a directory. Prints file:line: text."""

    # Plain text, because a regular expression could keep the whole host busy for hours.
    name, title = "search_files", "Search in files"
    asking, is_idempotent = Asking.NEVER, True

    text: Annotated[str, Meta(min_length=1, description="The text itself: there are no wildcards")]
    path: _Path = "."
    files: Annotated[str, Meta(description="Which files, from path on, such as **/*.py")] = "**"
    ignore_case: bool = False

    def summary(self) -> str:
        """Return what is searched, and where."""
        return f"Search for `{self.text}` in `{_shown_path(self.path)}`"

    async def run(self, context: ToolContext) -> ToolAnswer:
        """Search the files."""
        lines = await _with_files(context, self._search, _uri_in(context, self.path))
        return ToolAnswer("\n".join(lines) or "[nothing was found]")

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
    """Yield all texts below a directory that are wanted. No link is followed, and `until` ends the search."""
    closed: set[Identity] = set()
    for path in roots.closed:
        with suppress(OSError):
            closed.add(identity(os.stat(path)))  # noqa: PTH116 - as a path is named there
    with find(uri, roots) as place:
        if place.info is not None and not place.is_directory:
            raise ToolError(f"{uri} is no directory: read it with read_file")
        top = place.open_directory()
    try:
        for folder, inner, names, directory in os.fwalk(".", dir_fd=top):
            check_not_stopping()
            if folder != "." and (is_kernel_view(directory) or identity(os.fstat(directory)) in closed):
                inner.clear()
                continue
            inner[:] = sorted(set(inner) - _PASSED_OVER) if folder.count("/") < MAX_DEPTH else []
            for name in sorted(names):
                path, data = os.path.normpath(f"{folder}/{name}"), None
                if monotonic() > until:
                    return
                # Files that cannot or may not be read are skipped.
                with suppress(OSError, ProtocolError):
                    data = _text_in(directory, name) if wanted.passes(path) else None
                if data is not None:
                    yield path, data
    finally:
        os.close(top)


def _text_in(directory: int, name: str) -> bytes | None:
    """Return the content of a text file; `None` for a large file, or another kind."""
    handle, info = open_regular(directory, name, name)
    try:
        data = b"".join(pieces(handle, 0, info.st_size)) if info.st_size <= _MOST_BYTES else b"\0"
    finally:
        os.close(handle)
    return None if b"\0" in data[:8192] else data


# -- writing -----------------------------------------------------------------------------------------------


class _Before(NamedTuple):
    """The state of a file when it was read."""

    text: str
    etag: str


class _Edit(BuiltIn):
    """Shows an edit, and makes it on the version that was shown."""

    path: _Path

    def after(self, before: str | None) -> str:
        """Return what the file is to hold. Before, it held this, or (`None`) was not there."""
        raise NotImplementedError

    def pattern(self) -> str:
        """Return the pattern of all files in the same directory."""
        return posixpath.join(posixpath.dirname(_shown_path(self.path)), "*")

    async def preview(self, context: ToolContext) -> Preview:
        """Show the edit, on the file as it is now."""
        uri = _uri_in(context, self.path)
        before = await _with_files(context, _look, uri)
        edit = file_edit(
            context.turn.keep, uri, before and before.text.encode(), self._after(before).encode()
        )
        what = f"{'Edit' if before else 'Write'} `{_shown_path(self.path)}`"
        return Preview(what, [edit], shown={uri: before and before.etag})

    async def run(self, context: ToolContext) -> ToolAnswer:
        """Make the edit."""
        uri = _uri_in(context, self.path)
        before = await _with_files(context, _look, uri)
        etag = before and before.etag
        if context.shown.get(uri, etag) != etag:
            raise ToolError(f"{uri} has changed since the edit was shown", remedy="Read it, and try again")
        after = self._after(before)
        await _with_files(context, _write, uri, after, etag)
        edit = file_edit(context.turn.keep, uri, before and before.text.encode(), after.encode())
        lines = f"{edit.diff.added} lines added, {edit.diff.removed} removed" if edit.diff else ""
        return ToolAnswer(f"{_shown_path(self.path)} is written: {lines}", content=[made(edit)])

    def _after(self, before: _Before | None) -> str:
        # JSON can write half a character, which no file can hold.
        return self.after(before and before.text).encode(errors="replace").decode()


class WriteFile(_Edit):
    """Write a text file as a whole. Directories that are missing are made."""

    name, title = "write_file", "Write a file"

    content: str

    def after(self, before: str | None) -> str:
        """Return the whole content."""
        del before
        return self.content


class EditFile(_Edit):
    """Replace a text in a file by another."""

    name, title = "edit_file", "Edit a file"

    old: Annotated[str, Meta(min_length=1, description="As it stands in the file, and only once there")]
    new: str
    everywhere: Annotated[bool, Meta(description="Replace it wherever it stands")] = False

    def after(self, before: str | None) -> str:
        """Return the file with the new text.

        Raises:
            ToolError: The old one is not there, or not only once.
        """
        count = (before or "").count(self.old)
        if before is None or not count:
            what = "there is no such file" if before is None else "the old text is not in it"
            raise ToolError(f"{_shown_path(self.path)} was not edited: {what}", remedy="Read the file first")
        if count > 1 and not self.everywhere:
            raise ToolError(
                f"{_shown_path(self.path)} was not edited: the old text stands there {count} times",
                remedy="Give more of what stands around it, or set everywhere",
            )
        return before.replace(self.old, self.new)


def _look(roots: Roots, uri: str) -> _Before | None:
    """Return the file as it is now; `None` when it does not exist.

    Raises:
        ProtocolError: It may not be written.
        ToolError: It is large, or no text.
    """
    try:
        with find(uri, roots, write=True):
            pass
        with open_content(c.ResourceReadParams(channel=ROOT, uri=uri), roots) as content:
            if content.encoding != c.ContentEncoding.UTF8 or content.size > _MOST_BYTES:
                raise ToolError(f"{uri} is not written: it is no text, or too large ({content.size:,} bytes)")
            return _Before(content.lines(0, None, _MOST_BYTES), content.etag)
    except ProtocolError as error:
        if error.number != AhpErrorCode.NOT_FOUND:
            raise
        return None


def _write(roots: Roots, uri: str, text: str, etag: str | None) -> None:
    if etag is None:
        find_or_make(uri_of(path_of(uri).parent), roots)
    encoding = c.ContentEncoding.UTF8.value
    write(
        c.ResourceWriteParams(
            channel=ROOT, uri=uri, data=text, encoding=encoding, if_match=etag, create_only=etag is None
        ),
        roots,
    )
