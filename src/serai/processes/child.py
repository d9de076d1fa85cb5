"""A child: a process in a session of its own, with all that it starts."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import subprocess
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import IO

from serai.processes.census import Identity, Process, members
from serai.processes.ending import end_processes

__all__ = ["Child", "Exit"]

_log = logging.getLogger(__name__)

_REST_GRACE = 1.0
"""How long what a child leaves behind may take to end by itself, in seconds."""


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

    When it ends, by itself or not, whatever else runs in its session or carries its mark is ended too. Only
    then is it reaped: until then no other process can get its pid. Its pipes belong to the caller.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        identity: Identity,
        mark: str,
        what: str,
        *,
        on_terminal: bool,
        everyone: Callable[[], Awaitable[list[Process]]],
        forget: Callable[[Child], None],
    ) -> None:
        self.what = what
        self.mark = mark
        self.identity = identity
        self._process = process
        self._on_terminal = on_terminal
        self._everyone = everyone
        self._forget = forget
        self._loop = asyncio.get_running_loop()
        self._exit: asyncio.Future[Exit] = self._loop.create_future()
        self._sweep: asyncio.Task[None] | None = None
        self._watch()

    @property
    def pid(self) -> int:
        """The pid, which is also the id of its session and of its first group."""
        return self.identity.pid

    @property
    def stdin(self) -> IO[bytes] | None:
        """The writing end of its standard input, unbuffered, when it was asked for.

        Whoever gives it to a transport closes that before `end`, which closes this.
        """
        return self._process.stdin

    @property
    def stdout(self) -> IO[bytes] | None:
        """The reading end of its standard output, unbuffered, when it was asked for."""
        return self._process.stdout

    @property
    def stderr(self) -> IO[bytes] | None:
        """The reading end of its standard error, unbuffered, when it was asked for."""
        return self._process.stderr

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

    def _watch(self) -> None:
        try:
            handle = os.pidfd_open(self.pid)
        except (AttributeError, OSError):
            threading.Thread(target=self._wait_in_thread, name=f"wait-{self.pid}", daemon=True).start()
            return

        def ended() -> None:
            self._loop.remove_reader(handle)
            os.close(handle)
            self._ended(_how(self.pid))

        self._loop.add_reader(handle, ended)

    def _wait_in_thread(self) -> None:
        code = self._process.wait()
        ended = Exit(code=code) if code >= 0 else Exit(signal=-code)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._ended, ended)

    def _ended(self, how: Exit) -> None:
        self._exit.set_result(how)
        if self._sweep is None:
            self._sweep = asyncio.create_task(self._end_all(_REST_GRACE))

    # -- how the rest goes ---------------------------------------------------------------------------------

    async def _end_all(self, grace: float) -> None:
        survivors = await end_processes(self._members, grace=grace, hangup=self._on_terminal)
        if survivors:
            pids = ", ".join(str(process.pid) for process in survivors)
            _log.warning("%s: %s cannot be ended; the next start tries again", self.what, pids)
        if not any(process.pid == self.pid for process in survivors):
            await self._exit
            self._process.wait()  # it has ended already: this only takes it off the system's list
        if not survivors:
            self._forget(self)

    async def _members(self) -> list[Process]:
        return members(await self._everyone(), self.mark, self.identity)


def _how(pid: int) -> Exit:
    """How a process ended. It stays on the system's list, so that its pid keeps meaning it."""
    try:
        told = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    except ChildProcessError:
        return Exit()  # someone else in this program has asked before
    if told is None:
        return Exit()
    return Exit(code=told.si_status) if told.si_code == os.CLD_EXITED else Exit(signal=told.si_status)
