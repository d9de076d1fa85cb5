"""Someone who watches a terminal and types."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import TypeVar

from serai.ahp import actions as a
from serai.ahp.types import TerminalClientClaim, TerminalCommandPart, TerminalState
from serai.machine.terminals.scrollback import BoundedTerminal
from serai.machine.terminals.terminal import Terminal

LIMIT = 30.0
T = TypeVar("T")


def plain(text: str) -> str:
    """Text without what moves the cursor and colours it."""
    return re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[=>]", "", text).replace("\r", "")


class Viewer:
    """Takes the batches of a terminal, keeps its actions, and folds them as a client does."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.actions: list[a.TerminalAction] = []
        self.live = BoundedTerminal(
            TerminalState(title="", content=[], claim=TerminalClientClaim(client_id="c"))
        )
        self.text = ""
        self._changed = asyncio.Event()
        self._task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while actions := await self.terminal.batch():
            for action in actions:
                self.actions.append(action)
                self.live.apply(action, 0)
                if isinstance(action, a.TerminalDataAction):
                    self.text += action.data
            self._changed.set()
        self._changed.set()

    async def until(self, condition: Callable[[], T]) -> T:
        async with asyncio.timeout(LIMIT):
            while not (result := condition()):
                if self._task.done():
                    raise AssertionError(f"the terminal ended: {self.text!r}")
                self._changed.clear()
                await self._changed.wait()
        return result

    async def sees(self, text: str, after: int = 0) -> None:
        try:
            await self.until(lambda: text in self.text[after:])
        except TimeoutError:
            raise AssertionError(f"{text!r} is not in {self.text[after:]!r}") from None

    async def ready(self) -> None:
        """Wait for the shell's next prompt, as it tells of it."""
        await self.until(lambda: self.terminal._output.at_prompt)

    async def run(self, line: str) -> TerminalCommandPart:
        """Type a line, and wait until the command that it makes has ended."""
        await self.ready()
        count = len(self.finished)
        assert self.terminal.write(f"{line}\r")
        await self.until(lambda: len(self.finished) > count)
        return self.commands[-1]

    async def ended(self) -> None:
        """Wait until there is nothing more to take."""
        async with asyncio.timeout(LIMIT):
            await asyncio.shield(self._task)

    async def close(self) -> None:
        await self.terminal.end(grace=1)
        await self.ended()

    @property
    def commands(self) -> list[TerminalCommandPart]:
        return [part for part in self.live.snapshot().content if isinstance(part, TerminalCommandPart)]

    @property
    def finished(self) -> list[a.TerminalCommandFinishedAction]:
        return [action for action in self.actions if isinstance(action, a.TerminalCommandFinishedAction)]
