"""Text that grows by small pieces, at a cost that does not depend on how long it is."""

from __future__ import annotations

__all__ = ["GrowingText"]

_FOLD_PIECES = 256
_FOLD_CHARACTERS = 64 * 1024


class GrowingText:
    """Pieces of text, joined when read.

    A short string costs five times its size, and one character outside Latin-1 doubles or quadruples a whole
    string. So pieces are folded, now and then, into blocks of UTF-8: what is kept is about as large as what
    was sent.
    """

    __slots__ = ("_blocks", "_characters", "_pieces", "_start")

    def __init__(self, start: str = "") -> None:
        self._start = start  # someone else holds it as it is: to fold it would cost a second copy
        self._blocks: list[bytes] = []
        self._pieces: list[str] = []
        self._characters = 0

    def append(self, piece: str) -> None:
        """Add a piece at the end."""
        self._pieces.append(piece)
        self._characters += len(piece)
        if self._characters >= _FOLD_CHARACTERS or len(self._pieces) >= _FOLD_PIECES:
            # A program inside the process may hand over a lone surrogate; it is refused when it is encoded.
            self._blocks.append("".join(self._pieces).encode("utf-8", "surrogatepass"))
            self._pieces.clear()
            self._characters = 0

    def __str__(self) -> str:
        folded = b"".join(self._blocks).decode("utf-8", "surrogatepass")
        return "".join((self._start, folded, *self._pieces))
