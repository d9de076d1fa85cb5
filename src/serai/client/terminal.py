"""A terminal of the host, as a client follows and uses it."""

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
    """What a terminal shows next: text as programs write it, with their escape sequences."""

    text: str
    is_anew: bool = False
    """Whether all before it is gone: the terminal was cleared, or too much was missed to go on."""


class TerminalClient:
    """One terminal that a client follows. Made by `Client.create_terminal` and `Client.open_terminal`."""

    def __init__(self, client: ChannelClient, uri: URI) -> None:
        self.uri = uri
        self._client = client
        self._readers: list[ClosableQueue[TerminalOutput]] = []

    @property
    def state(self) -> TerminalState:
        """The whole terminal, as it is now.

        Raises:
            SessionGone: It is not followed any more.
        """
        state = self._client.state(self.uri)
        if not isinstance(state, TerminalState):
            raise self._client.failure or SessionGone(f"{self.uri} is not followed any more")
        return state

    async def output(self) -> AsyncGenerator[TerminalOutput, None]:
        """What is on the terminal, then what comes, until its program ends. Leave the loop to stop.

        After a lost connection it goes on where it was, or anew.

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
        """Type something. Returns when the host has it.

        Raises:
            Rejected: Someone else holds it, or the program has ended, or does not read what is typed.
        """
        await self._client.dispatch(self.uri, a.TerminalInputAction(data=text))

    async def resize(self, cols: int, rows: int) -> None:
        """Give it another size, for all who look at it.

        Raises:
            Rejected: Someone else holds it, or there is no such size.
        """
        await self._client.dispatch(self.uri, a.TerminalResizedAction(cols=cols, rows=rows))

    def leave(self) -> None:
        """Follow it no more. Its program goes on."""
        self._client.unsubscribe(self.uri)

    def heard(self, action: a.StateAction) -> None:
        """An action was confirmed."""
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
        """The state is known again, after a gap or for the first time."""
        for inbox in self._readers:
            _show(self.state, inbox, is_anew=True)

    def failed(self, error: SeraiError) -> None:
        """Nothing more will be known of the terminal."""
        for inbox in self._readers:
            inbox.end(error)


def _show(state: TerminalState, inbox: ClosableQueue[TerminalOutput], *, is_anew: bool) -> None:
    text = terminal_text(state)
    if text or is_anew:
        inbox.put(TerminalOutput(text, is_anew=is_anew))
    if state.exit_code is not None:
        inbox.end()


def terminal_text(state: TerminalState) -> str:
    """All that is on a terminal."""
    texts: list[str] = []
    for part in state.content:
        match part:
            case TerminalUnclassifiedPart(value=text) | TerminalCommandPart(output=text):
                texts.append(text)
            case _:
                pass  # a kind that is newer than we are
    return "".join(texts)
