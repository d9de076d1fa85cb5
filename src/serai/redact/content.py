"""Content as bytes: reads base64 however it is written, and tells text from pictures."""

from __future__ import annotations

import base64
import codecs
import re

__all__ = ["decode_base64", "is_text"]

_NOT_IN_TEXT = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")
"""Bytes that pictures, archives and programs have soon, and text never, also as a terminal shows it."""
_ODD = re.compile("[\udc81-\udc84\udc86-\udc90\udc98\udc9a-\udc9f]")
"""Bytes, as `surrogateescape` has them, that no letter or sign of Latin-1 or Windows has."""
_FEW = 8
"""Text in Latin-1 has fewer letters beyond ASCII than one in so many."""
_STRICT = str.maketrans("-_", "+/", " \t\r\n\v\f")
_PEM = "-----BEGIN "
"""The header of a key. Its dashes and letters could be read as base64, too."""


def decode_base64(text: str) -> bytes | None:
    """What a text in base64 says; `None` for what is none.

    Line breaks and other white space, padding that is missing, and the letters that are safe in an address
    are as good as the strict form: `base64`, mail and Python write it that way. Base64
    that is cut off at its end is read up to there.
    """
    if not text.isascii():
        return None
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        bare = text.translate(_STRICT)
    if _PEM in text:
        return None
    bare = bare[:-1] if len(bare) % 4 == 1 and bare[-1].isalnum() else bare + "=" * (-len(bare) % 4)
    try:
        return base64.b64decode(bare, validate=True)
    except ValueError:
        return None


def is_text(data: bytes) -> bool:
    """Whether bytes are text: UTF-8, perhaps cut off within its last character, or ASCII for the most part.

    What looks like a secret in a picture is chance, and a mask would break the picture: in doubt it is none.
    """
    try:
        codecs.utf_8_decode(data)
    except UnicodeDecodeError:
        return _NOT_IN_TEXT.search(data) is None and _is_latin(data)
    return True


def _is_latin(data: bytes) -> bool:
    stray = len(data) - len(data.decode(errors="ignore").encode())
    return stray * _FEW <= len(data) and _ODD.search(data.decode(errors="surrogateescape")) is None
