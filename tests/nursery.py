"""Starts programs of Serai quickly: a process that has imported them once forks for each.

    process = nursery().start("serai.cli:main", ["serve"], imports=["serai.cli.serve"], out=1)
    await process.wait()

What runs is a process as any other: with an environment, a terminal and an end of its own. Only the imports,
most of what the start of a command takes, are paid for once per worker and not once per test.
"""

from __future__ import annotations

import asyncio
import fcntl
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import termios
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

WITHIN = 30.0
"""Seconds after which something that was to happen has not."""


class Forked:
    """A process that was forked for a test."""

    def __init__(self, pid: int, status: int) -> None:
        self.pid = pid
        self._returncode: int | None = None
        self._status = status
        os.set_blocking(status, False)

    @property
    def returncode(self) -> int | None:
        """Its exit status, or minus the signal that has ended it; `None` while it runs."""
        if self._returncode is None:
            with suppress(BlockingIOError):
                said = os.read(self._status, 16)
                assert said, "the nursery has ended"
                self._returncode = int(said)
                os.close(self._status)
        return self._returncode

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        """Wait for its end; its exit status."""
        loop = asyncio.get_running_loop()
        while (code := self.returncode) is None:
            ended = loop.create_future()
            loop.add_reader(self._status, _settle, ended)
            try:
                await ended
            finally:
                loop.remove_reader(self._status)
        return code

    def wait_now(self) -> int:
        """The same, outside of an event loop."""
        while (code := self.returncode) is None:
            assert select.select([self._status], [], [], WITHIN)[0], f"the process {self.pid} does not end"
        return code


def _settle(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)


class Nursery:
    """The process that forks. It ends with the one that has made it, and kills what is left."""

    def __init__(self) -> None:
        self._door, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )

    def start(
        self,
        function: str,
        words: Sequence[str],
        *,
        imports: Sequence[str] = (),
        out: int,
        errors: int | None = None,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        is_seated: bool = False,
    ) -> Forked:
        """Fork a process that calls a function and exits with what that returns.

        Args:
            function: Its module and its name.
            words: Its one argument.
            imports: Modules that it loads sooner or later.
            out: Where it writes.
            errors: Where its errors go, if not to the same place.
            environment: Its environment, if not this one.
            folder: Where it works, if not here.
            is_seated: Whether that is a terminal, which it reads, too. The terminal becomes its own: then it
                hears when the window changes, and Ctrl-C reaches it. Without one it reads nothing.
        """
        os.umask(umask := os.umask(0))
        order = {
            "function": function,
            "words": words,
            "imports": imports,
            "environment": dict(os.environ if environment is None else environment),
            "umask": umask,
            "is_seated": is_seated,
        }
        status, theirs = os.pipe()
        where = os.open(folder or ".", os.O_RDONLY)  # also where that is gone
        try:
            socket.send_fds(
                self._door,
                [json.dumps(order).encode() + b"\n"],
                [out, out if errors is None else errors, where, theirs],
            )
        finally:
            os.close(theirs)
            os.close(where)
        said = self._door.recv(16)
        assert said, "the nursery has ended"
        return Forked(int(said), status)

    def close(self) -> None:
        self._door.close()
        self._process.wait(WITHIN)


@asynccontextmanager
async def reading() -> AsyncGenerator[tuple[asyncio.StreamReader, BinaryIO]]:
    """A pipe: where to read it, and the end to give away and to close."""
    end, theirs = (os.fdopen(handle, mode, 0) for handle, mode in zip(os.pipe(), ("rb", "wb"), strict=True))
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), end)
    try:
        with theirs:
            yield reader, theirs
    finally:
        transport.close()


@cache
def nursery() -> Nursery:
    """The nursery of this worker, made when it is first asked for."""
    return Nursery()


# -- in the process that forks -----------------------------------------------------------------------------


def _main() -> NoReturn:
    order = _serve(socket.socket(fileno=int(sys.argv[1])))
    if order is None:
        sys.exit()
    os.umask(order["umask"])
    os.environ.clear()
    os.environ.update(order["environment"])
    if "PYTHONPATH" in os.environ:
        sys.path[:0] = os.environ["PYTHONPATH"].split(os.pathsep)
    sys.argv[:] = ["serai", *order["words"]]
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        is_line_buffered = name == "stderr" or os.isatty(number)
        errors = getattr(sys, name).errors
        stream = os.fdopen(number, mode, 1 if is_line_buffered else -1, errors=errors, closefd=False)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    module, _, name = order["function"].partition(":")
    sys.exit(getattr(import_module(module), name)(order["words"]))


def _serve(door: socket.socket) -> dict[str, Any] | None:
    """Fork for each order until there are no more; in the process that was forked, return the order."""
    living: dict[int, int] = {}
    ended, has_ended = os.pipe()
    os.set_blocking(has_ended, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests
    signal.signal(signal.SIGCHLD, _woken)
    signal.set_wakeup_fd(has_ended)
    while True:
        ready, _, _ = select.select([door, ended], [], [])
        if ended in ready:
            os.read(ended, 4096)
            _reap(living)
        if door not in ready:
            continue
        line, handles = _read(door)
        if not line:
            for pid in living:
                os.kill(pid, signal.SIGKILL)
            return None
        order = json.loads(line)
        for name in order["imports"]:
            import_module(name)
        gc.freeze()
        if (pid := os.fork()) == 0:
            for handle in (*living.values(), ended, has_ended):
                os.close(handle)
            door.close()
            _sit_down(handles, is_seated=order["is_seated"])
            return order
        living[pid] = handles.pop()
        for handle in handles:
            os.close(handle)
        door.send(b"%d" % pid)


def _woken(number: int, frame: object) -> None:
    """That someone has ended is told by the wake-up handle."""
    del number, frame


def _sit_down(handles: list[int], *, is_seated: bool) -> None:
    """In the process that was forked: be as one that was started."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if is_seated:
        os.setsid()
        fcntl.ioctl(handles[0], termios.TIOCSCTTY, 0)
        os.dup2(handles[0], 0)
    os.fchdir(handles[2])
    for number, handle in enumerate(handles[:2], 1):
        os.dup2(handle, number)
    for handle in handles:
        os.close(handle)


def _read(door: socket.socket) -> tuple[bytes, list[int]]:
    line, handles = b"", list[int]()
    while not line.endswith(b"\n"):
        piece, more, _, _ = socket.recv_fds(door, 65536, 4)
        if not piece:
            return b"", []
        line += piece
        handles += more
    return line, handles


def _reap(living: dict[int, int]) -> None:
    """Tell of those that have ended how they did."""
    with suppress(ChildProcessError):
        while (one := os.waitpid(-1, os.WNOHANG))[0]:
            handle = living.pop(one[0])
            with suppress(BrokenPipeError):
                os.write(handle, b"%d" % os.waitstatus_to_exitcode(one[1]))
            os.close(handle)


if __name__ == "__main__":
    _main()
