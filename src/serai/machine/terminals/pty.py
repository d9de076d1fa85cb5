"""Pseudo-terminals, and the input to their programs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import termios
from dataclasses import dataclass

INPUT_BOUND = 1024 * 1024
"""Most input that waits for a program that does not read, in bytes."""

_IUTF8 = 0x4000  # makes the system erase characters, not bytes; Python 3.11 has no name for it
_IFLAG = 0


@dataclass(frozen=True, slots=True)
class Pty:
    """Two open ends: the host's, which does not block, and the program's, with its path."""

    master: int
    slave: int
    path: str

    def close(self) -> None:
        """Close both ends."""
        for end in (self.master, self.slave):
            with contextlib.suppress(OSError):
                os.close(end)


def open_pty(cols: int, rows: int) -> Pty:
    """Open a new pseudo-terminal.

    Raises:
        OSError: The system has no more of them.
    """
    master, slave = os.openpty()
    try:
        attributes = termios.tcgetattr(slave)
        attributes[_IFLAG] |= _IUTF8
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        resize(master, cols, rows)
        os.set_blocking(master, False)
        return Pty(master, slave, os.ttyname(slave))
    except OSError:
        os.close(master)
        os.close(slave)
        raise


def resize(master: int, cols: int, rows: int) -> None:
    """Set the size. The system tells the program in the foreground (`SIGWINCH`)."""
    termios.tcsetwinsize(master, (rows, cols))


class Keyboard:
    """The input of a program that may not be reading. Writing never blocks.

    Args:
        master: The host's end.
    """

    def __init__(self, master: int) -> None:
        self._master = master
        self._loop = asyncio.get_running_loop()
        self._waiting = bytearray()
        self._closed = False

    def write(self, data: bytes) -> bool:
        """Type some data. Returns `False`, and types nothing, when too much waits or the terminal is gone."""
        if self._closed or len(self._waiting) + len(data) > INPUT_BOUND:
            return False
        idle = not self._waiting
        self._waiting += data
        if idle:
            self._push()
            if self._waiting:
                self._loop.add_writer(self._master, self._push)
        return True

    def close(self) -> None:
        """Accept no more input. What waits is dropped."""
        if self._waiting:
            self._loop.remove_writer(self._master)
            self._waiting.clear()
        self._closed = True

    def _push(self) -> None:
        try:
            while self._waiting:
                del self._waiting[: os.write(self._master, self._waiting)]
        except BlockingIOError:
            return
        except OSError:
            self._waiting.clear()  # the program is gone
        self._loop.remove_writer(self._master)
