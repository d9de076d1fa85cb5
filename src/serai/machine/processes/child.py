"""A child: a process in a session of its own, with all that it starts."""

from __future__ import annotations

import asyncio
import errno
import logging
import marshal
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from serai.machine.processes.environment import inheritable
from serai.machine.processes.keeper import HEADER, Request

T = TypeVar("T")

_log = logging.getLogger(__name__)

# As an imported module, the keeper is not compiled each time.
_KEEPER = "import sys; sys.path.append(sys.argv[1]); import keeper; keeper.main(int(sys.argv[2]))"
_FOLDER = str(Path(__file__).parent)
_START_LIMIT = 30.0
"""Longest time to start a child, in seconds. It takes some milliseconds."""
_KEEPER_LIMIT = 8.0
"""Time beyond the grace that a keeper may take to end all, in seconds. It needs 5 at most."""


@dataclass(frozen=True, slots=True)
class Exit:
    """The end of a process: an exit code, or a signal. With neither, nobody saw it end."""

    code: int | None = None
    signal: int | None = None

    @property
    def status(self) -> int | None:
        """One number for code and signal, as shells have it: a signal is 128 and its number."""
        return self.code if self.signal is None else 128 + self.signal

    def __str__(self) -> str:
        if self.signal is None:
            return "its end was not seen" if self.code is None else f"it ended with the code {self.code}"
        names = {each.value: each.name for each in signal.Signals}
        return f"it was ended by {names.get(self.signal, f'the signal {self.signal}')}"


@dataclass(frozen=True, slots=True)
class StartedChild:
    """A child that was started, and its keeper, which holds the host's ends of the child's pipes."""

    pid: int
    keeper: subprocess.Popen[bytes]
    link: socket.socket
    """Socket to the keeper. If the host closes it first, the keeper ends what is left."""


def start_kept(request: Request, stdin: int, stdout: int, stderr: int) -> StartedChild:
    """Start a keeper, and through it a child with these streams. Blocks for some milliseconds.

    Raises:
        OSError: The child cannot be started.
    """
    ours, theirs = socket.socketpair()
    with ExitStack() as undo, theirs:
        undo.callback(ours.close)
        keeper = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-I", "-S", "-c", _KEEPER, _FOLDER, str(theirs.fileno())],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            bufsize=0,
            pass_fds=[theirs.fileno()],
            cwd="/",
            env=inheritable(os.environ),
            start_new_session=True,  # keys and signals that end the host do not reach it
        )
        theirs.close()
        undo.callback(_undo, keeper, ours)
        ours.settimeout(_START_LIMIT)
        data = marshal.dumps(request)
        ours.sendall(len(data).to_bytes(HEADER, "big") + data)
        line = b""
        while not line.endswith(b"\n"):  # byte by byte, since more lines may follow
            byte = ours.recv(1)
            if not byte:
                raise ConnectionResetError(errno.ECONNRESET, "its keeper was killed")
            line += byte
        word, number = line.split()
        if word == b"failed":
            raise OSError(int(number), os.strerror(int(number)))
        undo.pop_all()
        return StartedChild(int(number), keeper, ours)


def _undo(keeper: subprocess.Popen[bytes], link: socket.socket) -> None:
    link.close()
    for pipe in (keeper.stdin, keeper.stdout, keeper.stderr):
        if pipe is not None:
            pipe.close()
    keeper.wait()


class Child:
    """A process that the host started. `Processes.start` makes it.

    When it ends, its keeper ends all other processes that came of it. Its pipes belong to the caller. On a
    terminal, `end` sends HUP first. `forget` is called when all processes are gone.
    """

    def __init__(
        self, kept: StartedChild, what: str, *, on_terminal: bool, forget: Callable[[Child], None]
    ) -> None:
        self.what = what
        self.pid = kept.pid
        """The pid, which is also the id of its session and of its first process group."""
        self.keeper = kept.keeper
        self.stdin: IO[bytes] | None = kept.keeper.stdin
        """Host's end of the standard input, unbuffered, if a pipe was asked for; so are the next two.

        Whoever gives it to a transport closes that before `end`, which closes this.
        """
        self.stdout: IO[bytes] | None = kept.keeper.stdout
        self.stderr: IO[bytes] | None = kept.keeper.stderr
        self._on_terminal = on_terminal
        self._forget = forget
        self._loop = asyncio.get_running_loop()
        self._exit: asyncio.Future[Exit] = self._loop.create_future()
        self._gone: asyncio.Future[None] = self._loop.create_future()
        self._finishing: asyncio.Task[None] | None = None
        self._link = kept.link
        self._words = b""
        self._is_ending = False
        self._link.setblocking(False)
        self._loop.add_reader(self._link, self._read_link)

    @property
    def exit(self) -> Exit | None:
        """The end of the process; `None` while it runs."""
        return self._exit.result() if self._exit.done() else None

    async def wait(self) -> Exit:
        """Wait until the process itself has ended. Cancelling stops only the waiting."""
        return await asyncio.shield(self._exit)

    async def gone(self) -> None:
        """Wait until the process and all that it started are gone."""
        await asyncio.shield(self._gone)

    async def end(self, *, eof: float = 0.0, grace: float = 5.0) -> Exit:
        """End the process and all that it started, and return how it ended. Repeated calls are harmless.

        Its standard input is closed first, if it is a pipe that is still open. Cancelling stops only the
        waiting: the process ends all the same.

        Args:
            eof: Seconds that it may take to end because its input is closed, before it gets TERM.
            grace: Seconds that it may take to end after that, before it gets KILL. A program on a terminal
                gets HUP first, as when the terminal is closed.
        """
        if self.stdin is not None:
            with suppress(OSError):
                self.stdin.close()
        if eof and not self._exit.done():
            await asyncio.wait([self._exit], timeout=eof)
        if not self._is_ending and not self._gone.done():
            self._is_ending = True
            with suppress(OSError):  # the keeper is gone, which `_read_link` will notice
                self._link.send(f"end {grace} {int(self._on_terminal)}".encode())
            late = self._loop.call_later(grace + _KEEPER_LIMIT, self.keeper.kill)
            self._gone.add_done_callback(lambda _: late.cancel())
        await self.gone()
        return self.exit or Exit()

    def _read_link(self) -> None:
        """Read how the process has ended from the keeper, which closes the link when all is over."""
        try:
            heard = self._link.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            heard = b""
        *lines, self._words = (self._words + heard).split(b"\n")
        for line in lines:
            word, _, rest = line.decode().partition(" ")
            if word == "left":
                _log.warning("%s: the processes %s cannot be ended", self.what, rest)
            else:
                self._exit.set_result(Exit(code=int(rest)) if int(rest) >= 0 else Exit(signal=-int(rest)))
        if not heard:
            self._loop.remove_reader(self._link)
            self._link.close()
            self._finishing = asyncio.create_task(self._finish())

    async def _finish(self) -> None:
        await asyncio.to_thread(self.keeper.wait)
        if not self._exit.done():  # someone has killed the keeper
            self._exit.set_result(Exit())
            with suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)  # processes that have left the group are unknown
        self._forget(self)
        self._gone.set_result(None)


# -- work that must not stop half-way, for callers who may ---------------------------------------------------


async def uninterrupted(work: Coroutine[Any, Any, T], undo: Callable[[T], Coroutine[Any, Any, object]]) -> T:
    """Run work to its end and return its result. A cancellation undoes the result, and is raised then."""
    task = asyncio.ensure_future(work)
    try:
        return await to_its_end(task)
    except asyncio.CancelledError:
        if not task.cancelled() and task.exception() is None:
            await to_its_end(undo(task.result()))
        raise


async def to_its_end(work: Awaitable[T]) -> T:
    """Run work to its end and return its result. A cancellation is raised when the work is done.

    This is for work that is over soon in any case, such as ending a process.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # marks the exception as retrieved
        raise cancelled
    return task.result()
