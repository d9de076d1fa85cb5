"""`resourceRead`: reads files, whole or in pieces, and tells their content types.

AHP 0.2 has no ranges: a read is answered with the whole file in one JSON message. `open_content` gives the
encoding and the content type first, and then the data in pieces that fit into that message.
"""

from __future__ import annotations

import base64
import codecs
import mimetypes
import os
from collections.abc import Iterator
from typing import Self

import msgspec

from serai.ahp.commands import ContentEncoding, ResourceReadParams, ResourceReadResult
from serai.errors import InvalidParams
from serai.machine.draft import PIECE, pieces
from serai.machine.files.place import etag, find
from serai.machine.files.refusals import client_errors
from serai.machine.files.roots import Roots

_decoder = codecs.getincrementaldecoder("utf-8")
_encode = msgspec.json.Encoder().encode


class Content:
    """A file that is open for reading. Use it in a `with`, or close it."""

    def __init__(self, uri: str, descriptor: int, info: os.stat_result, name: str) -> None:
        self._uri = uri
        self._descriptor = descriptor
        self.size = info.st_size
        """Size of the file when it was opened, in bytes. No more is read."""
        self.etag = etag(info)
        self.encoding = ContentEncoding.BASE64
        self.content_type = content_type(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Repeated calls do nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def choose(self, asked: str | None) -> None:
        """Choose the encoding and the content type. Unless base64 is asked for, this reads the file once.

        Without a wish, a file is text if it is UTF-8 without zero bytes. Text may have zero bytes, but files
        with them are not meant as text, and each would take six bytes in JSON. A file that is asked for as
        text and is none comes as base64: the answer says so. The content type does not depend on the
        encoding.

        Raises:
            ProtocolError: The file cannot be read.
        """
        zeros = asked == ContentEncoding.UTF8
        if asked != ContentEncoding.BASE64 and self._is_text(zeros=zeros):
            self.encoding = ContentEncoding.UTF8
        if self.content_type is None:
            self.content_type = guessed_type(next(self._raw(BEGINNING), b""))

    def _is_text(self, *, zeros: bool) -> bool:
        decoder = _decoder()
        try:
            for piece in self._raw(PIECE):
                if not zeros and b"\0" in piece:
                    return False
                if not piece.isascii() or decoder.getstate()[0]:  # ASCII is many times faster to recognise
                    decoder.decode(piece)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
        return True

    def _raw(self, size: int) -> Iterator[bytes]:
        with client_errors(self._uri):
            yield from pieces(self._descriptor, 0, self.size, size)

    def pieces(self) -> Iterator[bytes]:
        """Yield the data as it stands between the quotes of a JSON string, about 256 KiB at a time.

        A file that another program changes meanwhile may no longer be text: bytes that are not UTF-8 then
        become U+FFFD. Each call starts from the beginning.

        Raises:
            ProtocolError: The file cannot be read any further.
        """
        if self.encoding == ContentEncoding.BASE64:
            for piece in self._raw(PIECE // 4 * 3):  # a multiple of three: only the last is padded
                yield base64.b64encode(piece)
            return
        decoder = _decoder("replace")
        for piece in self._raw(PIECE):
            if text := decoder.decode(piece):
                yield _encode(text)[1:-1]
        if text := decoder.decode(b"", final=True):
            yield _encode(text)[1:-1]

    def whole(self) -> ResourceReadResult:
        """Read the whole file. It is held in memory several times: for large files use `pieces`.

        Raises:
            ProtocolError: The file cannot be read.
        """
        data = msgspec.json.decode(b'"' + b"".join(self.pieces()) + b'"', type=str)
        return ResourceReadResult(data=data, encoding=self.encoding.value, content_type=self.content_type)

    def lines(self, first: int, last: int | None, most: int) -> str:
        """Return some lines of a text, counted from 0, with their ends. Only a line feed ends a line.

        Args:
            first: The first line.
            last: The line after the last one; `None` for the end of the text.
            most: Largest result, in bytes.

        Raises:
            ProtocolError: The lines are longer than that, or cannot be read.
        """
        number, found = 0, bytearray()
        with client_errors(self._uri), open(self._descriptor, "rb", closefd=False) as file:
            # A long line comes in pieces: memory does not depend on its length.
            while (last is None or number < last) and (piece := file.readline(PIECE)):
                if number >= first:
                    found += piece
                    if len(found) > most:
                        raise _too_large(f"the requested part of {self._uri}", most)
                number += piece.endswith(b"\n")
        return found.decode(errors="replace")


def open_content(params: ResourceReadParams, roots: Roots) -> Content:
    """Open a file for reading. The caller closes it. Memory does not depend on the file's size.

    Raises:
        ProtocolError: `NOT_FOUND`, or `PERMISSION_DENIED` (outside, several names, no regular file, ...).
        InvalidParams: It is a directory.
    """
    with find(params.uri, roots) as place:
        descriptor, info = place.open()
        content = Content(params.uri, descriptor, info, place.name)
    try:
        content.choose(params.encoding)
    except BaseException:
        content.close()
        raise
    return content


def read(
    params: ResourceReadParams,
    roots: Roots,
    *,
    first: int = 0,
    last: int | None = None,
    most: int | None = None,
) -> ResourceReadResult:
    """Read a file, or some lines of a text (`Content.lines`). For large files use `open_content`.

    Args:
        params: The file.
        roots: The directories that may be read.
        first: The first line.
        last: The line after the last one.
        most: Most bytes that may be read. They are held in memory several times.

    Raises:
        ProtocolError: As `open_content`.
        InvalidParams: As `open_content`, or there is more than may be read.
    """
    with open_content(params, roots) as content:
        is_part = content.encoding == ContentEncoding.UTF8 and (first or last is not None)
        if is_part:
            data = content.lines(first, last, content.size if most is None else most)
            return ResourceReadResult(
                data=data, encoding=content.encoding.value, content_type=content.content_type
            )
        if most is not None and content.size > most:
            raise _too_large(f"{params.uri} ({content.size:,} bytes)", most)
        return content.whole()


def _too_large(what: str, most: int) -> InvalidParams:
    return InvalidParams(f"at most {most:,} bytes are read at once: {what} is too large", field="params.uri")


# -- content types -------------------------------------------------------------------------------------------
#
# The table of Python knows many types, but takes a TypeScript file for a video. Where no table tells,
# the content decides. The tables of the machine are not read, so that the answer is the same everywhere.

PLAIN = "text/plain"
BINARY = "application/octet-stream"

BEGINNING = 8_192
"""Number of bytes at the beginning of a file that tell whether it is text."""

_types = mimetypes.MimeTypes()

_COMPRESSED = {"gzip": "gzip", "bzip2": "x-bzip2", "xz": "x-xz", "compress": "x-compress", "br": "x-brotli"}
_TYPES = {
    "text/markdown": ".md .markdown .mdx .mdc",
    "text/typescript": ".ts .mts .cts .tsx",
    "text/javascript": ".js .mjs .cjs .jsx",
    "application/toml": ".toml",
    "application/yaml": ".yaml .yml",
    "image/webp": ".webp",
    "image/avif": ".avif",
}
_BY_ENDING = {ending: kind for kind, endings in _TYPES.items() for ending in endings.split()}


def content_type(name: str) -> str | None:
    """Return the content type of a file by its name; `None` when the name does not tell."""
    lower = name.lower()
    dot = lower.rfind(".")
    ending = lower[dot:] if dot >= 0 else ""
    if known := _BY_ENDING.get(ending):
        return known
    guessed, compression = _types.guess_type(f"x{ending}" if ending else "x")
    if compression is None:
        return guessed
    return f"application/{_COMPRESSED[compression]}" if compression in _COMPRESSED else BINARY


def guessed_type(beginning: bytes) -> str:
    """Return the content type of a file by its beginning: plain text or binary.

    Args:
        beginning: The first `BEGINNING` bytes or more; fewer only when the file has no more.
    """
    head = beginning[:BEGINNING]
    if b"\0" in head:
        return BINARY
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, final=len(head) < BEGINNING)
    except UnicodeDecodeError:
        return BINARY
    return PLAIN
