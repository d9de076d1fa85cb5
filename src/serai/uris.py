"""Converts `file:` URIs to paths and back.

Parsing is strict, so that a URI names exactly one path and nothing can be smuggled through it: the path is
split at its slashes first, and each segment is decoded once after that.

Bytes that are not UTF-8 become lone surrogates in the path, as usual in Python, and are restored in the URI.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from serai.ahp.commands import AhpErrorCode
from serai.errors import ProtocolError

_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_HERE = frozenset({"", "localhost"})


def path_of(uri: str) -> Path:
    """Return the absolute path that a `file:` URI names. Nothing is looked up; links are not followed.

    Empty segments and `.` are left out. `..` is refused rather than resolved: where it leads depends on
    links, and nobody who means well sends it.

    Raises:
        ProtocolError: `PERMISSION_DENIED`: the URI is of another scheme or machine, relative, has a query or
            a fragment, or is no URI; or a segment is `..` or holds a slash or a zero byte once it is decoded.
    """
    scheme, colon, rest = uri.partition(":")
    if not colon or scheme.lower() != "file":
        raise _refused(uri, "it is no file: URI")
    if _CONTROL.search(uri) or _BAD_ESCAPE.search(uri):
        raise _refused(uri, "it is not well-formed")
    if "?" in rest or "#" in rest:
        raise _refused(uri, "a file has no query and no fragment")
    if rest.startswith("//"):
        authority, slash, rest = rest[2:].partition("/")
        if authority.lower() not in _HERE:
            raise _refused(uri, "it is on another machine")
        rest = slash + rest
    if not rest.startswith("/"):
        raise _refused(uri, "it is relative")
    return Path("/", *filter(None, (_name(segment, uri) for segment in rest.split("/"))))


def _name(segment: str, uri: str) -> str:
    try:
        name = unquote_to_bytes(segment)  # text beyond ASCII is taken as UTF-8
    except UnicodeEncodeError:
        raise _refused(uri, "it holds half a character") from None
    if name == b"..":
        raise _refused(uri, "it goes up with '..'")
    if b"/" in name or b"\0" in name:
        raise _refused(uri, "a name in it holds a slash or a zero byte")
    return "" if name == b"." else os.fsdecode(name)


def uri_of(path: str | os.PathLike[str]) -> str:
    """Return the `file:` URI of an absolute path, percent-encoded where needed."""
    return "file://" + quote(os.fsencode(path))


def _refused(uri: str, why: str) -> ProtocolError:
    shown = ascii(uri[:200])
    return ProtocolError(f"{shown} is refused: {why}", number=AhpErrorCode.PERMISSION_DENIED)
