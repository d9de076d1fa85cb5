"""The command as people run it, and what it prints."""

from __future__ import annotations

import asyncio
import io
import os
import re
import tempfile
import termios
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager, chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pyte

from nursery import Forked, nursery, reading
from serai.cli import main
from serai.config.keys import find_database_key
from serai.config.paths import find_paths
from serai.store.sqlite.store import SqliteStore

WITHIN = 30.0
"""Seconds after which something that was to happen has not."""


def environment(home: Path, **more: str) -> dict[str, str]:
    """What a command needs, and nothing of the person who runs the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SERAI_", "PYTHON"))}
    return {**kept, "SERAI_HOME": str(home), "SERAI_USE_KEYRING": "false", "NO_COLOR": "1", **more}


class Program:
    """A command that runs."""

    def __init__(self, process: Forked, out: asyncio.StreamReader) -> None:
        self.process = process
        self.printed = ""
        self._out = out

    async def says(self, pattern: str) -> re.Match[str]:
        """Wait until it has printed something."""
        async with asyncio.timeout(WITHIN):
            while (found := re.search(pattern, self.printed)) is None:
                data = await self._out.read(65536)
                assert data, f"it ended, and had said {self.printed!r}"
                self.printed += data.decode(errors="replace")
        return found

    async def ended(self) -> int:
        """Wait for its end."""
        async with asyncio.timeout(WITHIN):
            self.printed += (await self._out.read()).decode(errors="replace")
            return await self.process.wait()


async def address_of(host: Program, home: Path) -> tuple[str, str]:
    """Where a host of a home listens, and its token, which it prints nowhere."""
    address = (await host.says(r"address  http://(\S+?)/\s"))[1]
    return address, (home / "token").read_text().strip()


class Done(NamedTuple):
    code: int
    out: str
    err: str


async def make_database(home: Path) -> tuple[Path, bytes]:
    """An empty database where a host looks for it, and its key."""
    paths = find_paths(home, {})
    key = find_database_key(paths, {}, use_keyring=False).value
    assert isinstance(key, bytes)
    store = SqliteStore(paths.database, key)
    await store.open()
    await store.close()
    return paths.database, key


async def run(
    *words: str, home: Path, typed: str | None = None, cwd: Path | None = None, **environ: str
) -> Done:
    """Run a command to its end: in a thread of this process, which is much quicker than another process.

    Where a signal, a terminal or the process itself is the point, see `running` and `seated`.
    """
    assert "serve" not in words, "a host changes the process that it runs in"
    return await asyncio.wait_for(asyncio.to_thread(_run, words, home, typed, cwd, environ), WITHIN)


def _run(
    words: tuple[str, ...], home: Path, typed: str | None, cwd: Path | None, environ: dict[str, str]
) -> Done:
    with ExitStack() as until:
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
        if typed is None:
            stdin = until.enter_context(Path(os.devnull).open(encoding="utf-8"))
        else:
            stdin = until.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8"))
            stdin.write(typed)
            stdin.seek(0)
        until.enter_context(patch("sys.stdin", stdin))
        until.enter_context(redirect_stdout(out))
        until.enter_context(redirect_stderr(err))
        until.enter_context(patch.dict(os.environ, environment(home, **environ), clear=True))
        if cwd is not None:
            until.enter_context(chdir(cwd))
        try:
            code = main(words)
        except SystemExit as left:
            code = int(left.code or 0)
        return Done(code, _text(out), _text(err))


def _text(stream: io.TextIOWrapper[io.BytesIO]) -> str:
    stream.flush()
    return stream.detach().getvalue().decode()


_IMPORTS = (
    "serai.cli.chat.command",
    "serai.cli.console.attach",
    "serai.cli.console.editor",
    "serai.cli.serve",
    "serai.cli.terminals",
    "serai.harness.acp.harness",
    "uvicorn.lifespan.off",
)
"""What commands load when they need it."""


def start(words: tuple[str, ...], environ: dict[str, str], out: int, *, is_seated: bool = False) -> Forked:
    """Start the command in a process of its own."""
    return nursery().start(
        "serai.cli:main", words, imports=_IMPORTS, out=out, environment=environ, is_seated=is_seated
    )


@asynccontextmanager
async def running(*words: str, home: Path, **environ: str) -> AsyncGenerator[Program]:
    """A command that goes on until the block ends."""
    async with reading() as (out, theirs):
        with theirs:
            process = start(words, environment(home, **environ), theirs.fileno())
        try:
            yield Program(process, out)
        finally:
            process.terminate()
            try:
                async with asyncio.timeout(WITHIN):
                    await out.read()
                    await process.wait()
            except TimeoutError:
                process.kill()
                raise


class Seat:
    """A command on a terminal of its own, with a person at it."""

    def __init__(self, process: Forked, master: int, slave: int) -> None:
        self.process = process
        self.text = ""
        self._shown = pyte.HistoryScreen(*reversed(termios.tcgetwinsize(master)), history=1000)
        self._stream = pyte.ByteStream(self._shown)
        self._master = master
        self._slave = slave
        self._news = asyncio.Event()
        self._before = termios.tcgetattr(slave)
        os.set_blocking(master, False)
        asyncio.get_running_loop().add_reader(master, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._master, 65536)
        except BlockingIOError:
            return
        except OSError:
            asyncio.get_running_loop().remove_reader(self._master)
            return
        self.text += data.decode(errors="replace")
        self._stream.feed(data)
        self._news.set()

    @property
    def screen(self) -> str:
        """What stands there now, with what has scrolled away above it."""
        above = ["".join(row[column].data for column in sorted(row)) for row in self._shown.history.top]
        return "\n".join(line.rstrip() for line in [*above, *self._shown.display]).rstrip()

    def style(self, text: str) -> Any:
        """The look of the first letter of a text that stands there."""
        for row, line in enumerate(self._shown.display):
            if text in line:
                return self._shown.buffer[row][line.index(text)]
        raise AssertionError(f"{text!r} does not stand on {self.screen}")

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._master, text.encode())

    def resize(self, cols: int, rows: int) -> None:
        """Make the window larger or smaller."""
        self._shown.resize(rows, cols)
        termios.tcsetwinsize(self._master, (rows, cols))

    @property
    def is_as_before(self) -> bool:
        """Whether the terminal was left as it was found."""
        return termios.tcgetattr(self._slave) == self._before

    async def sees(self, pattern: str) -> None:
        """Wait until the screen has something, as a person sees it."""
        try:
            async with asyncio.timeout(WITHIN):
                while re.search(pattern, self.screen, re.MULTILINE) is None:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"{pattern!r} is not on this screen:\n{self.screen}") from None

    async def shows(self, pattern: str, *, after: str = "") -> re.Match[str]:
        """Wait until something stands there."""
        try:
            async with asyncio.timeout(WITHIN):
                while (
                    found := re.search(pattern, self.text.partition(after)[2] if after else self.text)
                ) is None:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"it does not show {pattern!r} but {self.text!r}") from None
        return found

    async def ended(self) -> int:
        """Wait for the command's end."""
        async with asyncio.timeout(WITHIN):
            return await self.process.wait()


@asynccontextmanager
async def seated(
    *words: str, home: Path, size: tuple[int, int] = (90, 30), **environ: str
) -> AsyncGenerator[Seat]:
    """A command on a terminal, until the block ends."""
    master, slave = os.openpty()
    try:
        termios.tcsetwinsize(master, (size[1], size[0]))
        process = start(words, environment(home, TERM="xterm", **environ), slave, is_seated=True)
        try:
            yield Seat(process, master, slave)
        finally:
            asyncio.get_running_loop().remove_reader(master)
            process.kill()
            await process.wait()
    finally:
        os.close(master)
        os.close(slave)
