"""Attaches the person's terminal to a terminal of the host: shows its output, and sends it every key."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import re
import signal
import termios
import tty
from collections.abc import Generator
from contextlib import contextmanager

from serai.cli.console.target import session_id
from serai.cli.console.terminal import signals
from serai.client import Client, ClientEvent, Connected, Disconnected, TerminalClient, TerminalOutput
from serai.client.events import ClosableQueue
from serai.client.terminal import terminal_text
from serai.errors import SeraiError

LEAVE = b"\x1d"
"""The key that leaves: Ctrl-], as in telnet."""

_KEYS, _SCREEN = 0, 1
_PATIENCE = 2.0
"""Seconds that leaving waits for the last keys to arrive."""

# Queries of a program to its terminal. They were answered when they were sent. If they were answered again,
# whenever someone looks, the answers would be typed into the program that runs now.
_QUESTIONS = re.compile(
    r"\x1b\[[?>=]?[0-9;]*[cn]|\x1b\[\?[0-9;]*\$p|\x1b\[[0-9;]*t|\x1b\[>[0-9;]*q"
    r"|\x1b\][0-9;]*\?(?:\x07|\x1b\\)|\x1bP[+$]q[^\x1b]*\x1b\\|\x1bZ|\x05"
)
# Mouse reports, bracketed paste, application keys and a hidden cursor would stay after leaving.
_BACK_TO_NORMAL = (
    "\x1b[0m\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1006l\x1b[?2004l\x1b[?1l\x1b>\x1b[?25h"
)
_OTHER_SCREEN, _FIRST_SCREEN = "\x1b[?1049h", "\x1b[?1049l"
_SCREENS = re.compile(r"\x1b\[\?1049[hl]")


async def attach(client: Client, terminal: TerminalClient) -> str:
    """Show a terminal and send it the keys, until Ctrl-] or its end. Returns a sentence on how it ended.

    The person's terminal is restored in any case.

    Raises:
        SeraiError: The terminal is gone, or the host for good.
    """
    if terminal.state.exit_code is not None:
        text = _QUESTIONS.sub("", terminal_text(terminal.state))
        _write(text + _back_to_normal(text))
        return _end_words(terminal)
    visit = _Visit(client, terminal)
    with _raw():
        try:
            return await visit.run()
        finally:
            _write(_back_to_normal(visit.screens))


class _Visit:
    """One look at a terminal, until `leaving` is set or the terminal ends."""

    def __init__(self, client: Client, terminal: TerminalClient) -> None:
        self._client = client
        self._terminal = terminal
        self._typed: ClosableQueue[str] = ClosableQueue()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._is_lost = False
        self._is_first = True
        self._leaving = asyncio.Event()
        self.screens = ""
        """The last switches between screens that were shown."""

    async def run(self) -> str:
        # Before anything is shown: from then on a signal leaves as Ctrl-] does.
        leave = self._leaving.set
        with signals({signal.SIGWINCH: self._resize, signal.SIGTERM: leave, signal.SIGHUP: leave}):
            loop = asyncio.get_running_loop()
            stop_hearing = self._client.on_event(self._connection)
            work = self._show_output(), self._leaving.wait(), self._type()
            showing, leaving, typing = tasks = [asyncio.create_task(one) for one in work]
            self._resize()
            loop.add_reader(_KEYS, self._read)
            try:
                await asyncio.wait([showing, leaving], return_when=asyncio.FIRST_COMPLETED)
                if showing.done():
                    showing.result()
                self._typed.end()
                if self._client.is_connected:
                    await asyncio.wait([typing], timeout=_PATIENCE)
                if showing.done():
                    return _end_words(self._terminal)
                return f"It runs on. Come back with: serai terminals attach {session_id(self._terminal.uri)}"
            finally:
                loop.remove_reader(_KEYS)
                stop_hearing()
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _show_output(self) -> None:
        async for output in self._terminal.output():
            self._show(output)

    def _connection(self, event: ClientEvent) -> None:
        match event:
            case Disconnected(reason=reason) if not self._is_lost:
                self._is_lost = True
                self._note(f"connection lost: {reason}; trying again, Ctrl-] leaves")
            case Connected():
                self._is_lost = False
                self._note("connected again")
            case _:
                pass

    def _show(self, output: TerminalOutput) -> None:
        text = output.text
        if self._is_first or output.is_anew:  # earlier output: its queries have been answered
            text = _QUESTIONS.sub("", text)
        self._is_first = False
        self.screens = "".join([self.screens, *_SCREENS.findall(text)])[-64:]
        _write(("\x1b[H\x1b[2J" if output.is_anew else "") + text)

    def _read(self) -> None:
        try:
            data = os.read(_KEYS, 65536)
        except OSError:
            data = b""
        before, leave, _ = data.partition(LEAVE)
        self._typed.put(self._decoder.decode(before))
        if leave or not data:
            asyncio.get_running_loop().remove_reader(_KEYS)
            self._leaving.set()

    async def _type(self) -> None:
        """Send the keys in order. Keys that come while the host is slow are sent together."""
        async for text in self._typed:
            while len(self._typed):
                text += await anext(self._typed)  # noqa: PLW2901 - more of it
            if text:
                try:
                    await self._terminal.write(text)
                except SeraiError as error:
                    self._note(str(error))

    def _resize(self) -> None:
        """Resize the terminal to this screen."""

        async def resize() -> None:
            with contextlib.suppress(OSError, SeraiError):
                cols, rows = os.get_terminal_size(_SCREEN)
                if (cols, rows) != (self._terminal.state.cols, self._terminal.state.rows) and cols and rows:
                    await self._terminal.resize(cols, rows)

        self._client.spawn(resize())

    def _note(self, text: str) -> None:
        _write(f"\r\n[serai: {text}]\r\n")


def _end_words(terminal: TerminalClient) -> str:
    return f"It has ended with {terminal.state.exit_code}."


def _back_to_normal(shown: str) -> str:
    """Return the sequences that reset the modes of a program and leave the alternate screen."""
    on_other = shown.rfind(_OTHER_SCREEN) > shown.rfind(_FIRST_SCREEN)
    return f"{_BACK_TO_NORMAL}{_FIRST_SCREEN if on_other else ''}\r\n"


@contextmanager
def _raw() -> Generator[None]:
    """Read keys unchanged, without echo, for the length of a block."""
    before = termios.tcgetattr(_KEYS)
    tty.setraw(_KEYS, termios.TCSADRAIN)
    try:
        yield
    finally:
        termios.tcsetattr(_KEYS, termios.TCSADRAIN, before)


def _write(text: str) -> None:
    data = text.encode(errors="replace")
    while data:
        data = data[os.write(_SCREEN, data) :]
