"""Starts all processes of the host: children with keepers, and brief commands.

A brief command (`brief`) is run for its output, and is gone when the caller continues.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO

from serai.errors import ProcessNotStarted
from serai.machine.processes.child import Child, StartedChild, start_kept, to_its_end, uninterrupted
from serai.machine.processes.environment import find_program, inheritable
from serai.machine.processes.keeper import Request
from serai.machine.processes.leftovers import ChildNotes
from serai.machine.safe_paths import persons_umask


class Processes:
    """The children of this host.

    Each child has a keeper (`keeper.py`), which ends all its descendants also when the host is killed. If the
    keepers are killed too, the next start ends what is left (`leftovers.py`).

    Args:
        notes: The folder for notes of what runs, read by the next start; without it, none are written.
    """

    def __init__(self, notes: Path | None = None) -> None:
        self._notes = ChildNotes(notes) if notes is not None else None
        self._children: set[Child] = set()
        self._spawning = asyncio.Lock()
        self._closed = False

    async def start(
        self,
        argv: Sequence[str],
        *,
        what: str,
        cwd: Path | None = None,
        environ: Mapping[str, str] | None = None,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.DEVNULL,
        stderr: int = subprocess.DEVNULL,
        terminal: str | None = None,
    ) -> Child:
        """Start a process in a session of its own. The event loop is not blocked meanwhile.

        When this is cancelled, a child that has started all the same is ended.

        Args:
            argv: The program and its arguments. A name without a slash is looked for in the absolute entries
                of `PATH`.
            what: A name of the process for people.
            cwd: The working directory; by default the host's.
            environ: The whole environment; by default the host's without its secrets.
            stdin: The standard input, as `subprocess.Popen` takes it; so are `stdout` and `stderr`.
            stdout: The standard output.
            stderr: The standard error.
            terminal: The path of a terminal that becomes the session's own.

        Raises:
            ProcessNotStarted: The program or the directory does not exist, or the system or the disk has no
                room.
        """
        environ = inheritable(os.environ) if environ is None else environ

        def spawn() -> StartedChild:
            try:
                kept = start_kept(_request(argv, environ, cwd, terminal), stdin, stdout, stderr)
            except (OSError, ValueError) as error:
                raise _refusal(argv[0], what, cwd, error) from error
            if self._notes is not None:
                self._notes.add(kept.pid)
            return kept

        async def begin() -> Child:
            async with self._spawning:
                if self._closed:
                    raise ProcessNotStarted(f"{what} was not started, since the host is closing")
                kept = await asyncio.to_thread(spawn)
                child = Child(kept, what, on_terminal=terminal is not None, forget=self._forget)
                self._children.add(child)
            return child

        return await uninterrupted(begin(), undo=_end_child)

    async def close(self, grace: float = 5.0) -> None:
        """End all children and start no more. When cancelled, the keepers end the rest."""
        self._closed = True
        async with self._spawning:
            pass  # a start that is under way has ended now, and no other begins
        await asyncio.gather(*(child.end(grace=grace) for child in self._children))

    def _forget(self, child: Child) -> None:
        self._children.discard(child)
        if self._notes is not None:
            self._notes.remove(child.pid)


async def _end_child(child: Child) -> None:
    for pipe in (child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()
    await child.end()


def _request(
    argv: Sequence[str], environ: Mapping[str, str], cwd: Path | None, terminal: str | None
) -> Request:
    """Make the request to the keeper.

    Raises:
        OSError: There is no such program.
        ValueError: An argument or a variable cannot be given to a program.
    """
    words = [os.fsencode(each) for each in (_find(argv[0], environ), *argv[1:])]
    encoded = {os.fsencode(name): os.fsencode(value) for name, value in environ.items()}
    if any(b"\0" in each for each in (*words, *encoded, *encoded.values())):
        raise ValueError("embedded null byte")
    if any(not name or b"=" in name for name in encoded):
        raise ValueError("illegal environment variable name")
    folder = os.fsencode(cwd.absolute() if cwd is not None else Path.cwd())
    return words, encoded, folder, os.fsencode(terminal) if terminal else None, persons_umask()


def _find(name: str, environ: Mapping[str, str]) -> str:
    """Return the path of a program. The system would look in relative entries of `PATH`, too."""
    found = name if "/" in name else find_program(name, environ)
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    return found


def _refusal(name: str, what: str, cwd: Path | None, error: OSError | ValueError) -> ProcessNotStarted:
    remedy = None
    if isinstance(error, ValueError):
        why = str(error)
    elif cwd is not None and not cwd.is_dir():
        why = f"{cwd} is no directory"
    elif isinstance(error, FileNotFoundError):
        why = f"there is no program {name!r}"
        remedy = "Install it, or name it with its whole path"
    else:
        why = f"{error.strerror} ({error.filename or name})"
    return ProcessNotStarted(f"{what} was not started: {why}", remedy=remedy)


# -- brief commands ------------------------------------------------------------------------------------------


@asynccontextmanager
async def brief(
    *argv: str,
    folder: str | Path | None,
    environment: Mapping[str, str],
    stdin: int = DEVNULL,
    stdout: int | IO[bytes] = PIPE,
    stderr: int = DEVNULL,
    grace: float = 0,
    umask: int = -1,
) -> AsyncGenerator[Process]:
    """Run a command in a process group of its own. the length of the block.

    However the block is left, the group is ended, and the host's ends of the pipes are closed. A
    cancellation, also a repeated one and also while the command starts, is raised after that.

    Args:
        argv: The program and its arguments; no shell sees them.
        folder: The working directory; `None` for the host's.
        environment: The whole environment.
        stdin: The standard input, as for a subprocess of asyncio; so are `stdout` and `stderr`.
        stdout: The standard output.
        stderr: The standard error.
        grace: Seconds between TERM and KILL, for a command that still runs; without them it gets KILL.
        umask: The umask; by default the host's. A command that writes a person's files needs
            `persons_umask()`.

    Raises:
        OSError: The command could not be started.
        ValueError: An argument or a variable cannot be given to a program.
    """
    starting = asyncio.create_subprocess_exec(
        *argv,
        cwd=folder,
        env=environment,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
        umask=umask,
    )
    process = await uninterrupted(starting, undo=partial(_end, grace=grace))
    try:
        yield process
    finally:
        if process.returncode is None:
            await to_its_end(_end(process, grace))


async def feed(process: Process, data: bytes) -> None:
    """Write to the standard input of a brief command and close it. The command need not read all."""
    assert process.stdin is not None  # noqa: S101 - it was asked for
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(data)
        await process.stdin.drain()
    process.stdin.close()


async def beginning(stream: asyncio.StreamReader | None, most: int) -> bytes:
    """Return the first bytes of a stream. The rest is read and dropped, so that its writer never waits."""
    assert stream is not None  # noqa: S101 - it was asked for
    kept = bytearray()
    while piece := await stream.read(1 << 16):
        kept += piece[: most - len(kept)]
    return bytes(kept)


def kill(process: Process) -> None:
    """Kill a brief command and its process group."""
    _signal(process, signal.SIGKILL)


async def _end(process: Process, grace: float) -> None:
    """End the command, also when a closing loop cancels all of its tasks, and so this one."""
    if grace:
        _signal(process, signal.SIGTERM)
        with suppress(TimeoutError, asyncio.CancelledError):
            await asyncio.wait_for(process.wait(), grace)
    # The leader of the group may have ended before the others. Its number is not reused so soon.
    kill(process)
    if process.stdin is not None:
        process.stdin.close()
    ended = False
    while not ended:
        with suppress(asyncio.CancelledError):
            await process.communicate()  # the pipes count as closed once they are read to the end
            ended = True


def _signal(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
