r"""A terminal: a program on a pty of its own, whose output comes as batches of AHP actions.

    terminal = await Terminal.start(processes, cwd=Path.home())
    terminal.write("ls\r")
    while actions := await terminal.batch():
        ...

Whoever takes the batches sets the pace. While nobody does, nothing is read, and the program waits in its
`write`, not the host in its memory.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import secrets
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from serai.ahp.actions import TerminalAction
from serai.errors import InvalidParams, ProcessNotStarted
from serai.machine.processes.child import Child, Exit, uninterrupted
from serai.machine.processes.processes import Processes
from serai.machine.terminals.environment import plan_launch
from serai.machine.terminals.marks import TerminalParser
from serai.machine.terminals.pty import Keyboard, Pty, open_pty, resize

BATCH = 128 * 1024
"""Most text in a batch, roughly, in characters. A batch becomes one message, of six times as many bytes if
all of it has to be escaped, and there are clients that take no more than 1 MiB."""
GATHER = 0.001
"""Pause between two reads of a program that writes much, in seconds: then each read gets more."""
_MUCH = 4000
_PATIENCE = 0.008
"""Longest time that text of a program that writes much waits for more, in seconds: few large batches cost
less than many small ones."""
_QUIET = 0.2
"""Longest time that output from before the end may still be on its way, in seconds."""
_RETRY = 0.2
_LARGEST = 65535


class _ReadBuffer(threading.local):
    """The buffer that all terminals of a thread read into, one after the other: it stays in the cache."""

    def __init__(self) -> None:
        self.view = memoryview(bytearray(BATCH + 64 * 1024))


_read_buffer = _ReadBuffer()


class Terminal:
    """A running terminal. `start` makes it."""

    def __init__(self, child: Child, pty: Pty, nonce: str | None) -> None:
        self._child = child
        self._master = pty.master
        self._keyboard = Keyboard(pty.master)
        self._loop = asyncio.get_running_loop()
        self._half = b""
        """Beginning of a character whose end was not read yet."""
        self._output = TerminalParser(nonce)
        self._news: asyncio.Future[None] | None = None
        # Little output is read when the loop says that there is some. Much output is read by the clock, since
        # asking the loop each time would cost more than reading. A full batch has to be taken first.
        self._awaits = False
        self._again: asyncio.TimerHandle | None = None
        self._last_read = 0.0
        self._is_ready = False
        """True when the waiting text may be taken: it is all, or enough, or has waited long enough."""
        self._taken = 0.0
        self._hung_up = False
        self._over = asyncio.Event()
        self._watch = asyncio.create_task(self._await_exit())
        self._await_output()

    @classmethod
    async def start(
        cls,
        processes: Processes,
        *,
        argv: Sequence[str] | None = None,
        cwd: Path | None = None,
        cols: int = 80,
        rows: int = 24,
        environ: Mapping[str, str] | None = None,
        extra: Mapping[str, str] | None = None,
        what: str = "a terminal",
    ) -> Terminal:
        """Start a program on a new terminal.

        Cancelling leaves nothing behind.

        Args:
            processes: Starts the host's processes.
            argv: The program; by default the person's shell. A bash or zsh without arguments reports its
                commands.
            cwd: The working directory.
            cols: The width.
            rows: The height.
            environ: The environment to start from; by default the host's. Serai's own secrets are left out.
            extra: Variables to add to it.
            what: A name of the terminal for people.

        Raises:
            InvalidParams: It cannot have that size.
            ProcessNotStarted: The program or the directory does not exist, or the system has no room.
        """
        _check_size(cols, rows)
        nonce = secrets.token_hex(16)
        launch = plan_launch(argv, os.environ if environ is None else environ, extra=extra, nonce=nonce)

        async def begin() -> Terminal:
            try:
                pty = open_pty(cols, rows)
            except OSError as error:
                raise ProcessNotStarted(f"{what} was not started: {error.strerror}") from error
            try:
                child = await processes.start(
                    launch.argv,
                    what=what,
                    cwd=cwd,
                    environ=launch.environ,
                    stdin=pty.slave,
                    stdout=pty.slave,
                    stderr=pty.slave,
                    terminal=pty.path,
                )
            except BaseException:
                pty.close()
                raise
            os.close(pty.slave)
            return cls(child, pty, nonce if launch.integrated else None)

        # The ends of the pty must stay open until the process has its own, also when this is cancelled.
        return await uninterrupted(begin(), undo=Terminal.end)

    @property
    def pid(self) -> int:
        """The pid of the program, which is also the id of its session."""
        return self._child.pid

    @property
    def exit(self) -> Exit | None:
        """The end of the program; `None` while it runs."""
        return self._child.exit

    # -- what the host does --------------------------------------------------------------------------------

    async def batch(self) -> list[TerminalAction]:
        """Wait for the next actions, in their order; the list is empty when the terminal has ended.

        The last action is `terminal/exited`. Its code is the program's, or 128 and the number of the signal
        that ended it; that of KILL when nobody saw it end. One task at a time; cancelling it loses nothing.
        """
        while not self._is_ready:
            if self._over.is_set():
                return []
            self._news = self._loop.create_future()
            try:
                await self._news
            finally:
                self._news = None
        self._is_ready = False
        full = self._output.size >= BATCH
        actions = self._output.take()
        self._taken = self._loop.time()
        if full and not self._over.is_set():
            self._read_later(0)
        return actions

    def write(self, text: str) -> bool:
        """Type some text. Returns `False`, and types nothing, when too much waits or the program is gone."""
        return self._keyboard.write(text.encode("utf-8", "replace"))

    def resize(self, cols: int, rows: int) -> None:
        """Set the size of the terminal. The system tells the program.

        Raises:
            InvalidParams: It cannot have that size.
        """
        _check_size(cols, rows)
        if not self._over.is_set():
            resize(self._master, cols, rows)

    def clear(self) -> None:
        """Clear the terminal: a shell that waits at its prompt draws it again."""
        if self._output.at_prompt:
            self.write("\f")

    async def end(self, grace: float = 2.0) -> Exit:
        """End the program and all that it started, as when a terminal's window is closed.

        Its last output, up to a batch, can still be taken; after that `batch` returns nothing. Cancelling
        stops only the waiting: the program ends all the same.
        """
        how = await self._child.end(grace=grace)
        await self._over_within(2 * _QUIET)
        if not self._over.is_set():  # its output is not taken
            self._finish(how)
        return how

    # -- reading -------------------------------------------------------------------------------------------

    def _await_output(self) -> None:
        """Read as soon as there is output."""
        if not self._awaits:
            self._loop.add_reader(self._master, self._read)
            self._awaits = True

    def _read_later(self, seconds: float | None) -> None:
        """Read after some time, whether or not there is output; with `None`, after a batch was taken."""
        if self._awaits:
            self._loop.remove_reader(self._master)
            self._awaits = False
        self._again = None if seconds is None else self._loop.call_later(seconds, self._read)

    def _read(self) -> None:
        size = self._read_some()
        if size:
            self._last_read = self._loop.time()
        waited = self._last_read - self._taken >= _PATIENCE
        if size < _MUCH or waited or self._hung_up or self._output.size >= BATCH:
            self._wake()
        if self._hung_up and self._child.exit is not None:
            self._finish(self._child.exit)
        elif self._hung_up:
            self._read_later(_RETRY)  # the program has closed its terminal and runs on; it may open it again
        elif self._output.size >= BATCH:
            self._read_later(None)
        elif size >= _MUCH:
            self._read_later(GATHER)
        else:
            self._await_output()

    def _read_some(self) -> int:
        """Read what fits into the batch. Returns the number of bytes."""
        self._hung_up = False
        view = _read_buffer.view
        start = size = len(self._half)
        view[:start] = self._half
        full = max(start + 1, BATCH - self._output.size)
        readv, master = os.readv, self._master  # this loop has to be quick
        while size < full:
            try:
                count = readv(master, (view[size:],))
            except BlockingIOError:
                break
            except OSError:  # Linux: EIO when nobody has the other end open
                count = 0
            if not count:
                self._hung_up = True
                break
            size += count
        if size > start:
            self._decode(view[:size], final=False)
        return size - start

    def _decode(self, data: memoryview | bytes, *, final: bool) -> None:
        """Decode bytes. Half a character at the end waits for its other half."""
        text, used = codecs.utf_8_decode(data, "replace", final)
        self._half = bytes(data[used:])
        self._output.feed(text)

    # -- the end -------------------------------------------------------------------------------------------

    async def _await_exit(self) -> None:
        """Take the last output after the program's end. Processes that it left may hold the terminal open."""
        how = await self._child.wait()
        ended = self._loop.time()
        while not self._over.is_set():
            if self._output.size < BATCH:
                if self._again is not None:
                    self._again.cancel()
                self._read()
                if not self._over.is_set() and self._loop.time() - max(ended, self._last_read) >= _QUIET:
                    self._finish(how)
            await self._over_within(_QUIET / 4)

    async def _over_within(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._over.wait()

    def _finish(self, how: Exit) -> None:
        if self._again is not None:
            self._again.cancel()
        self._read_later(None)
        self._over.set()
        self._keyboard.close()
        os.close(self._master)
        self._decode(self._half, final=True)
        self._output.exited(how.status)
        self._wake()

    def _wake(self) -> None:
        self._is_ready = bool(self._output)
        if self._is_ready and self._news is not None and not self._news.done():
            self._news.set_result(None)


def _check_size(cols: int, rows: int) -> None:
    for name, value in (("cols", cols), ("rows", rows)):
        if not 1 <= value <= _LARGEST:
            raise InvalidParams(
                f"a terminal's {name} are from 1 to {_LARGEST}, not {value}", field=f"params.{name}"
            )
