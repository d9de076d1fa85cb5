"""The client of one terminal."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from msgspec import Struct

from serai.ahp import actions as a
from serai.ahp.types import URI, TerminalCommandPart, TerminalState, TerminalUnclassifiedPart
from serai.client.events import ClosableQueue
from serai.errors import SeraiError, SessionGone

if TYPE_CHECKING:
    from serai.client.channels import ChannelClient

__all__ = ["TerminalClient", "TerminalOutput"]


class TerminalOutput(Struct, frozen=True):
    """Output of a terminal: text as programs write it, with escape sequences."""

    text: str
    is_anew: bool = False
    """True when it replaces all before: the terminal was cleared, or too much was missed."""


class TerminalClient:
    """One terminal that a client follows. Made by `Client.create_terminal` and `Client.open_terminal`."""

    def __init__(self, client: ChannelClient, uri: URI) -> None:
        self.uri = uri
        self._client = client
        self._readers: list[ClosableQueue[TerminalOutput]] = []

    @property
    def state(self) -> TerminalState:
        """The present state of the terminal.

        Raises:
            SessionGone: It is not followed any more.
        """
        state = self._client.state(self.uri)
        if not isinstance(state, TerminalState):
            raise self._client.failure or SessionGone(f"{self.uri} is not followed any more")
        return state

    async def output(self) -> AsyncGenerator[TerminalOutput, None]:
        """Yield the content of the terminal, then new output, until its program ends. Leave the loop to stop.

        After a lost connection it continues, or starts anew.

        Raises:
            SessionGone: The terminal was disposed of, or left.
            ConnectionLost: The client was closed, or gave up.
        """
        inbox: ClosableQueue[TerminalOutput] = ClosableQueue()
        _show(self.state, inbox, is_anew=False)
        self._readers.append(inbox)
        try:
            async for piece in inbox:
                yield piece
        finally:
            self._readers.remove(inbox)

    async def write(self, text: str) -> None:
        """Type text. Returns when the host has it.

        Raises:
            Rejected: Someone else holds the terminal, or the program has ended or does not read its input.
        """
        await self._client.dispatch(self.uri, a.TerminalInputAction(data=text))

    async def resize(self, cols: int, rows: int) -> None:
        """Resize the terminal, for all who look at it.

        Raises:
            Rejected: Someone else holds the terminal, or the size is invalid.
        """
        await self._client.dispatch(self.uri, a.TerminalResizedAction(cols=cols, rows=rows))

    def leave(self) -> None:
        """Stop following the terminal. Its program continues."""
        self._client.unsubscribe(self.uri)

    def heard(self, action: a.StateAction) -> None:
        """Handle a confirmed action."""
        for inbox in self._readers:
            match action:
                case a.TerminalDataAction(data=data):
                    inbox.put(TerminalOutput(data))
                case a.TerminalClearedAction():
                    inbox.put(TerminalOutput("", is_anew=True))
                case a.TerminalExitedAction():
                    inbox.end()
                case _:
                    pass

    def caught_up(self) -> None:
        """Take up the state, after a gap or for the first time."""
        for inbox in self._readers:
            _show(self.state, inbox, is_anew=True)

    def failed(self, error: SeraiError) -> None:
        """End all readers with an error."""
        for inbox in self._readers:
            inbox.end(error)


def _show(state: TerminalState, inbox: ClosableQueue[TerminalOutput], *, is_anew: bool) -> None:
    text = terminal_text(state)
    if text or is_anew:
        inbox.put(TerminalOutput(text, is_anew=is_anew))
    if state.exit_code is not None:
        inbox.end()


def terminal_text(state: TerminalState) -> str:
    """Return the whole content of a terminal."""
    texts: list[str] = []
    for part in state.content:
        match part:
            case TerminalUnclassifiedPart(value=text) | TerminalCommandPart(output=text):
                texts.append(text)
            case _:
                pass  # a kind that is newer than we are
    return "".join(texts)
