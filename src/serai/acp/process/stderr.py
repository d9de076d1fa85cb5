"""The log that an agent writes to its standard error: always read, and its end kept."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable

from serai.acp.process.mask import masking
from serai.jsonrpc import Lines

__all__ = ["LINES", "StderrTail"]

LINES = 64
"""How many lines are kept."""
_LONGEST = 4096
"""How much of a line is kept, in bytes."""

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])|[\x00-\x08\x0b-\x1f\x7f]"
)


class StderrTail:
    """The last lines of a log, with a bound on their size. Secrets are taken out when they are looked at.

    Args:
        mask: Takes secrets out of text.
        hear: Is told every line, redacted.
    """

    def __init__(self, mask: Callable[[str], str], hear: Callable[[str], None] | None = None) -> None:
        self._mask = masking(mask)
        self._hear = hear
        self._lines = Lines()
        self._kept: deque[str] = deque(maxlen=LINES)
        self._cut = False

    def feed(self, data: bytes) -> None:
        """Take what the agent has written."""
        # A line without an end is kept up to its bound; the rest of it is passed over.
        for start in range(0, len(data), _LONGEST):
            self._feed(data[start : start + _LONGEST])

    def add(self, line: bytes) -> None:
        """Take a line that the agent has written where messages should be: kept, and not told as its log."""
        self._keep(line, cut=False, is_log=False)

    def close(self) -> None:
        """The agent writes no more."""
        if rest := self._lines.rest():
            self._keep(rest, cut=False)

    def __str__(self) -> str:
        return self._mask("\n".join(self._kept))

    def _feed(self, data: bytes) -> None:
        if self._cut:
            _, end, data = data.partition(b"\n")
            if not end:
                return
            self._cut = False
        for line in self._lines.feed(data):
            self._keep(line, cut=False)
        if self._lines.size > _LONGEST:
            self._keep(self._lines.rest(), cut=True)
            self._cut = True

    def _keep(self, line: bytes, *, cut: bool, is_log: bool = True) -> None:
        text = _ESCAPES.sub("", line.decode("utf-8", "replace")).rstrip()
        if cut or len(text) > _LONGEST:
            # Half of a secret would not be known as one: what is cut is cut between words.
            text = text[:_LONGEST].rpartition(" ")[0] + " [...]"
        if text:
            self._kept.append(text)
            if self._hear is not None and is_log:
                self._hear(self._mask(text))
