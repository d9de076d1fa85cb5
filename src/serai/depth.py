"""How deeply JSON may be nested, and how many values it may have.

Interpreters differ in how deep C code may recurse, so the bound is ours, and it is checked before anything is
read: a document that can be read can then also be written, wherever in the stack that happens. And what is
read in one piece holds everyone up for as long as that takes, which goes by values more than by bytes.
"""

from __future__ import annotations

import re
from itertools import accumulate, islice

from serai.errors import ParseError

MAX_DEPTH = 128
"""AHP's own types reach 16 levels, and settings may be nested further; the rest is for free-form records."""

# Possessive, and content with a string that never ends: no input makes it go back over what it has read.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = [0] * 256
_STEPS[ord("[")] = _STEPS[ord("{")] = 1
_STEPS[ord("]")] = _STEPS[ord("}")] = -1


def checked(data: bytes | str, max_depth: int = MAX_DEPTH, max_values: int | None = None) -> bytes:
    """The data as bytes, when it is nested no deeper than it may be, and has no more values.

    Raises:
        ParseError: It is nested deeper, has more values, or is text that is not Unicode.
    """
    try:
        raw = data.encode() if isinstance(data, str) else data
    except UnicodeEncodeError as error:
        raise ParseError(f"this is not readable JSON: {error}") from None
    if max_values is not None and len(raw) > 2 * max_values and _most_values(raw) > max_values:
        # A value has at most one string for its name, and one that it is: more strings need no second look.
        more_strings = islice(_STRING.finditer(raw), 2 * max_values, None)
        if next(more_strings, None) or _most_values(_STRING.sub(b"", raw)) > max_values:
            raise ParseError(f"this has more than {max_values:,} values")
    # What is short, or has few brackets, cannot be deep: most frames are passed after two counts in C.
    if len(raw) > 2 * max_depth and raw.count(b"[") + raw.count(b"{") > max_depth:
        brackets = _STRING.sub(b"", raw).translate(None, _NO_BRACKETS)
        if max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > max_depth:
            raise ParseError(f"this is nested deeper than {max_depth} levels")
    return raw


def _most_values(raw: bytes) -> int:
    """As many values as there can be: each begins the document or a list, follows a comma, or is a member."""
    return 1 + raw.count(b",") + raw.count(b"[") + raw.count(b"{")
