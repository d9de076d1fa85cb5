"""A small shell that outlives the host for a moment, and ends the children of one that was killed.

The system offers little for this. `PR_SET_PDEATHSIG` must be set in the child between fork and exec, where
Python code is unsafe beside threads; it follows the *thread* that started the child, and reaches no
grandchild. A closed terminal and a closed standard input end most programs, not those that ignore it. So one
process waits at a pipe that only the host holds: when the pipe is closed without a word, the host is gone.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

from serai.processes.environment import inheritable

__all__ = ["Warden"]

# A word means that the host ended its children itself. An end without one means that it could not.
_WAIT = 'read -r word && exit 0; exec "$@"'


class Warden:
    """The process that waits for the host's end.

    Args:
        directory: The records of the host's children.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, unless it runs already. This blocks for about a millisecond.

        Raises:
            OSError: It cannot be started.
        """
        if self._process is not None and self._process.poll() is None:
            return
        if self._process is not None:
            self.dismiss()
        command = [sys.executable, "-m", "serai.processes", str(self._directory.absolute())]
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            ["/bin/sh", "-c", _WAIT, "serai-warden", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=inheritable(os.environ),
            start_new_session=True,  # what is typed or signalled to end the host does not reach it
            bufsize=0,
        )

    def dismiss(self) -> None:
        """Tell it that there is nothing to do, and wait until it is gone."""
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        with contextlib.suppress(BrokenPipeError):
            os.write(process.stdin.fileno(), b"done\n")
        process.stdin.close()
        process.wait()
