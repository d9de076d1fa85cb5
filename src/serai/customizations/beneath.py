"""Opening a file below a folder without ever leaving it.

Every part of a path is opened relative to the folder before it, and links are followed by hand. So a link
that is swapped between two steps leads nowhere else: there is no moment between a check and its use.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

__all__ = ["LeadsOut", "open_beneath"]

_MAX_LINKS = 40
_MAYBE_LINK = {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}
_FOLDER = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY


class LeadsOut(Exception):
    """A link leads out of the folder, or in a circle. The text is the end of a sentence about it."""


def open_beneath(open_root: Callable[[], int], roots: tuple[str, ...], path: str, flags: int) -> int:
    """Open a path below a folder. The caller closes the descriptor.

    Args:
        open_root: Opens the folder.
        roots: How the folder is written. An absolute link is followed when it begins with one of these.
        path: Relative, with `/`.
        flags: For the last part. Those for links are added.

    Raises:
        LeadsOut: The path leads out of the folder.
        OSError: As `os.open` raises it.
    """
    descent = _Descent(open_root(), roots, flags)
    try:
        return descent.to(path)
    finally:
        descent.close()


class _Descent:
    def __init__(self, root: int, roots: tuple[str, ...], flags: int) -> None:
        self._roots = roots
        self._flags = flags
        self._opened = [root]
        self._links = 0

    def close(self) -> None:
        while self._opened:
            os.close(self._opened.pop())

    def to(self, path: str) -> int:
        steps = path.split("/")[::-1]
        while steps:
            step = steps.pop()
            if step == "..":
                self._up()
            elif step not in {"", "."}:
                steps += self._into(step, is_last=not steps)
        return self._opened.pop()

    def _up(self) -> None:
        if len(self._opened) == 1:
            raise LeadsOut("leads out of the folder, so it is not read")
        os.close(self._opened.pop())

    def _into(self, name: str, *, is_last: bool) -> list[str]:
        """Go one step down; returns the steps that a link adds, the last one first."""
        flags = self._flags if is_last else _FOLDER
        try:
            self._opened.append(os.open(name, flags | os.O_NOFOLLOW, dir_fd=self._opened[-1]))
        except OSError as error:
            if error.errno not in _MAYBE_LINK:
                raise
            return self._target(name, error).split("/")[::-1]
        return []

    def _target(self, name: str, error: OSError) -> str:
        try:
            target = os.readlink(name, dir_fd=self._opened[-1])
        except OSError:
            raise error from None  # it is no link
        self._links += 1
        if self._links > _MAX_LINKS:
            raise LeadsOut("is a link that leads in a circle") from None
        return self._from_root(target) if target.startswith("/") else target

    def _from_root(self, target: str) -> str:
        for root in self._roots:
            if target == root or target.startswith(root.rstrip("/") + "/"):
                while len(self._opened) > 1:
                    os.close(self._opened.pop())
                return target[len(root) :]
        raise LeadsOut("leads out of the folder, so it is not read")
