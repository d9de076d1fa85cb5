"""`run_command`: what the allowlist names, and nothing else. No shell sees it, and no secret goes along."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
from pathlib import Path
from typing import IO, Annotated, cast

from msgspec import Meta

from serai.ahp.types import ToolResultTextContent
from serai.errors import CommandRefused
from serai.harness.model.tool import Asking, BuiltIn, Preview, ToolAnswer, ToolContext
from serai.machine.processes.child import Child
from serai.machine.processes.environment import find_program
from serai.session.agent_file import is_allowed

_SECONDS = 120
_MOST_SECONDS = 1800
_MOST_BYTES = 512 * 1024
"""Most bytes that are kept of the beginning of the output, and of its end."""
_SHOWN = 8 * 1024
"""Bytes of the end of the output that are shown while a command runs."""
_PAUSE = 0.5
"""Seconds between two updates of that."""
_GRACE = 2.0
"""Seconds between TERM and KILL."""


class RunCommand(BuiltIn):
    """Run a command in the working directory: a list of words, without a shell.

    Only what the agent's allowed_commands name is run.
    """

    name, title = "run_command", "Run a command"
    asking = Asking.NEVER

    words: Annotated[
        list[str], Meta(min_length=1, description="The program and its arguments; there is no shell")
    ]
    seconds: Annotated[int, Meta(ge=1, le=_MOST_SECONDS, description="How long it may take")] = _SECONDS

    async def preview(self, context: ToolContext) -> Preview:
        """Return the command, if it is on the allowlist."""
        self._check(context)
        return Preview(f"Run `{shlex.join(self.words)}`")

    async def run(self, context: ToolContext) -> ToolAnswer:
        """Run the command. Cancelling ends it, and all that it started."""
        self._check(context)
        environ = _environment_without(context.folder, context.seat.environment())
        program = _program(self.words[0], environ, context.folder)
        child = await context.seat.processes.start(
            [program, *self.words[1:]],
            what=f"the command {self.words[0]}",
            cwd=context.folder,
            environ=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        output = _Output(context, child)
        try:
            async with asyncio.timeout(self.seconds):
                await output.follow()
                how = await child.wait()
        except TimeoutError:
            return ToolAnswer(f"{output.text}\n[ended: it took more than {self.seconds} s]", is_error=True)
        finally:
            await child.end(grace=_GRACE)
            output.close()
        failed = how.code != 0
        return ToolAnswer(f"{output.text}\n[{how}]" if failed else output.text, is_error=failed)

    def _check(self, context: ToolContext) -> None:
        if not is_allowed(self.words, context.agent.allowed_commands):
            allowed = "; ".join(context.agent.allowed_commands) or "nothing"
            raise CommandRefused(
                f"{shlex.join(self.words)} is not on the allowlist", remedy=f"Allowed are: {allowed}"
            )


def _environment_without(folder: Path, environ: dict[str, str]) -> dict[str, str]:
    """Return an environment whose `PATH` has nothing in the folder: that may be the model's own work."""
    entries = environ.get("PATH", os.defpath).split(os.pathsep)
    return environ | {"PATH": os.pathsep.join(entry for entry in entries if not _is_in(entry, folder))}


def _program(name: str, environ: dict[str, str], folder: Path) -> str:
    """Return the absolute path of a program. Reads the disk.

    Raises:
        CommandRefused: There is none, or it is in the folder.
    """
    found = name if name.startswith("/") else find_program(name, environ) if "/" not in name else None
    if found is None or _is_in(found, folder):
        raise CommandRefused(f"there is no program {name!r} in PATH, apart from the session's own folder")
    return found


def _is_in(path: str, folder: Path) -> bool:
    return Path(path).resolve().is_relative_to(folder.resolve())


class _Output:
    """The output of a command: its beginning and its end are kept, and its end is shown while it runs."""

    def __init__(self, context: ToolContext, child: Child) -> None:
        self._call = context.call
        self._pipe = cast("IO[bytes]", child.stdout)
        self._reader: asyncio.ReadTransport | None = None
        self._kept = bytearray()
        self._left_out = 0
        self._showing: asyncio.TimerHandle | None = None

    @property
    def text(self) -> str:
        """The whole output, or its beginning and its end with a note between them."""
        note = f"\n[{self._left_out:,} bytes are left out]\n".encode() if self._left_out else b""
        text = self._kept[:_MOST_BYTES] + note + self._kept[_MOST_BYTES:]
        return text.decode(errors="replace").rstrip("\n")

    async def follow(self) -> None:
        """Read the output until the command, and all that it started, have closed it."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        self._reader, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), self._pipe
        )
        while piece := await reader.read(1 << 16):
            self._kept += piece
            over = max(0, len(self._kept) - 2 * _MOST_BYTES)
            self._left_out += over
            del self._kept[_MOST_BYTES : _MOST_BYTES + over]
            self._showing = self._showing or loop.call_later(_PAUSE, self._show)

    def _show(self) -> None:
        self._showing = None
        end = self._kept[-_SHOWN:].decode(errors="replace")
        self._call.show(ToolResultTextContent(text=end))

    def close(self) -> None:
        """Stop reading and showing."""
        if self._showing is not None:
            self._showing.cancel()
        (self._reader or self._pipe).close()
