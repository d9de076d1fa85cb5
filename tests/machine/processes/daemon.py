"""Becomes a daemon that nobody can tell: no parent, another session, no environment, another name.

Usage: daemon.py FILE, which gets its pid. Servers do the same: they write their title over where their
arguments and their environment were.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path


def main(file: Path) -> None:
    """Detach, forget everything, and stay."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    arguments, environment_end = int(fields[45]), int(fields[48])
    ctypes.memset(arguments, 0, environment_end - arguments)
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    for name in ("SIGHUP", "SIGINT", "SIGTERM"):
        signal.signal(signal.Signals[name], signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    with file.open("a") as stream:
        stream.write(f"{os.getpid()}\n")
    signal.pause()


main(Path(sys.argv[1]))
