"""Bytes to lines, however they are cut."""

from __future__ import annotations

__all__ = ["LONGEST", "Lines"]

LONGEST = 64 * 1024 * 1024
"""The longest line of an agent that is read, in bytes."""


class Lines:
    """What has come of the line that is not complete yet. Whoever feeds it looks at `size`."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.size = 0
        """How much that is, in bytes."""

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are complete now, without their ends."""
        lines = data.split(b"\n")
        if self._pieces and len(lines) > 1:
            self._pieces.append(lines[0])
            lines[0] = self.rest()
        rest = lines.pop()
        if rest:
            self.size += len(rest)
            self._pieces.append(rest)
        return lines

    def rest(self) -> bytes:
        """What came last without a line's end. It is taken."""
        rest = b"".join(self._pieces)
        self._pieces.clear()
        self.size = 0
        return rest
