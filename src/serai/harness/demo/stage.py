"""The stage of the demo agent: it speaks at the pace of the settings, and takes steering messages."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from typing import Any

from serai.ahp.types import ToolCallConfirmationReason
from serai.host.tool_call import ToolCall
from serai.host.turn import Turn

PACE = "pace"
"""The setting for its speed."""
APPROVE = "approve"
"""The setting that says whether its tools ask first."""

PACES = {"instant": 0.0, "brisk": 0.012, "human": 0.07}
"""Seconds between two pieces of text."""


class Misuse(Exception):
    """A command was used wrongly. The message says what is missing."""


class Stopped(Exception):
    """Someone steered with `stop`."""


class DemoStage:
    """A turn of the demo agent, with its ways to speak."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self._in_text = False
        self._asked = 0

    async def pause(self) -> None:
        """Wait as the pace says. The setting is read each time, because it may change at any moment."""
        await asyncio.sleep(PACES.get(str(self.turn.settings.get(PACE)), 0.0))

    async def say(self, text: str) -> None:
        """Stream a block of Markdown, word by word, apart from the text before it."""
        await self.stream(words(text))

    async def stream(self, pieces: Iterable[str]) -> None:
        """Stream a block of Markdown that is in pieces already."""
        if self._in_text:
            await self.turn.say("\n\n")
        self._in_text = True
        for piece in pieces:
            await self.turn.say(piece)
            await self.pause()

    async def think(self, text: str) -> None:
        """Stream reasoning."""
        self._in_text = False
        for piece in words(text):
            await self.turn.think(piece)
            await self.pause()

    async def notice(self, text: str) -> None:
        """Show a notice."""
        self._in_text = False
        await self.turn.notice(text)

    async def take_steering(self, *, before_call: bool = False) -> None:
        """Take a steering message, if there is one, and confirm it.

        Raises:
            Stopped: It says `stop`.
        """
        message = self.turn.steering(before_call=before_call, of_relay=before_call)
        if message is None:
            return
        await self.say(f"You steer me: {quoted(message.text)}. Heard.")
        if message.text.strip().lower() == "stop":
            raise Stopped

    def question_id(self) -> str:
        """Return an id for the next input request."""
        self._asked += 1
        return f"{self.turn.id}-ask-{self._asked}"

    async def call(self, name: str, display_name: str, **how: Any) -> ToolCall:
        """Begin a tool call, after a steering message if there is one. See `Turn.tool`.

        It runs without a question when it was allowed for the session, or when the settings say so.
        """
        await self.take_steering(before_call=True)
        self._in_text = False
        if how.get("confirmed") is None and self.may_run(name):
            how["confirmed"] = ToolCallConfirmationReason.SETTING.value
        return await self.turn.tool(name, display_name, **how)

    def may_run(self, name: str) -> bool:
        """Tell whether a tool may run without asking."""
        return self.turn.granted(name) or not self.asks

    @property
    def asks(self) -> bool:
        """True if the settings let tools ask first."""
        return self.turn.settings.get(APPROVE) != "always"


def words(text: str) -> list[str]:
    """Return the words of a text, each with the space after it: joined, they are the text."""
    return re.findall(r"\s*\S+\s*", text) or ([text] if text else [])


def quoted(text: str, limit: int = 200) -> str:
    """Return another's text in quotation marks and on one line."""
    line = " ".join(text.split())
    return f"“{line if len(line) <= limit else line[: limit - 1] + '…'}”"


def number(text: str, *, most: float, what: str, least: float = 1) -> float:
    """Return a number within bounds.

    Raises:
        Misuse: It is no number, or out of bounds.
    """
    if not re.fullmatch(r"\d{1,12}(\.\d{1,6})?", text):
        raise Misuse(f"{quoted(text)} is not {what}" if text else f"it needs {what}")
    value = float(text)
    if not least <= value <= most:
        raise Misuse(f"{what} can be {least:,g} to {most:,g}")
    return value
