"""The agent's log (its standard error): always read, its end kept, its credentials masked.

In a log or an error, a long hexadecimal number in a line about signing in counts as a key, and so does any
value assigned to a password. Elsewhere such text is mostly a hash or code, so all other output of agents is
masked by the shapes of credentials alone.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable

from serai.jsonrpc import LineSplitter
from serai.redact.shapes import looks_random, name_tells

LINES = 64
"""Number of lines that are kept."""
_LONGEST = 4096
"""Longest line that is kept whole, in bytes."""

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])|[\x00-\x08\x0b-\x1f\x7f]"
)


class StderrTail:
    """The last lines of a log, of bounded size. Secrets are removed when they are read.

    Args:
        mask: Removes secrets from text.
        hear: Takes every line, redacted.
    """

    def __init__(self, mask: Callable[[str], str], hear: Callable[[str], None] | None = None) -> None:
        self._mask = masking(mask)
        self._hear = hear
        self._lines = LineSplitter()
        self._kept: deque[str] = deque(maxlen=LINES)
        self._cut = False

    def feed(self, data: bytes) -> None:
        """Take output of the agent. Of a line without an end, the beginning is kept."""
        for line in self._lines.feed(data):
            if not self._cut:
                self._keep(line)
            self._cut = False
        if self._lines.size > _LONGEST:
            rest = self._lines.rest()
            if not self._cut:
                self._keep(rest)
            self._cut = True

    def add(self, line: bytes) -> None:
        """Keep a line that was written to the output and is no message. `hear` does not get it."""
        self._keep(line, is_log=False)

    def close(self) -> None:
        """Keep an incomplete last line: the agent writes no more."""
        if (rest := self._lines.rest()) and not self._cut:
            self._keep(rest)

    def __str__(self) -> str:
        return self._mask("\n".join(self._kept))

    def _keep(self, line: bytes, *, is_log: bool = True) -> None:
        text = _ESCAPES.sub("", line[: 2 * _LONGEST].decode("utf-8", "replace")).rstrip()
        if len(line) > _LONGEST:
            # Half of a secret would not be known as one: what is cut is cut between words.
            text = text[:_LONGEST].rpartition(" ")[0] + " [...]"
        if text:
            self._kept.append(text)
            if self._hear is not None and is_log:
                self._hear(self._mask(text))


_NEAR = 80
"""Largest distance of the words in the same line, in characters."""
_WORDS = ("auth", "token", "credential", "secret", "key", "pass", "pwd")
_CONTEXT = re.compile(
    r"auth(?!or(?!i))|token|credential|secret|api[ _-]?key",  # an author has signed nothing in
    re.IGNORECASE,
)
_HEX = re.compile(r"(?<![0-9A-Za-z])[0-9A-Fa-f]{40,80}(?![0-9A-Za-z])")
_TOKEN = re.compile(r"(?<![0-9A-Za-z])(token[ \t]{1,2})([A-Za-z0-9._~+/-]{16,})", re.IGNORECASE)
_ASSIGNED = re.compile(r"(?<![\w-])([\w-]{3,64}+)(=[\"']?)([^\s\"'`&,;<>()\[\]{}$]{6,}+)(?![(\[])")
_NO_WORD = re.compile(r"[0-9!@#%^*~+]|[a-z][A-Z]|[A-Z]{2}[a-z]")
"""A sign that a value is no plain word: `hunter2`, but not `required`."""


def masking(mask: Callable[[str], str]) -> Callable[[str], str]:
    """Return a mask that also removes the secrets that the words around them reveal."""
    return lambda text: masked(mask(text))


def masked(text: str) -> str:
    """Remove from a text what is a credential in a log or an error."""
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
