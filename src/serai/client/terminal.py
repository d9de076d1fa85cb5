"""A terminal of the host, as a client follows and uses it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from serai.ahp import actions as a
from serai.ahp.types import URI, TerminalCommandPart, TerminalState, TerminalUnclassifiedPart
from serai.client.events import Inbox
from serai.errors import SeraiError, SessionGone

if TYPE_CHECKING:
    from serai.client.channels import ChannelClient

__all__ = ["TerminalClient", "TerminalOutput"]

# So much of what was told last is looked for after a gap, to go on from there.
_TAIL = 1024


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
        self._listeners: list[_Listener] = []

    def __repr__(self) -> str:
        return f"TerminalClient({self.uri!r})"

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

    def listen(
        self, tell: Callable[[TerminalOutput], None], ended: Callable[[SeraiError | None], None]
    ) -> Callable[[], None]:
        """Call a function with what is on the terminal, at once, and then with what comes.

        It is called by the task that reads: it must not block. After a lost connection it goes on where it
        was. Returns a function that ends it.

        Args:
            tell: Is called with each piece.
            ended: Is called when the program ends, or with why nothing more will be known.

        Raises:
            SessionGone: The terminal is not followed any more.
        """
        state = self.state
        listener = _Listener(tell, ended)
        self._listeners.append(listener)
        listener.catch_up(state)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    async def output(self) -> AsyncGenerator[TerminalOutput, None]:
        """What is on the terminal, then what comes, until its program ends. Leave the loop to stop.

        After a lost connection it goes on where it was.

        Raises:
            SessionGone: The terminal was disposed of, or left.
            ConnectionLost: The client was closed, or gave up.
        """
        inbox: Inbox[TerminalOutput] = Inbox()
        stop = self.listen(inbox.put, inbox.end)
        try:
            async for piece in inbox:
                yield piece
        finally:
            stop()

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
        for listener in self._listeners.copy():
            listener.hear(action)

    def caught_up(self) -> None:
        """The state is known again, after a gap or for the first time."""
        if self._listeners:
            state = self.state
            for listener in self._listeners.copy():
                listener.catch_up(state)

    def failed(self, error: SeraiError) -> None:
        """Nothing more will be known of the terminal."""
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener.ended(error)


class _Listener:
    """What one listener was told, and is still to be told."""

    def __init__(
        self, tell: Callable[[TerminalOutput], None], ended: Callable[[SeraiError | None], None]
    ) -> None:
        self.ended = ended
        self._put = tell
        self._tail = ""

    def hear(self, action: a.StateAction) -> None:
        match action:
            case a.TerminalDataAction(data=data):
                self._tell(data)
            case a.TerminalClearedAction():
                self._tell("", is_anew=True)
            case a.TerminalExitedAction():
                self.ended(None)
            case _:
                pass

    def catch_up(self, state: TerminalState) -> None:
        """Go on from where the last of what was told stands in the state, or begin anew."""
        text = terminal_text(state)
        if not self._tail:
            self._tell(text)
        else:
            _before, found, rest = text.rpartition(self._tail)
            self._tell(rest, is_anew=not found)
        if state.exit_code is not None:
            self.ended(None)

    def _tell(self, text: str, *, is_anew: bool = False) -> None:
        if is_anew:
            self._tail = ""
        if text or is_anew:
            self._tail = (self._tail + text)[-_TAIL:]
            self._put(TerminalOutput(text, is_anew))


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
