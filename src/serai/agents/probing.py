"""Asking a program for a line of text, such as its version: with a limit, and leaving nothing behind."""

from __future__ import annotations

import asyncio
import re
import tempfile
from asyncio.subprocess import STDOUT
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from serai.machine.processes.brief import brief
from serai.machine.processes.environment import inheritable

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
            async with (
                brief(
                    *argv,
                    folder=Path(argv[0]).anchor
                    or None,  # no folder of anyone: some programs write into theirs
                    environment={**inheritable(environ), "NO_COLOR": "1", "CI": "1"},
                    stdout=output,
                    stderr=STDOUT,
                    grace=_GRACE,
                ) as process,
                asyncio.timeout(seconds),
            ):
                code = await process.wait()
        except (OSError, ValueError):  # a time-out is an `OSError`
            return None
        output.seek(0)
        return Answer(output.read(_LARGEST).decode("utf-8", "replace"), code)


def version_in(text: str) -> str | None:
    """The first version in a text, as `1.2.3` or `1.2.3-beta.1`."""
    match = _VERSION.search(text)
    return match[1] if match else None
