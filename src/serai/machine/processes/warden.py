"""The host's side of the warden, which starts and keeps its children (`keeper.py`)."""

from __future__ import annotations

import contextlib
import marshal
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from serai.machine.processes.environment import inheritable
from serai.machine.processes.keeper import HEADER, Request

__all__ = ["Kept", "Warden"]

_PROGRAM = Path(__file__).with_name("keeper.py")
_LIMIT = 30.0
"""How long a start may take, in seconds. It takes a few milliseconds."""


class Kept(NamedTuple):
    """A child that was started."""

    pid: int
    keeper: int
    """The pid of its keeper."""
    link: socket.socket
    """Where the keeper tells of its end. It is closed when nothing is left; if the host closes it first, the
    keeper ends what is left."""

    def undo(self) -> None:
        """Kill it, and wait until it is gone."""
        with contextlib.suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(OSError), self.link:
            while self.link.recv(64):
                pass


class Warden:
    """The process that starts children. It is started with the first of them, if not before.

    All methods block: they are not for the event loop.

    Args:
        directory: The records of the host's children. When the host is killed, they are cleared up.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        self._link: socket.socket | None = None

    def start(self, request: Request, streams: Sequence[int]) -> Kept:
        """Start a child with these three streams.

        Raises:
            OSError: It cannot be started.
        """
        try:
            return self._ask(request, streams)
        except ConnectionError:  # someone has killed the warden
            self.dismiss()
            return self._ask(request, streams)

    def prepare(self) -> None:
        """Start it, unless it was started.

        Raises:
            OSError: It cannot be started.
        """
        if self._link is None:
            self._begin()

    def dismiss(self) -> None:
        """Tell it that there is nothing more to do, and wait until it is gone."""
        process, self._process = self._process, None
        link, self._link = self._link, None
        if link is not None:
            with contextlib.suppress(OSError):
                link.sendall(_framed(()))
            link.close()
        if process is not None:
            process.wait()

    def _ask(self, request: Request, streams: Sequence[int]) -> Kept:
        warden = self._link or self._begin()
        data = _framed(request)
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(warden, [data[:HEADER]], [theirs.fileno(), *streams])
                warden.sendall(data[HEADER:])
            ours.settimeout(_LIMIT)
            return _answer(ours)
        except BaseException:
            ours.close()
            raise

    def _begin(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        clear_up = [sys.executable, "-m", "serai.machine.processes", str(self._directory.absolute())]
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-I", "-S", str(_PROGRAM), *clear_up],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=inheritable(os.environ),
                start_new_session=True,  # what is typed or signalled to end the host does not reach it
            )
        self._link = ours
        return ours


def _answer(link: socket.socket) -> Kept:
    match _line(link).split():
        case [b"started", pid, keeper]:
            return Kept(int(pid), int(keeper), link)
        case [b"failed", number]:
            raise OSError(int(number), os.strerror(int(number)))
        case words:
            raise ConnectionResetError(f"the keeper said {words!r}")


def _line(link: socket.socket) -> bytes:
    """The first line, and nothing of what may follow it already."""
    line = b""
    while not line.endswith(b"\n"):
        char = link.recv(1)
        if not char:
            raise ConnectionResetError
        line += char
    return line


def _framed(request: Request | tuple[()]) -> bytes:
    data = marshal.dumps(request)
    return len(data).to_bytes(HEADER, "big") + data
