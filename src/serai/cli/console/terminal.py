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
from serai.client.events import Inbox
from serai.errors import FileUnreadable

T = TypeVar("T")


class Offer(NamedTuple):
    """What could stand in a line, from `start` up to the cursor."""

    text: str
    start: int
    about: str


class Lines(Inbox[str]):
    """Lines that were entered. What was pasted together, or written in an editor, may have several."""

    async def read(self) -> str | None:
        """The next line without its end; `None` when there will be no more. Cancelling it loses nothing."""
        return await anext(self, None)


class StdinLines(Lines):
    """Lines of a file descriptor, read without a thread: a blocked thread would hold up the end of Python."""

    def __init__(self, fd: int = 0) -> None:
        super().__init__()
        self._fd = fd
        self._rest = b""
        self._is_started = False
        self._is_over = False

    async def read(self) -> str | None:
        """The next line; the first call begins to read."""
        if not self._is_started:
            self._is_started = True
            self._start()
        return await super().read()

    def close(self) -> None:
        """Read no more."""
        if self._is_started:
            asyncio.get_running_loop().remove_reader(self._fd)

    @contextmanager
    def paused(self) -> Generator[None]:
        """Leave what is typed to someone else, for the length of a block."""
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
    """What is asked. The last line of the text stands before the answer; the rest is for edited lines."""

    text: str
    prefill: str = ""
    """What the answer begins with."""
    secret: bool = False
    choices: frozenset[str] = frozenset()
    """The words that answer it, where others do not: of those, `y` and `n` need no Enter."""


class PlainTerminal:
    """Where a person is, or a pipe."""

    def __init__(
        self, lines: Lines, out: TextIO, notes: TextIO, *, is_interactive: bool, has_colour: bool
    ) -> None:
        self.lines = lines
        self.is_interactive = is_interactive
        self._out = out
        self._notes = notes
        self.has_colour = has_colour
        # Who wrote last, when that did not end its line.
        self._unfinished: TextIO | None = None
        self.offers: Callable[[str, int], Awaitable[Sequence[Offer]]] | None = None
        """Tells what could stand at a place in a line, where Tab can ask for it."""

    def text(self, text: str) -> None:
        """Write a piece of an answer, as it comes."""
        self._write(self._out, text)

    def dim(self, text: str) -> None:
        """Write something that matters less; nothing at all where nobody is looking."""
        if self.is_interactive and text:
            self._write(self._notes, text, DIM)

    def note(self, text: str, *, style: str = "", aside: bool = False) -> None:  # noqa: ARG002 - see below
        """Write something on a line of its own; `aside`, where that can be, above one that still comes in."""
        self.new_line()
        self._write(self._notes, f"{text}\n", style)

    def ask(self, asked: Ask) -> None:
        """Ask something: the next line answers it."""
        *lines, last = asked.text.split("\n")
        for line in lines:
            self.note(line, style=diff_style(line))
        self.new_line()
        self._write(self._notes, last)

    def unask(self) -> None:
        """What was asked is not asked any more."""

    def prompt(self) -> None:
        """Show that the person may write."""
        self.ask(Ask("> "))

    def raw(self, line: str) -> None:
        """Write one line for a program."""
        self._out.write(line + "\n")
        self._out.flush()

    @asynccontextmanager
    async def handed_over(self) -> AsyncGenerator[None]:
        """Leave the screen and what is typed to someone else, for the length of a block."""
        self.new_line()
        with self.lines.paused() if isinstance(self.lines, StdinLines) else nullcontext():
            yield

    def typed(self) -> None:
        """Someone has typed a line, and so begun a new one on the screen."""
        if self.is_interactive:
            self._unfinished = None

    def new_line(self) -> None:
        """Begin a new line, unless one has just begun."""
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
    """Ask until the answer is one of these words. Returns what it stands for; `None` when no more comes."""
    while True:
        terminal.ask(Ask(question))
        said = await terminal.lines.read()
        if said is None:
            return None
        terminal.typed()
        if (word := said.strip().casefold()) in choices:
            return choices[word]


@contextmanager
def open_terminal(*, apart: bool, out: TextIO | None = None) -> Generator[PlainTerminal]:
    """The terminal of this process. `apart` sends all but answers to standard error; `out` gets answers."""
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
    """Call functions at signals, instead of what they would do; where that is possible."""
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
    """Whether a person sees what is printed, and can type."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def screen_size() -> tuple[int, int] | None:
    """Columns and rows of the person's screen, where there is one that knows its size."""
    if not has_person():
        return None
    size = os.get_terminal_size(sys.stdout.fileno())
    return (size.columns, size.lines) if size.columns and size.lines else None


def read_input(name: str) -> bytes:
    """All of a file; `-` is the standard input.

    Raises:
        FileUnreadable: It is not there, or may not be read.
    """
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise FileUnreadable(f"{name} cannot be read: {error.strerror}") from None
