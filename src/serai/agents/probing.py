"""Asking a program for a line of text, such as its version: with a limit, and leaving nothing behind."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from serai.processes.environment import inheritable

__all__ = ["Answer", "ask_program", "version_in"]

_SECONDS = 5.0
_GRACE = 0.5
_LARGEST = 256 * 1024
_VERSION = re.compile(r"(?<![\w.])v?(\d+\.\d+(?:\.\d+)*(?:[-+][\w.+-]*\w)?)")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program printed, and how it ended."""

    text: str
    code: int


async def ask_program(
    argv: Sequence[str], environ: Mapping[str, str], *, seconds: float = _SECONDS
) -> Answer | None:
    """What a program prints, errors too; `None` when it does not end in time, or cannot be started.

    It runs in a group of its own. When the time is over, or this is cancelled, the group gets TERM and half a
    second later KILL.

    Args:
        argv: The program, with its whole path, and its arguments.
        environ: Its environment; the host's own secrets are taken out of it.
        seconds: How long it may take.
    """
    # A file takes the output: a pipe would be held open by whatever the program leaves running.
    with tempfile.TemporaryFile() as output:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                cwd=Path(argv[0]).anchor or None,  # no folder of anyone: some programs write into theirs
                env={**inheritable(environ), "NO_COLOR": "1", "CI": "1"},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError):
            return None
        try:
            async with asyncio.timeout(seconds):
                code = await process.wait()
        except TimeoutError:
            return None
        finally:
            if process.returncode is None:
                await _end(process)
        output.seek(0)
        return Answer(output.read(_LARGEST).decode("utf-8", "replace"), code)


def version_in(text: str) -> str | None:
    """The first version in a text, as `1.2.3` or `1.2.3-beta.1`."""
    match = _VERSION.search(text)
    return match[1] if match else None


async def _end(process: asyncio.subprocess.Process) -> None:
    _signal(process, signal.SIGTERM)
    try:
        async with asyncio.timeout(_GRACE):
            await process.wait()
    except TimeoutError:
        pass
    finally:
        # The first of the group may have gone without the others. Nobody can have its number so soon.
        _signal(process, signal.SIGKILL)
    await process.wait()


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
