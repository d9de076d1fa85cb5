"""Masks shapes of credentials in a text that comes in pieces.

The stage keeps a buffer of recent text:

    ...already sent....|looked behind|a lead, which is sent,|its candidate, which is held
                                     ^ scan                 ^ sent

A candidate is held until it is complete. Its lead (`password=`, `ghp_`) is sent, since it is no secret.
Redacting a complete text is the same with `final`, so that both give the same result.

During a pause, text that reveals nothing of a secret may be released. Then `sent` is behind the beginning of
the candidate, and `scan` is not: the candidate continues, and its mask follows the text that was sent.
"""

from __future__ import annotations

import re

from serai.redact.finder import LONGEST_LEAD, LOOK_BEHIND, UNSEEN, Lead, find, is_quiet
from serai.redact.shapes import LIMIT, PRIVATE_KEY, Shape

_KEPT = LOOK_BEHIND + UNSEEN
_GAP = 200
"""Number of characters without a line of a private key, after which the key has ended."""
_KEY_LINE = 16
_KEY_FOOTER = 80
_IN_KEY = re.compile(
    rf"-----END[A-Z0-9 ]{{0,60}}+(?:-----|(?P<open>-{{0,4}}\Z))|(?P<line>[A-Za-z0-9+/]{{{_KEY_LINE},}}+)"
)
_KEY_CHARS = re.compile(r"[A-Za-z0-9+/=]*")
_KEY_REST = re.compile(r"(?:\s|\\[nr])+[A-Za-z0-9+/=]+\Z")


def redact_shapes(text: str) -> str:
    """Mask all credentials in a complete text."""
    return text if find(text, 0) is None else ShapeStage().flush(text)


class ShapeStage:
    """Masks one text that comes in pieces. `feed` and `flush` return the text that may be sent."""

    __slots__ = ("_buffer", "_done", "_in_key", "_out", "_run", "_scan", "_sent")

    def __init__(self) -> None:
        self._buffer = ""
        # No lead begins before `scan`, leads that end before `done` are settled, text before `sent` was sent.
        self._scan: int = 0
        self._done: int = 0
        self._sent: int = 0
        # While set, text is dropped: the rest of a secret of this shape that was masked already.
        self._run: Shape | None = None
        # Not `None` behind the header of a private key; `True` once a line of the key was seen.
        self._in_key: bool | None = None
        self._out: list[str] = []

    @property
    def held(self) -> int:
        """Number of characters that are held back."""
        return len(self._buffer) - self._sent

    def feed(self, text: str) -> str:
        """Add text."""
        is_busy = self._sent < len(self._buffer) or self._run is not None or self._in_key is not None
        buffer, scan = self._buffer + text, self._scan
        if is_busy or not is_quiet(buffer, scan):
            self._buffer = buffer
            return self._advance(final=False)
        # The usual case: nothing in the text looks like a credential.
        size = len(buffer)
        cut = max(0, size - _KEPT)
        self._buffer = buffer[cut:]
        self._scan, self._sent = max(scan, size - UNSEEN) - cut, size - cut
        self._done -= cut
        return text

    def flush(self, text: str = "") -> str:
        """Add the last text."""
        self._buffer += text
        return self._advance(final=True)

    def let_go(self) -> str:
        """Return the held text, up to a candidate that contains a part of a secret."""
        if self._run is None and self._in_key is None:
            buffer, done = self._buffer, self._done
            while lead := find(buffer, self._scan, done):
                if lead.shape.has_begun(buffer, lead.start, lead.value):
                    break
                done = lead.value
            self._release(lead.value if lead else len(buffer))
        return self._taken()

    def _advance(self, *, final: bool) -> str:
        place: int | None = self._scan
        while place is not None:
            place = self._step(place, final=final)
        self._forget()
        return self._taken()

    def _taken(self) -> str:
        out = "".join(self._out)
        self._out.clear()
        return out

    def _step(self, place: int, *, final: bool) -> int | None:
        """Take one step through the buffer. Return the next position; `None` when more text is needed."""
        if self._run is not None:
            return self._drop_run(self._run)
        if self._in_key is not None:
            return self._drop_key(begun=self._in_key, final=final)
        lead = find(self._buffer, place, self._done)
        if lead is None:
            self._release(len(self._buffer))
            self._scan = max(self._scan, self._sent - LONGEST_LEAD, self._buffer.rfind("\n") + 1)
            return None
        self._release(lead.value)
        if lead.shape.kind == PRIVATE_KEY:
            self._in_key = False
            return self._go_on(lead.value)
        return self._take_candidate(lead, final=final)

    def _take_candidate(self, lead: Lead, *, final: bool) -> int | None:
        """Mask a complete candidate, or release it; wait for the rest of any other."""
        shape, start, value = lead
        run = shape.run.match(self._buffer, value)
        end = run.end() if run else value
        if end == len(self._buffer) and not final:
            self._scan = max(self._scan, start - LONGEST_LEAD)
            return None
        secret = shape.secret(self._buffer, start, value, end)
        if secret is None:
            # The text behind a name may still be another name with a secret.
            self._done = end if shape.is_key and end - value >= shape.low else value
            return start + 1
        self._release(secret.start)
        self._out.append(f"[masked:{secret.kind}]")
        self._run = shape if end - value >= LIMIT else None
        return self._drop_to(secret.end)

    def _drop_run(self, shape: Shape) -> int | None:
        rest = shape.run.match(self._buffer, self._done)
        end = rest.end() if rest else self._done
        if end < len(self._buffer) and end - self._done < LIMIT:
            self._run = None
        self._drop_to(end)
        return end if end < len(self._buffer) else None

    def _drop_key(self, *, begun: bool, final: bool) -> int | None:
        """Drop the lines of a private key up to its footer, or to the last line of it."""
        buffer = self._buffer
        if begun and (rest := _KEY_CHARS.match(buffer, self._done)):
            self._drop_to(rest.end())
        reach = self._done + _GAP + _KEY_FOOTER
        all_there = final or len(buffer) >= reach
        is_mask = buffer.startswith("[masked:", self._done)
        found = None if is_mask else _IN_KEY.search(buffer, self._done, reach)
        if found is None and (all_there or is_mask):  # only a header, or an incomplete key
            self._in_key = None
            rest = _KEY_REST.match(buffer, self._done) if begun else None
            return self._drop_to(rest.end()) if rest else self._done
        if found is None or (found["open"] is not None and not all_there):
            return None
        if found["line"] is None and not begun:  # a footer alone occurs in texts about keys
            self._in_key = None
            return self._go_on(found.end())
        if not begun:
            self._out.append(f"[masked:{PRIVATE_KEY}]")
        self._in_key = True if found["line"] is not None else None
        return self._drop_to(found.end())

    def _drop_to(self, end: int) -> int:
        """Drop the text up to a position that was not sent yet."""
        self._sent = end
        return self._go_on(end)

    def _go_on(self, place: int) -> int:
        self._scan = self._done = place
        return place

    def _release(self, end: int) -> None:
        if end > self._sent:
            self._out.append(self._buffer[self._sent : end])
            self._sent = end

    def _forget(self) -> None:
        """Drop text from the buffer that was sent and is not needed any more."""
        cut = min(self._scan - LOOK_BEHIND, self._sent)
        if cut > 0:
            self._buffer = self._buffer[cut:]
            self._scan -= cut
            self._done -= cut
            self._sent -= cut
