"""A terminal for tests: lines that the test writes, and output that it waits for."""

from __future__ import annotations

import argparse
import asyncio
import io

from client.hosts import soon
from serai.cli import read_words
from serai.cli.chat.command import converse
from serai.cli.console.terminal import PlainTerminal
from serai.client import Client
from serai.client.events import ClosableQueue


class Screen(io.StringIO):
    """Output that can be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self._news = asyncio.Event()

    def write(self, text: str) -> int:
        self._news.set()
        return super().write(text)

    async def shows(self, text: str, times: int = 1) -> None:
        """Wait until something has been written so many times."""
        async with asyncio.timeout(30):
            while self.getvalue().count(text) < times:
                self._news.clear()
                await self._news.wait()


class Keyboard(ClosableQueue[str]):
    """Lines of a person, or of a pipe."""

    def __init__(self, *lines: str, ends: bool = False) -> None:
        super().__init__()
        self.type(*lines)
        if ends:
            self.end()

    def type(self, *lines: str) -> None:
        """Write one line after the other."""
        for line in lines:
            self.put(line)

    def paste(self, *lines: str) -> None:
        """Write several lines at once."""
        self.put("\n".join(lines))


class Desk:
    """A keyboard and a screen; `notes` is the screen itself, unless all else goes somewhere else."""

    def __init__(self, *lines: str, person: bool = True, apart: bool = False, colour: bool = False) -> None:
        self.keyboard = Keyboard(*lines, ends=not person)
        self.screen = Screen()
        self.notes = Screen() if apart else self.screen
        self.terminal = PlainTerminal(
            self.keyboard, self.screen, self.notes, is_interactive=person, has_colour=colour
        )

    @property
    def text(self) -> str:
        return self.screen.getvalue()


def parse(command: str, *words: str) -> argparse.Namespace:
    """The options of a command."""
    return read_words([command, *words])


async def talk(client: Client, desk: Desk, *words: str) -> int:
    """A chat from its beginning to its end."""
    return await soon(converse(client, desk.terminal, parse("chat", *words)))
