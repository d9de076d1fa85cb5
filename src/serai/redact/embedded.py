"""Content as bytes: read from base64 however that is written, and told to be text or not."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Callable

__all__ = ["are_words", "decode_base64", "in_pieces", "is_text", "may_be_words", "without_beginning"]

_NOT_IN_TEXT = re.compile(rb"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")
"""Pictures, archives and programs have some of these soon; text has none, also as a terminal shows it."""
_ODD = re.compile("[\udc81-\udc84\udc86-\udc90\udc98\udc9a-\udc9f]")
"""Bytes, as `surrogateescape` has them, that are neither a letter or sign of Latin-1, nor one of the quotes,
dashes and signs of Windows."""
_FEW = 8
"""Text of Western Europe in such an encoding has fewer letters beyond ASCII than one in so many."""
_STRICT = str.maketrans("-_", "+/", " \t\r\n\v\f")
_PEM = "-----BEGIN "
"""Its dashes and letters could be read as base64, too."""
_LONE = 1024
"""A key or a token alone is shorter."""
_WORD = re.compile(r"\s\S{1,15}\s++\S")
"""What is too short for a line, and is not the last one."""
_BETWEEN = r"(?:\\[rn]|[\s>])++"
"""What stands between lines, also when they are quoted, or line breaks are written out."""
_RUN = "[A-Za-z0-9+/_-]"
_MORE = rf"{_BETWEEN}(?!--){_RUN}"  # with two dashes begins the end of PEM
_PIECE = re.compile(rf"(?<!{_RUN}){_RUN}{{24,}}+(?:{_MORE}{{24,}}+)*+(?:{_MORE}++)?+={{0,2}}+")
"""Long lines of base64, and a last one of any length."""
_BETWEEN_OR_END = re.compile(rf"{_BETWEEN}|=")
_HEAD = 64
"""So many characters of base64 tell whether they are read rightly: 48 bytes of chance are no text."""
_MOST_CUT = 10_000
"""Of so many pieces of one text it is looked at whether their beginnings are cut off: that takes time."""
_REST_OF_LETTER = re.compile(rb"[\x80-\xbf]{0,3}")
"""What UTF-8 begins with that is cut off within a character."""


def decode_base64(text: str) -> bytes | None:
    """What a text in base64 says; `None` for what is none.

    Line breaks and other white space, padding that is missing, and the letters that are safe in an address
    are as good as the strict form: `base64`, mail and Python write it that way.
    """
    if not text.isascii():
        return None
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        bare = text.translate(_STRICT)
    if _PEM in text:
        return None
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except ValueError:
        return None


def in_pieces(text: str, mask: Callable[[bytes], bytes]) -> str:
    """Mask what base64 says that stands in a text: between quotes, behind a header, cut off anywhere.

    Where its beginning is cut off see `without_beginning`.

    Args:
        text: What cannot be read as base64 as a whole.
        mask: Given what a piece says. A piece for which it returns the same object stays as it was written.

    Returns:
        The same object when there was nothing to mask.
    """
    left = iter(range(_MOST_CUT))

    def masked(piece: re.Match[str]) -> str:
        bare = _BETWEEN_OR_END.sub("", piece[0])
        data = decode_base64(bare[:-1] if len(bare) % 4 == 1 else bare)
        if data is not None and (said := mask(data)) is not data:
            return base64.b64encode(said).decode()
        if len(bare) < _HEAD or next(left, None) is None:
            return piece[0]
        return without_beginning(bare, mask) or piece[0]

    found = _PIECE.sub(masked, text)
    return text if found == text else found


def without_beginning(text: str, mask: Callable[[bytes], bytes]) -> str | None:
    """Mask what base64 says whose beginning is cut off, within four characters that belong together.

    Its beginning tells whether it is read rightly, so what is left must have 64 characters.

    Args:
        text: Base64, perhaps in lines.
        mask: Given what it says, from the second, third or fourth character on, where that is text.

    Returns:
        `None` when there was nothing to mask.
    """
    if len(text) < _HEAD:
        return None
    strict = text.translate(_STRICT).rstrip("=")
    for cut in range(4):
        head = _decode(strict[cut : cut + _HEAD])
        if not is_text(head[_rest_of_letter(head) :]):
            continue
        data = _decode(strict[cut:])
        start = _rest_of_letter(data)
        if (cut or start) and (said := mask(whole := data[start:])) is not whole:
            return strict[:cut] + base64.b64encode(data[:start] + said).decode()
    return None


def _decode(strict: str) -> bytes:
    """What the strict form says, cut off anywhere behind: of one character alone, nothing."""
    return binascii.a2b_base64((strict[:-1] if len(strict) % 4 == 1 else strict) + "==")


def _rest_of_letter(data: bytes) -> int:
    """How many bytes it begins with that are the rest of a letter in UTF-8."""
    rest = _REST_OF_LETTER.match(data)
    return rest.end() if rest else 0


def are_words(text: str) -> bool:
    """Whether what can be read as base64 is words without any sign between them: short ones come soon."""
    return _WORD.search(f" {text[:_LONE]}") is not None


def may_be_words(text: str) -> bool:
    """Whether what can be read as base64 may as well be a key alone, or words without any sign between them.

    Base64 is one long run, or long lines.
    """
    return len(text) <= _LONE or are_words(text)


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
