"""A plain terminal: lines in, text out. No cursor is moved, so it works with pipes just as well."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TextIO, TypeVar

from serai.cli.console.markdown import DIM, diff_style
from serai.cli.console.output import clean
from serai.client.events import ClosableQueue
from serai.errors import FileUnreadable

T = TypeVar("T")


class Suggestion(NamedTuple):
    """A completion: text for a line, from `start` up to the cursor."""

    text: str
    start: int
    about: str


class StdinLines(ClosableQueue[str]):
    """The lines of a file descriptor, read without a thread: a blocked thread would delay Python's exit."""

    def __init__(self, fd: int = 0) -> None:
        super().__init__()
        self._fd = fd
        self._rest = b""
        self._is_started = False
        self._is_over = False

    async def __anext__(self) -> str:
        """Return the next line without its end. The first call starts to read."""
        if not self._is_started:
            self._is_started = True
            self._start()
        return await super().__anext__()

    def close(self) -> None:
        """Stop reading."""
        if self._is_started:
            asyncio.get_running_loop().remove_reader(self._fd)

    @contextmanager
    def paused(self) -> Generator[None]:
        """Leave the input to someone else for the length of a block."""
        self.close()
        try:
            yield
        finally:
            if self._is_started and not self._is_over:
                self._start()

    def _start(self) -> None:
        try:
            asyncio.get_running_loop().add_reader(self._fd, self._readable)
        except OSError:  # a plain file is always readable, and cannot be waited for
            while self._readable():
                pass

    def _readable(self) -> bool:
        try:
            data = os.read(self._fd, 64 * 1024)
        except OSError:
            data = b""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if not data:
            lines, self._rest = ([self._rest] if self._rest else []), b""
        for line in lines:
            self.put(line.decode(errors="replace").removesuffix("\r"))
        if not data:
            self._is_over = True
            asyncio.get_running_loop().remove_reader(self._fd)
            self.end()
        return bool(data)


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to a person. The last line of its text stands before the answer."""

    text: str
    prefill: str = ""
    """Beginning of the answer, where lines can be edited."""
    secret: bool = False
    choices: frozenset[str] = frozenset()
    """The only words that answer it. Of these, `y` and `n` need no Enter where lines can be edited."""


class PlainTerminal:
    """The terminal of a person, or a pair of pipes.

    Args:
        lines: The lines that are entered. Several that are pasted together are one item.
        out: Where answers go.
        notes: Where everything else goes.
        is_interactive: True when a person is there.
        has_colour: True when colours may be used.
    """

    def __init__(
        self, lines: ClosableQueue[str], out: TextIO, notes: TextIO, *, is_interactive: bool, has_colour: bool
    ) -> None:
        self.lines = lines
        self.is_interactive = is_interactive
        self._out = out
        self._notes = notes
        self.has_colour = has_colour
        self._unfinished: TextIO | None = None
        """The stream that was written to last, if its line has not ended."""
        self.suggest: Callable[[str, int], Awaitable[Sequence[Suggestion]]] | None = None
        """Completes a line at a position, where Tab can ask for it."""

    def text(self, text: str) -> None:
        """Write a piece of an answer."""
        self._write(self._out, text)

    def dim(self, text: str) -> None:
        """Write something that matters less. Where no person is, write nothing."""
        if self.is_interactive and text:
            self._write(self._notes, text, DIM)

    def note(self, text: str, *, style: str = "", aside: bool = False) -> None:  # noqa: ARG002 - see below
        """Write lines of their own; with `aside`, where possible, above a line that is still coming in."""
        self.new_line()
        self._write(self._notes, f"{text}\n", style)

    def ask(self, asked: Ask) -> None:
        """Ask a question. The next line answers it."""
        *lines, last = asked.text.split("\n")
        for line in lines:
            self.note(line, style=diff_style(line))
        self.new_line()
        self._write(self._notes, last)

    def unask(self) -> None:
        """Withdraw the question."""

    def prompt(self) -> None:
        """Show that the person may write."""
        self.ask(Ask("> "))

    def raw(self, line: str) -> None:
        """Write one line for a program."""
        self._out.write(line + "\n")
        self._out.flush()

    @asynccontextmanager
    async def handed_over(self) -> AsyncGenerator[None]:
        """Leave the screen and the input to someone else for the length of a block."""
        self.new_line()
        with self.lines.paused() if isinstance(self.lines, StdinLines) else nullcontext():
            yield

    def typed(self) -> None:
        """Note that a person has entered a line, which begins a new one on the screen."""
        if self.is_interactive:
            self._unfinished = None

    def new_line(self) -> None:
        """Begin a new line, unless the screen is at the beginning of one."""
        if self._unfinished is not None:
            self._write(self._unfinished, "\n")

    def _write(self, stream: TextIO, text: str, style: str = "") -> None:
        shown = clean(text)
        if not shown:
            return
        self._unfinished = None if shown.endswith("\n") else stream
        stream.write(f"\x1b[{style}m{shown}\x1b[0m" if style and self.has_colour else shown)
        stream.flush()


async def choose(terminal: PlainTerminal, question: str, choices: Mapping[str, T]) -> T | None:
    """Ask until the answer is one of these words. Returns its value; `None` at the end of the input."""
    while True:
        terminal.ask(Ask(question))
        line = await anext(terminal.lines, None)
        if line is None:
            return None
        terminal.typed()
        if (word := line.strip().casefold()) in choices:
            return choices[word]


@contextmanager
def open_terminal(*, apart: bool, out: TextIO | None = None) -> Generator[PlainTerminal]:
    """Open the terminal of this process.

    Args:
        apart: Write all but answers to standard error.
        out: Where answers go; by default standard output.
    """
    lines = StdinLines(sys.stdin.fileno())
    notes = sys.stderr if apart else sys.stdout
    is_tty = notes.isatty() and os.environ.get("TERM") != "dumb"
    terminal = PlainTerminal(
        lines,
        out or sys.stdout,
        notes,
        is_interactive=sys.stdin.isatty() and notes.isatty(),
        has_colour=is_tty and not os.environ.get("NO_COLOR"),
    )
    try:
        yield terminal
    finally:
        lines.close()


@contextmanager
def signals(handlers: Mapping[signal.Signals, Callable[[], object]]) -> Generator[None]:
    """Handle signals with these functions for the length of a block, where the system allows it."""
    loop = asyncio.get_running_loop()
    try:
        for number, handler in handlers.items():
            loop.add_signal_handler(number, handler)
    except (NotImplementedError, RuntimeError, ValueError):  # not in the main thread, or not on this system
        yield
        return
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)


def has_person() -> bool:
    """Tell whether a person sees the output and can type."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def screen_size() -> tuple[int, int] | None:
    """Return the columns and rows of the person's screen, if it has a known size."""
    if not has_person():
        return None
    size = os.get_terminal_size(sys.stdout.fileno())
    return (size.columns, size.lines) if size.columns and size.lines else None


def read_input(name: str) -> bytes:
    """Read a file; `-` is the standard input.

    Raises:
        FileUnreadable: The file does not exist, or may not be read.
    """
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise FileUnreadable(f"{name} cannot be read: {error.strerror}") from None
