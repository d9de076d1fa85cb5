"""An agent's three pipes on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import IO, cast

from serai.errors import ProcessNotStarted
from serai.machine.processes.child import Child


class _End(asyncio.Protocol):
    """Our end of a pipe: passes on data, and notes when either side closes it."""

    def __init__(self, hear: Callable[[bytes], None]) -> None:
        self._hear = hear
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        """Pass data on."""
        self._hear(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the pipe is closed."""
        del exc
        if not self.closed.done():
            self.closed.set_result(None)


class Pipes:
    """The input, output and log of an agent. `connect` makes it."""

    _input: asyncio.WriteTransport
    _output: asyncio.ReadTransport
    _log: asyncio.ReadTransport
    input_ended: asyncio.Future[None]
    """Done when the agent reads no more, or when our end is closed."""
    output_ended: asyncio.Future[None]
    """Done when the agent, and all that it started, have closed their output."""
    log_ended: asyncio.Future[None]
    """The same for the log."""

    @classmethod
    async def connect(
        cls, child: Child, *, output: Callable[[bytes], None], log: Callable[[bytes], None]
    ) -> Pipes:
        """Connect to a child whose three streams are pipes; `output` and `log` take what it writes.

        Raises:
            ProcessNotStarted: It is being ended already, because the host is closing.
        """
        loop = asyncio.get_running_loop()
        ends = [cast("IO[bytes]", end) for end in (child.stdin, child.stdout, child.stderr)]
        if ends[0].closed:
            for end in ends:
                end.close()
            raise ProcessNotStarted(f"{child.what} was ended before anything was said to it")
        pipes = cls()
        pipes._input, stdin = await loop.connect_write_pipe(lambda: _End(lambda _: None), ends[0])
        pipes._output, stdout = await loop.connect_read_pipe(lambda: _End(output), ends[1])
        pipes._log, stderr = await loop.connect_read_pipe(lambda: _End(log), ends[2])
        pipes.input_ended, pipes.output_ended, pipes.log_ended = stdin.closed, stdout.closed, stderr.closed
        return pipes

    def write(self, line: bytes) -> None:
        """Send a line. This never blocks: lines that the agent does not read wait here."""
        if not self._input.is_closing():
            self._input.write(line)

    def hold(self, *, held: bool) -> None:
        """Pause reading the output, or resume it. Meanwhile an agent that writes has to wait."""
        if self.output_ended.done():
            return
        if held:
            self._output.pause_reading()
        else:
            self._output.resume_reading()

    async def close_input(self) -> None:
        """Close the agent's input. It will not get what it has not read by now."""
        if self._input.get_write_buffer_size():
            self._input.abort()
        else:
            self._input.close()
        await self.input_ended

    async def close(self) -> None:
        """Close all three."""
        self._output.close()
        self._log.close()
        await asyncio.gather(self.close_input(), self.output_ended, self.log_ended)
