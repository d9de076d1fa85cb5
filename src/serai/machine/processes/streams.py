"""The standard streams of a child: pipes, nothing, or what the caller has open."""

from __future__ import annotations

import contextlib
import os
import subprocess
from dataclasses import dataclass
from typing import IO, Self

__all__ = ["Pipes", "Streams"]


@dataclass(frozen=True, slots=True)
class Pipes:
    """The host's ends, unbuffered, of those streams that are pipes."""

    stdin: IO[bytes] | None = None
    stdout: IO[bytes] | None = None
    stderr: IO[bytes] | None = None

    def close(self) -> None:
        """Close them."""
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe is not None:
                pipe.close()


class Streams:
    """Both ends of a child's streams. To leave the context closes the child's ends, which are its own then.

    Args:
        stdin: As `subprocess.Popen` takes it: `PIPE`, `DEVNULL` or a file descriptor.
        stdout: The same.
        stderr: The same.

    Raises:
        OSError: The system has no more of them.
    """

    def __init__(self, stdin: int, stdout: int, stderr: int) -> None:
        self._opened = contextlib.ExitStack()
        with contextlib.ExitStack() as undo:
            undo.callback(self._opened.close)
            ours = [self._open(number, wanted) for number, wanted in enumerate((stdin, stdout, stderr))]
            undo.pop_all()
        self.theirs = [theirs for theirs, _ in ours]
        """The child's ends, as descriptors."""
        self.pipes = Pipes(*(pipe for _, pipe in ours))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def _open(self, number: int, wanted: int) -> tuple[int, IO[bytes] | None]:
        if wanted == subprocess.DEVNULL:
            theirs = os.open(os.devnull, os.O_RDWR)
            self._opened.callback(os.close, theirs)
            return theirs, None
        if wanted != subprocess.PIPE:
            return wanted, None
        reader, writer = os.pipe()
        theirs, ours = (writer, reader) if number else (reader, writer)
        self._opened.callback(os.close, theirs)
        return theirs, os.fdopen(ours, "rb" if number else "wb", buffering=0)
