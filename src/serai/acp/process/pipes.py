"""An agent's three pipes on the event loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import IO, cast

from serai.errors import ProcessNotStarted
from serai.machine.processes.child import Child

__all__ = ["Pipes"]


class _Reader(asyncio.Protocol):
    """Hands on what comes, and says when no more will."""

    def __init__(self, hear: Callable[[bytes], None]) -> None:
        self._hear = hear
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        """Something has come."""
        self._hear(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """The other end is closed, or this one."""
        del exc
        if not self.ended.done():
            self.ended.set_result(None)


class _Writer(asyncio.BaseProtocol):
    def __init__(self) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_lost(self, exc: Exception | None) -> None:
        """The agent reads no more. What that means is seen at its output."""
        del exc
        if not self.ended.done():
            self.ended.set_result(None)


class Pipes:
    """What goes to an agent and comes from it. `connect` makes it."""

    def __init__(
        self,
        stdin: tuple[asyncio.WriteTransport, _Writer],
        stdout: tuple[asyncio.ReadTransport, _Reader],
        stderr: tuple[asyncio.ReadTransport, _Reader],
    ) -> None:
        self._input, self._input_end = stdin
        self._output, self._output_end = stdout
        self._log, self._log_end = stderr
        self._held = False

    @classmethod
    async def connect(
        cls, child: Child, *, output: Callable[[bytes], None], log: Callable[[bytes], None]
    ) -> Pipes:
        """Connect to a child whose three streams are pipes.

        Args:
            child: The child.
            output: Is given what it writes to its standard output.
            log: Is given what it writes to its standard error.

        Raises:
            ProcessNotStarted: It is being ended already, since the host is closing.
        """
        loop = asyncio.get_running_loop()
        ends = [cast("IO[bytes]", end) for end in (child.stdin, child.stdout, child.stderr)]
        if ends[0].closed:
            for end in ends:
                end.close()
            raise ProcessNotStarted(f"{child.what} was ended before anything was said to it")
        stdin = await loop.connect_write_pipe(_Writer, ends[0])
        stdout = await loop.connect_read_pipe(lambda: _Reader(output), ends[1])
        stderr = await loop.connect_read_pipe(lambda: _Reader(log), ends[2])
        return cls(stdin, stdout, stderr)

    @property
    def output_ended(self) -> asyncio.Future[None]:
        """Is done when the agent, and all that it started, have closed their output."""
        return self._output_end.ended

    @property
    def input_ended(self) -> asyncio.Future[None]:
        """Is done when the agent reads no more, or when this end is closed."""
        return self._input_end.ended

    def write(self, line: bytes) -> None:
        """Send a line. It never blocks; when the agent does not read, it waits here."""
        if not self._input.is_closing():
            self._input.write(line)

    def hold(self, *, held: bool) -> None:
        """Read no more output for now, or again. An agent that writes more has to wait."""
        if held is self._held or self.output_ended.done():
            return
        self._held = held
        if held:
            self._output.pause_reading()
        else:
            self._output.resume_reading()

    async def close_input(self) -> None:
        """Tell the agent that no more will come. What it has not read by now, it will not get."""
        if self._input.get_write_buffer_size():
            self._input.abort()
        else:
            self._input.close()
        await self.input_ended

    async def log_ended(self, within: float) -> None:
        """Wait for the rest of the log, but not for long: whoever the agent has started may hold it open."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                await asyncio.shield(self._log_end.ended)

    async def close(self) -> None:
        """Close all three."""
        self._output.close()
        self._log.close()
        await asyncio.gather(self.close_input(), self._output_end.ended, self._log_end.ended)
