"""Which folder was shown last of a session, so that nothing is undone in one that nobody was shown."""

from __future__ import annotations

import contextlib
from pathlib import Path

__all__ = ["Shown"]


class Shown:
    """The folder whose changes anyone who follows a session saw last. It is known after a restart, too.

    Both methods read or write the disk.

    Args:
        file: Where it is written down.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._digest: str | None = None

    def note(self, digest: str) -> None:
        """The changes of a folder were shown, to whoever follows the session.

        Args:
            digest: What stands for the folder (`Whereabouts.digest`).
        """
        if digest == self._digest:
            return
        with contextlib.suppress(OSError):  # then it is known for as long as the session is in memory
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file.write_text(digest)
        self._digest = digest

    def is_another(self, digest: str) -> bool:
        """Whether something was shown, and it was another folder."""
        if self._digest is None:
            with contextlib.suppress(OSError):
                self._digest = self._file.read_text()
        return self._digest not in {None, digest}
