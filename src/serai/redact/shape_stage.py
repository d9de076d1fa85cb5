"""Masks shapes of credentials in a text that comes in pieces.

The stage keeps a little of what it has seen:

    ....already out....|looked behind|a match under way: its name is out, |its value is held
                                     ^ scan                                ^ sent

A match under way is left alone until it is whole or has failed. Its name (`password=`) may go out, since it
is no secret; its value is held. Redacting a whole text is the same with `final`, so both give one result.

In silence a few characters of a value may be let go. Then `sent` is behind where the value begins, `scan` is
not: the match goes on, and its mask comes after what is out.
"""

from __future__ import annotations

import re
from functools import cache

from serai.redact.finder import LOOK_BEHIND, UNSEEN, Found, PatternFinder
from serai.redact.shapes import ASSIGNED, LIMIT, PRIVATE_KEY, SEPARATORS, SHAPES, Shape

_KEPT = LOOK_BEHIND + UNSEEN
_GAP = 200
"""A private key ends where this much text has no line of it."""
_KEY_LINE = 16
_KEY_FOOTER = 80
_IN_KEY = re.compile(
    rf"-----END[A-Z0-9 ]{{0,60}}+(?:-----|(?P<open>-{{0,4}}\Z))|(?P<line>[A-Za-z0-9+/]{{{_KEY_LINE},}}+)"
)
_KEY_CHARS = re.compile(r"[A-Za-z0-9+/=]*")
_KEY_REST = re.compile(r"(?:\s|\\[nr])+[A-Za-z0-9+/=]+\Z")


def redact_shapes(text: str) -> str:
    """Mask all credentials in a text that is whole."""
    if _finder().find(text, 0, final=True) is None:
        return text
    return ShapeStage().flush(text)


@cache
def _finder() -> PatternFinder:
    return PatternFinder([shape.pattern for shape in SHAPES], SEPARATORS, ASSIGNED)


@cache
def _run_of(shape: Shape) -> re.Pattern[str]:
    return re.compile(f"[{shape.pattern.tail}]*")


def _mask(kind: str) -> str:
    return f"[masked:{kind}]"


class ShapeStage:
    """One text that comes in pieces. `feed` and `flush` return what may go out."""

    __slots__ = ("_buffer", "_finder", "_in_key", "_out", "_run", "_scan", "_sent")

    def __init__(self) -> None:
        self._finder = _finder()
        self._buffer = ""
        # Where to look for the next match, and up to where the buffer has gone out.
        self._scan: int = 0
        self._sent: int = 0
        # While set, text is dropped: the rest of a secret that has been masked already.
        self._run: re.Pattern[str] | None = None
        # While set, we are behind the header of a private key; `True` once a line of the key was seen.
        self._in_key: bool | None = None
        self._out: list[str] = []

    @property
    def held(self) -> int:
        """How many characters are held back."""
        return len(self._buffer) - self._sent

    def feed(self, text: str) -> str:
        """Take more text."""
        is_busy = self._sent < len(self._buffer) or self._run is not None or self._in_key is not None
        buffer, scan = self._buffer + text, self._scan
        if is_busy or not self._finder.is_quiet(buffer, scan):
            self._buffer = buffer
            return self._advance(final=False)
        # The usual case, without the machinery: nothing in the text looks like a credential.
        size = len(buffer)
        cut = max(0, size - _KEPT)
        self._buffer = buffer[cut:]
        self._scan, self._sent = max(scan, size - UNSEEN) - cut, size - cut
        return text

    def flush(self, text: str = "") -> str:
        """Take the last text: nothing follows."""
        self._buffer += text
        return self._advance(final=True)

    def let_go(self, most: int) -> str:
        """What is held back, up to a secret of which more than so many characters are there."""
        if self._run is None and self._in_key is None and self.held:
            self._release(self._secret_under_way(most))
        return self._taken()

    def _advance(self, *, final: bool) -> str:
        while self._step(final=final):
            pass
        return self._taken()

    def _taken(self) -> str:
        out = "".join(self._out)
        self._out.clear()
        return out

    def _step(self, *, final: bool) -> bool:
        """Take one step through the buffer. Returns whether there may be another one."""
        if self._run is not None:
            return self._drop_run(self._run)
        if self._in_key is not None:
            return self._drop_key(begun=self._in_key, final=final)
        found = self._finder.find(self._buffer, self._scan, final=final)
        if found is not None and found.whole and found.value is not None:
            self._settle(SHAPES[found.number], found.start, found.value, found.end)
            return True
        if found is not None:
            return self._wait(found)
        self._release(len(self._buffer))
        self._scan = max(self._scan, self._sent - UNSEEN)
        self._forget()
        return False

    def _settle(self, shape: Shape, start: int, value: int, end: int) -> None:
        """A match is whole: mask it, or let it go."""
        secret = shape.secret(self._buffer, start, value, end)
        if secret is None:
            # What was a name and its value may still be a name and another kind of secret.
            self._scan = value if value > start else end
        elif secret.kind == PRIVATE_KEY:
            self._release(start)
            self._in_key = False
            self._scan = end
        else:
            self._mask(secret.kind, secret.start, secret.end)

    def _wait(self, found: Found) -> bool:
        """A match is under way: let go what is surely no part of a secret."""
        buffer = self._buffer
        hold = found.value
        if hold is None:
            hold = self._first_value_after(found.start)
        elif len(buffer) - hold >= LIMIT and SHAPES[found.number].pattern.tail:
            shape = SHAPES[found.number]
            self._mask(shape.kind, hold, len(buffer))
            self._run = _run_of(shape)
            return True
        self._release(hold)
        self._scan = min(found.start, max(self._scan, len(buffer) - UNSEEN))
        self._forget()
        return False

    def _first_value_after(self, start: int) -> int:
        """Where a secret may begin inside a name that is not whole yet, and may turn out to be none."""
        while True:
            found = self._finder.find(self._buffer, start + 1, final=False)
            if found is None:
                return len(self._buffer)
            if found.value is not None:
                return found.value
            start = found.start

    def _secret_under_way(self, most: int) -> int:
        """Where a secret begins of which more than so many characters are there, or that has a name."""
        buffer, start = self._buffer, self._scan
        while found := self._finder.find(buffer, start, final=False):
            value = found.value
            shape = SHAPES[found.number]
            if value is not None and (found.whole or shape.has_begun(buffer, found.start, value)):
                is_named = value > found.start
                if is_named or len(buffer) - value > most:
                    return value
            start = found.start + 1
        return len(buffer)

    def _drop_run(self, run: re.Pattern[str]) -> bool:
        rest = run.match(self._buffer, self._scan)
        self._scan = self._sent = rest.end() if rest else self._scan
        if self._scan == len(self._buffer):
            self._forget()
            return False
        self._run = None
        return True

    def _drop_key(self, *, begun: bool, final: bool) -> bool:
        """Drop lines of a private key up to its footer, or to where no line of it follows."""
        buffer = self._buffer
        if begun and (rest := _KEY_CHARS.match(buffer, self._scan)):
            self._scan = self._sent = rest.end()
        reach = self._scan + _GAP + _KEY_FOOTER
        all_there = final or len(buffer) >= reach
        found = _IN_KEY.search(buffer, self._scan, reach)
        if not all_there and (found is None or found["open"] is not None):
            self._forget()
            return False
        if found is None:  # a header alone, or a key that breaks off
            self._in_key = None
            if begun and (rest := _KEY_REST.match(buffer, self._scan)):
                self._scan = self._sent = rest.end()
        elif found["line"] is not None:
            if not begun:
                self._out.append(_mask(PRIVATE_KEY))
            self._in_key = True
            self._scan = self._sent = found.end()
        else:  # a footer; without a line before it, it belongs to a text about keys
            self._in_key = None
            self._scan = found.end()
            self._sent = self._scan if begun else self._sent
        return True

    def _mask(self, kind: str, start: int, end: int) -> None:
        self._release(start)
        self._out.append(_mask(kind))
        self._scan = self._sent = end

    def _release(self, end: int) -> None:
        if end > self._sent:
            self._out.append(self._buffer[self._sent : end])
            self._sent = end

    def _forget(self) -> None:
        """Drop what has gone out and no match can look at any more."""
        cut = min(self._scan - LOOK_BEHIND, self._sent)
        if cut > 0:
            self._buffer = self._buffer[cut:]
            self._scan -= cut
            self._sent -= cut
