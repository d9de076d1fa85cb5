"""Agents that run inside this program: three pipes, and a task in the place of a process."""

from __future__ import annotations

import asyncio
import contextlib
import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import msgspec

from serai.acp import Launch
from serai.agents.ask.start import Adapter
from serai.machine.processes.child import Exit

if TYPE_CHECKING:
    from serai.agents.ask.options import Options
    from serai.machine.processes.processes import Processes

__all__ = ["Ended", "Inside", "Wire"]

_LONGEST = 64 * 1024 * 1024


class Ended(Exception):
    """The agent ends, with a code or by a signal."""

    def __init__(self, how: Exit) -> None:
        super().__init__(str(how))
        self.how = how


class Wire:
    """The agent's ends of its three pipes."""

    def __init__(
        self, heard: asyncio.StreamReader, said: asyncio.WriteTransport, logged: asyncio.WriteTransport
    ) -> None:
        self._heard = heard
        self._said = said
        self._logged = logged

    async def receive(self) -> dict[str, Any] | None:
        """The next message of the client; `None` when it says no more."""
        line = await self._heard.readline()
        return msgspec.json.decode(line) if line else None

    def send(self, **message: Any) -> None:
        """Send a message."""
        self.write(msgspec.json.encode({"jsonrpc": "2.0", **message}))

    def write(self, line: bytes) -> None:
        """Write a line, whatever it is, to the standard output."""
        self._said.write(line + b"\n")

    def log(self, line: str) -> None:
        """Write a line to the standard error."""
        self._logged.write(line.encode() + b"\n")


class Inside(Adapter):
    """An agent that runs inside this program."""

    def __init__(self, name: str) -> None:
        self.id = name
        self.environ: Mapping[str, str] = {}
        """The variables that it was last started with."""
        self.cwd: Path | None = None
        """Where it was last started."""
        self.starts = 0
        """How often it was started."""

    @abstractmethod
    async def play(self, wire: Wire) -> None:
        """Be the agent, until the client says no more. Raises `Ended`: it ends in another way."""

    async def launch(self, options: Options) -> Launch:  # noqa: ARG002 - nothing depends on them
        """Nothing has to be found."""
        return Launch((self.id,), name=self.id)

    @property
    def processes(self) -> Processes:
        """Starts it in the place of a process."""
        return cast("Processes", self)  # of which agents use `start` alone

    async def start(
        self,
        argv: Sequence[str],  # noqa: ARG002 - there is only one
        *,
        cwd: Path | None = None,
        environ: Mapping[str, str] | None = None,
        **how: Any,  # noqa: ARG002 - it is what a process would need
    ) -> _Child:
        """As `Processes.start`."""
        self.starts += 1
        self.cwd, self.environ = cwd, dict(environ or {})
        return await _Child.start(self)


class _Child:
    """What an agent's connection needs of `Child`."""

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes], stderr: IO[bytes]) -> None:
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self.pid = os.getpid()
        self._exit: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None]

    @classmethod
    async def start(cls, agent: Inside) -> _Child:
        loop = asyncio.get_running_loop()
        (hears, tells), (reads, says), (notes, logs) = os.pipe(), os.pipe(), os.pipe()
        child = cls(*(os.fdopen(*each, 0) for each in ((tells, "wb"), (reads, "rb"), (notes, "rb"))))
        heard = asyncio.StreamReader(limit=_LONGEST)
        ears, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(heard), os.fdopen(hears, "rb", 0)
        )
        said, _ = await loop.connect_write_pipe(_Writing, os.fdopen(says, "wb", 0))
        logged, _ = await loop.connect_write_pipe(_Writing, os.fdopen(logs, "wb", 0))
        child._task = asyncio.create_task(
            child._run(agent, Wire(heard, said, logged), (ears, said, logged)), name=f"agent {agent.id}"
        )
        return child

    @property
    def exit(self) -> Exit | None:
        return self._exit.result() if self._exit.done() else None

    async def wait(self) -> Exit:
        return await asyncio.shield(self._exit)

    async def gone(self) -> None:
        await asyncio.wait([self._task])

    async def end(self, *, eof: float = 0.0, grace: float = 0.0) -> Exit:
        del grace  # a task cannot refuse
        with contextlib.suppress(OSError):
            self.stdin.close()
        if eof and not self._exit.done():
            await asyncio.wait([self._exit], timeout=eof)
        self._task.cancel()
        await self.gone()
        return await self._exit

    async def _run(self, agent: Inside, wire: Wire, ends: tuple[asyncio.BaseTransport, ...]) -> None:
        how = Exit(signal=15)
        try:
            await agent.play(wire)
            how = Exit(code=0)
        except Ended as ended:
            how = ended.how
        except (ConnectionError, asyncio.CancelledError):
            pass
        except Exception as problem:  # noqa: BLE001 - as a program that fails: its log says why
            wire.log(f"{type(problem).__name__}: {problem}")
            how = Exit(code=1)
        finally:
            for end in ends:
                end.close()
            self._exit.set_result(how)


class _Writing(asyncio.BaseProtocol):
    """The agent does not wait until it is heard."""
