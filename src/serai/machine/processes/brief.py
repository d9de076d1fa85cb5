"""A command that is run for its answer, and is gone when the caller goes on."""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO

from serai.machine.processes.uninterrupted import to_its_end

__all__ = ["brief", "kill"]


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
    """A command in a group of its own, for the time of the block.

    However the block is left, nothing remains: the group is ended, and our ends of the pipes are closed.
    Being cancelled, also more than once and also while the command starts, is told after that.

    Args:
        argv: The program and its arguments; no shell sees them.
        folder: Where to run it; `None` is where the host runs.
        environment: All of its variables.
        stdin: What it reads, as for a subprocess of asyncio; and so `stdout` and `stderr`.
        stdout: What it prints.
        stderr: What it complains about.
        grace: Seconds between TERM and KILL, for a command that is not at its end; without them it gets KILL.
        umask: Its umask; by default the host's own. What writes a person's files has `umask.persons()`.

    Raises:
        OSError: It could not be started.
        ValueError: An argument or a variable cannot be given to a program.
    """
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *argv,
            cwd=folder,
            env=environment,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            umask=umask,
        )
    )
    try:
        process = await to_its_end(starting)
    except asyncio.CancelledError:
        if not starting.cancelled() and starting.exception() is None:
            await to_its_end(_end(starting.result(), grace))
        raise
    try:
        yield process
    finally:
        if process.returncode is None:
            await to_its_end(_end(process, grace))


def kill(process: Process) -> None:
    """End a brief command and what it started, at once."""
    _signal(process, signal.SIGKILL if os.name == "posix" else signal.SIGTERM)


async def _end(process: Process, grace: float) -> None:
    if grace:
        _signal(process, signal.SIGTERM)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), grace)
    # The first of the group may have gone without the others. Nobody can have its number so soon.
    kill(process)
    if process.stdin is not None:
        process.stdin.close()
    await process.communicate()  # what is left in the pipes has to be read before they count as closed


def _signal(process: Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
