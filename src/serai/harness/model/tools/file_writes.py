"""Tools that write files. A person sees the edit before it is made, unless they have allowed such edits."""

from __future__ import annotations

import posixpath
from typing import Annotated, NamedTuple

from msgspec import Meta

from serai.ahp import commands as c
from serai.ahp.errors import AhpErrorCode
from serai.ahp.types import ROOT
from serai.errors import ProtocolError, ToolFailed
from serai.harness.file_edits import file_edit, made
from serai.harness.model.tool import BuiltIn, Preview, ToolContext, ToolOutput
from serai.harness.model.tools.file_reads import MOST_BYTES, NamedPath, shown_path, uri_in, with_files
from serai.machine.files import Access, Roots, find, open_content, path_of, uri_of, write
from serai.machine.files.place import find_or_make


class _Before(NamedTuple):
    """A file as it was when it was looked at."""

    text: str
    etag: str


class _Edit(BuiltIn):
    """Shows an edit, and makes it on the version that was shown."""

    path: NamedPath

    def after(self, before: str | None) -> str:
        """What the file is to hold; before, it held this, or (`None`) was not there."""
        raise NotImplementedError

    def pattern(self) -> str:
        """All files of the same directory."""
        return posixpath.join(posixpath.dirname(shown_path(self.path)), "*")

    async def preview(self, context: ToolContext) -> Preview:
        """The edit, on the file as it is now."""
        uri = uri_in(context, self.path)
        before = await with_files(context, _look, uri)
        edit = file_edit(
            context.turn.keep, uri, before and before.text.encode(), self._after(before).encode()
        )
        what = f"{'Edit' if before else 'Write'} `{shown_path(self.path)}`"
        return Preview(what, [edit], shown={uri: before and before.etag})

    async def run(self, context: ToolContext) -> ToolOutput:
        """Make it."""
        uri = uri_in(context, self.path)
        before = await with_files(context, _look, uri)
        etag = before and before.etag
        if context.shown.get(uri, etag) != etag:
            raise ToolFailed(f"{uri} has changed since the edit was shown", remedy="Read it, and try again")
        after = self._after(before)
        await with_files(context, _write, uri, after, etag)
        edit = file_edit(context.turn.keep, uri, before and before.text.encode(), after.encode())
        lines = f"{edit.diff.added} lines added, {edit.diff.removed} removed" if edit.diff else ""
        return ToolOutput(f"{shown_path(self.path)} is written: {lines}", content=[made(edit)])

    def _after(self, before: _Before | None) -> str:
        # JSON can write half a character, which no file can hold.
        return self.after(before and before.text).encode(errors="replace").decode()


class WriteFile(_Edit):
    """Write a text file as a whole. Directories that are missing are made."""

    name, title = "write_file", "Write a file"

    content: str

    def after(self, before: str | None) -> str:
        """All of it."""
        del before
        return self.content


class EditFile(_Edit):
    """Replace a text in a file by another."""

    name, title = "edit_file", "Edit a file"

    old: Annotated[str, Meta(min_length=1, description="As it stands in the file, and only once there")]
    new: str
    everywhere: Annotated[bool, Meta(description="Replace it wherever it stands")] = False

    def after(self, before: str | None) -> str:
        """The file with the new text.

        Raises:
            ToolFailed: The old one is not there, or not only once.
        """
        count = (before or "").count(self.old)
        if before is None or not count:
            what = "there is no such file" if before is None else "the old text is not in it"
            raise ToolFailed(f"{shown_path(self.path)} was not edited: {what}", remedy="Read the file first")
        if count > 1 and not self.everywhere:
            raise ToolFailed(
                f"{shown_path(self.path)} was not edited: the old text stands there {count} times",
                remedy="Give more of what stands around it, or set everywhere",
            )
        return before.replace(self.old, self.new)


def _look(roots: Roots, uri: str) -> _Before | None:
    """The file as it is now; `None` when it is not there.

    Raises:
        ProtocolError: It may not be written.
        ToolFailed: It is large, or no text.
    """
    try:
        find(uri, roots, Access.WRITE).close()
        with open_content(c.ResourceReadParams(channel=ROOT, uri=uri), roots) as content:
            if content.encoding != c.ContentEncoding.UTF8 or content.size > MOST_BYTES:
                raise ToolFailed(
                    f"{uri} is not written: it is no text, or too large ({content.size:,} bytes)"
                )
            return _Before(content.lines(0, None, MOST_BYTES), content.etag)
    except ProtocolError as error:
        if error.number != AhpErrorCode.NOT_FOUND:
            raise
        return None


def _write(roots: Roots, uri: str, text: str, etag: str | None) -> None:
    if etag is None:
        find_or_make(uri_of(path_of(uri).parent), roots).close()
    encoding = c.ContentEncoding.UTF8.value
    write(
        c.ResourceWriteParams(
            channel=ROOT, uri=uri, data=text, encoding=encoding, if_match=etag, create_only=etag is None
        ),
        roots,
    )
