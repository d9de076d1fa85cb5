"""Credentials that only the words around them give away, in what an agent logs and in its errors.

There a long hexadecimal number in a line about signing in is a key, and whatever is assigned to a password is
one. Elsewhere the one is mostly a hash and the other mostly code: all else that agents say is masked by the
shapes of credentials alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from serai.acp.shapes import is_list, is_object
from serai.redact.shapes import looks_random, name_tells

__all__ = ["mask_json", "masked", "masking"]

_NEAR = 80
"""How many characters away the words may be, in the same line."""
_WORDS = ("auth", "token", "credential", "secret", "key", "pass", "pwd")
_CONTEXT = re.compile(
    r"auth(?!or(?!i))|token|credential|secret|api[ _-]?key",  # an author has signed nothing in
    re.IGNORECASE,
)
_HEX = re.compile(r"(?<![0-9A-Za-z])[0-9A-Fa-f]{40,80}(?![0-9A-Za-z])")
_TOKEN = re.compile(r"(?<![0-9A-Za-z])(token[ \t]{1,2})([A-Za-z0-9._~+/-]{16,})", re.IGNORECASE)
_ASSIGNED = re.compile(r"(?<![\w-])([\w-]{3,64}+)(=[\"']?)([^\s\"'`&,;<>()\[\]{}$]{6,}+)(?![(\[])")
_NO_WORD = re.compile(r"[0-9!@#%^*~+]|[a-z][A-Z]|[A-Z]{2}[a-z]")
"""What a value has that is no word: `hunter2`, and not `required`."""


def masking(mask: Callable[[str], str]) -> Callable[[str], str]:
    """What takes the same secrets out of text, and then those that the words around them give away."""
    return lambda text: masked(mask(text))


def mask_json(value: Any, mask: Callable[[str], str]) -> Any:
    """JSON with all its texts masked; its keys stay."""
    if isinstance(value, str):
        return mask(value)
    if is_object(value):
        return {name: mask_json(each, mask) for name, each in value.items()}
    if is_list(value):
        return [mask_json(each, mask) for each in value]
    return value


def masked(text: str) -> str:
    """The text without what is a credential in a log or an error."""
    small = text.lower()
    if not any(word in small for word in _WORDS):
        return text
    text = _TOKEN.sub(_token, text)
    text = _ASSIGNED.sub(_assigned, text)
    return _HEX.sub(lambda found: "[masked:token]" if _is_near_words(text, *found.span()) else found[0], text)


def _token(found: re.Match[str]) -> str:
    return f"{found[1]}[masked:token]" if looks_random(found[2], 0.12) else found[0]


def _assigned(found: re.Match[str]) -> str:
    name, between, value = found.groups()
    kind = name_tells(name)
    return f"{name}{between}[masked:{kind}]" if kind and _NO_WORD.search(value) else found[0]


def _is_near_words(text: str, start: int, end: int) -> bool:
    low = max(text.rfind("\n", 0, start) + 1, start - _NEAR)
    line_end = text.find("\n", end)
    high = min(len(text) if line_end < 0 else line_end, end + _NEAR)
    return _CONTEXT.search(text, low, start) is not None or _CONTEXT.search(text, end, high) is not None
