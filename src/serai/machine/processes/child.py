"""A child: a process in a session of its own, with all that it starts."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import IO

from serai.machine.processes.census import Identity, Process, members
from serai.machine.processes.ending import end_processes
from serai.machine.processes.records import Record
from serai.machine.processes.streams import Pipes

__all__ = ["Child", "Exit"]

_log = logging.getLogger(__name__)

_REST_GRACE = 1.0
"""How long what a child leaves behind may take to end by itself, in seconds."""
_KEEPER_GRACE = 1.0
"""How long the keeper may take to go when nothing is left, in seconds."""
_ROUNDS = 5
"""How often it is looked for what is left."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended: with a code, or by a signal. With neither, nobody saw it end."""

    code: int | None = None
    signal: int | None = None

    @property
    def status(self) -> int | None:
        """One number for both, as shells have it: a signal is 128 and its number."""
        return self.code if self.signal is None else 128 + self.signal

    def __str__(self) -> str:
        if self.signal is None:
            return "it ended unseen" if self.code is None else f"it ended with the code {self.code}"
        try:
            return f"it was ended by {signal.Signals(self.signal).name}"
        except ValueError:
            return f"it was ended by the signal {self.signal}"


class Child:
    """A process that the host started. `Processes.start` makes it.

    When it ends, by itself or not, whatever else came of it is ended too: all below its keeper. Its pipes
    belong to the caller.
    """

    def __init__(
        self,
        link: socket.socket,
        pipes: Pipes,
        record: Record,
        mark: str,
        *,
        on_terminal: bool,
        everyone: Callable[[], Awaitable[list[Process]]],
        forget: Callable[[Child], None],
    ) -> None:
        self.what = record.what
        self.mark = mark
        self.identity = record.child or Identity(0, "")
        self._keeper = record.keeper
        self._pipes = pipes
        self._on_terminal = on_terminal
        self._everyone = everyone
        self._forget = forget
        self._loop = asyncio.get_running_loop()
        self._exit: asyncio.Future[Exit] = self._loop.create_future()
        self._sweep: asyncio.Task[None] | None = None
        self._link = link
        self._words = b""
        self._alone = asyncio.Event()
        """Set when the keeper is gone, which goes last."""
        link.setblocking(False)
        self._loop.add_reader(link, self._hear)

    @property
    def pid(self) -> int:
        """The pid, which is also the id of its session and of its first group."""
        return self.identity.pid

    @property
    def stdin(self) -> IO[bytes] | None:
        """The writing end of its standard input, unbuffered, when it was asked for.

        Whoever gives it to a transport closes that before `end`, which closes this.
        """
        return self._pipes.stdin

    @property
    def stdout(self) -> IO[bytes] | None:
        """The reading end of its standard output, unbuffered, when it was asked for."""
        return self._pipes.stdout

    @property
    def stderr(self) -> IO[bytes] | None:
        """The reading end of its standard error, unbuffered, when it was asked for."""
        return self._pipes.stderr

    @property
    def exit(self) -> Exit | None:
        """How it ended; `None` while it runs."""
        return self._exit.result() if self._exit.done() else None

    async def wait(self) -> Exit:
        """Wait until the process itself has ended. Cancelling it stops the waiting and nothing else."""
        return await asyncio.shield(self._exit)

    async def gone(self) -> None:
        """Wait until the process and all that it started are gone, and its record with them."""
        await self.wait()
        if self._sweep is not None:
            await asyncio.shield(self._sweep)

    async def end(self, *, eof: float = 0.0, grace: float = 5.0) -> Exit:
        """End the process and all that it started, and say how it ended. To do it again does no harm.

        Its standard input is closed first, if it is a pipe that is still open. Cancelling this stops the
        waiting: the end comes all the same.

        Args:
            eof: How long it may take to end because its input is closed, in seconds, before it gets TERM.
            grace: How long it may take to end after that, before it gets KILL. A program on a terminal gets
                HUP first, as when the terminal is closed.
        """
        if self.stdin is not None:
            with contextlib.suppress(OSError):
                self.stdin.close()
        if eof and not self._exit.done():
            await asyncio.wait([self._exit], timeout=eof)
        if self._sweep is None:
            self._sweep = asyncio.create_task(self._end_all(grace))
        await asyncio.shield(self._sweep)
        return self.exit or Exit()

    # -- how its end is noticed ----------------------------------------------------------------------------

    def _hear(self) -> None:
        """The keeper tells how the process has ended, and closes the link when all is over."""
        try:
            heard = self._link.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            heard = b""
        *lines, self._words = (self._words + heard).split(b"\n")
        for line in lines:
            code = int(line.removeprefix(b"ended "))
            self._ended(Exit(code=code) if code >= 0 else Exit(signal=-code))
        if not heard:
            self._loop.remove_reader(self._link)
            self._link.close()
            self._alone.set()
            if not self._exit.done():  # someone has killed the keeper
                self._ended(Exit())

    def _ended(self, how: Exit) -> None:
        self._exit.set_result(how)
        if self._sweep is None:
            self._sweep = asyncio.create_task(self._end_all(_REST_GRACE))

    # -- how the rest goes ---------------------------------------------------------------------------------

    async def _end_all(self, grace: float) -> None:
        for _ in range(_ROUNDS):
            survivors = await end_processes(self._members, grace=grace, hangup=self._on_terminal)
            if survivors:
                break
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_KEEPER_GRACE):
                    await self._alone.wait()
            if self._alone.is_set():
                self._forget(self)
                return
            # Something of it still runs that was not seen: it came to be while we looked.
        else:
            survivors = []
        pids = ", ".join(str(process.pid) for process in survivors) or "something that cannot be seen"
        _log.warning("%s: %s cannot be ended; the next start tries again", self.what, pids)

    async def _members(self) -> list[Process]:
        return members(await self._everyone(), self.mark, self.identity, self._keeper)
