"""Lines that are not quite JSON: what some agents write when they cut text, or pass on what is none.

Nothing here is asked about a line that can be read as it is.
"""

from __future__ import annotations

import re

from serai.depth import STRING

__all__ = ["head_of", "mended"]

# An agent that cuts its text between the halves of an emoji writes escapes that stand for no character.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
# Python's own `json` writes numbers that JSON does not have. In a string they are just words.
_NO_NUMBER = re.compile(STRING + rb"|(NaN|-?Infinity)", re.DOTALL)
_HEAD = re.compile(
    rb'\s*+\{(?:\s*+"(?:jsonrpc|id|method)"\s*+:\s*+(?:' + STRING + rb"|[-+.0-9eE]++|null)\s*+,)++",
    re.DOTALL,
)


def mended(line: bytes) -> bytes:
    """The line with a replacement character for whatever is no text, and `null` for what is no number."""
    text = line.decode(errors="replace").encode()
    if b"\\u" in text:
        text = _ESCAPE.sub(lambda match: rb"\ufffd" if match[1] else match[0], text)
    if b"NaN" in text or b"Infinity" in text:
        text = _NO_NUMBER.sub(lambda match: b"null" if match[1] else match[0], text)
    return text


def head_of(line: bytes) -> bytes | None:
    """The id and the method that a line begins with, as an object, whatever follows; `None` without them.

    Nearly all agents write them first, so that a request can be answered which nobody can read.
    """
    match = _HEAD.match(line)
    return match[0][:-1] + b"}" if match else None
