"""A terminal's state whose content is bounded: the oldest goes first, and what went is said. Pure.

AHP has no action for this. So it is the host's own state that is bounded, and with it what newcomers are
told; a client that has been there all along has seen everything anyway.
"""

from __future__ import annotations

from msgspec.structs import replace

from serai.ahp import actions as a
from serai.ahp.reducers.live import LiveState
from serai.ahp.reducers.terminal import LiveTerminal
from serai.ahp.types import (
    Number,
    TerminalCommandPart,
    TerminalContentPart,
    TerminalState,
    TerminalUnclassifiedPart,
)

__all__ = ["SCROLLBACK", "BoundedTerminal", "trim"]

SCROLLBACK = 1024 * 1024
"""How much of a terminal's content is kept, in bytes of UTF-8."""

_PART = 256
"""What a part counts for beside its text: many small commands are bounded too."""
_LINE = 4096
"""How far the next line may begin after the place where text is cut."""


class BoundedTerminal(LiveState[TerminalState]):
    """A terminal's live state, in the place of `LiveTerminal`.

    Never more than the bound is kept, and at least half of it: text is cut rarely and much of it at once, so
    that what a byte costs does not depend on the bound.

    Args:
        state: What it begins with.
        bound: The bytes to keep at most.
    """

    __slots__ = ("_bound", "_cut", "_live", "_notice", "_size")

    handlers = LiveTerminal.handlers

    def __init__(self, state: TerminalState, bound: int = SCROLLBACK) -> None:
        self._bound = bound
        self._live = LiveTerminal(state)
        self._size = sum(map(_size, state.content))
        self._cut = 0
        self._notice = ""
        self._keep_bound()

    @property
    def head(self) -> TerminalState:
        """The state but for output that is still growing: to look at, not to change or keep."""
        return self._live.head

    @property
    def whole(self) -> LiveTerminal:
        """The state as the rules know it: to look at, not to change or keep."""
        return self._live

    @property
    def cut(self) -> int:
        """How many bytes of text have been cut since the beginning, or since it was cleared."""
        return self._cut

    def snapshot(self) -> TerminalState:
        """The state as a value of its own."""
        return self._live.snapshot()

    def apply(self, action: a.StateAction, now: Number) -> None:
        """Change the state, and cut what is too much."""
        self._live.apply(action, now)
        match action:
            case a.TerminalDataAction():
                self._size += _bytes(action.data)
            case a.TerminalCommandExecutedAction():
                self._size += _PART * 2 + _bytes(action.command_line)  # and text after it begins a part
            case a.TerminalClearedAction():
                self._size = self._cut = 0
                self._notice = ""
            case _:
                return
        self._keep_bound()

    def _keep_bound(self) -> None:
        if self._size <= self._bound:
            return
        state = self._live.snapshot()
        content = state.content
        if self._notice and content:
            content[0] = _with_text(content[0], _text(content[0]).removeprefix(self._notice))
        content, cut, whole = trim(content, self._bound // 2)
        self._cut += cut
        self._notice = f"[… {self._cut:,} bytes cut]\r\n" if self._cut else ""
        if not self._notice:
            pass  # only commands that had no output are gone
        elif whole:
            content.insert(0, TerminalUnclassifiedPart(value=self._notice))
        else:
            content[0] = _with_text(content[0], self._notice + _text(content[0]))
        self._size = sum(map(_size, content))
        self._live = LiveTerminal(replace(state, content=content))


def trim(content: list[TerminalContentPart], bound: int) -> tuple[list[TerminalContentPart], int, bool]:
    """The newest parts, of about `bound` bytes.

    A part that would not fit keeps its end, from the beginning of a line where there is one near. The last
    part always stays, as far as it fits.

    Returns:
        The parts, how many bytes of text were cut, and whether the first part is whole.
    """
    room = bound
    for index in range(len(content) - 1, -1, -1):
        part = content[index]
        size = _size(part)
        if size <= room:
            room -= size
            continue
        cut = sum(_bytes(_text(each)) for each in content[:index])
        kept = content[index + 1 :]
        text = _tail(_text(part), room - (size - _bytes(_text(part))))
        lost = _bytes(_text(part)) - _bytes(text)
        if not text and kept:
            return kept, cut + lost, True
        return [_with_text(part, text), *kept], cut + lost, False
    return content, 0, True


def _tail(text: str, room: int) -> str:
    """The end of a text, of at most so many bytes, from the beginning of a line if one is near."""
    if room <= 0:
        return ""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= room:
        return text
    end = data[-room:].decode("utf-8", "ignore")
    line = end.find("\n", 0, _LINE) + 1
    return end[line:]


def _text(part: TerminalContentPart) -> str:
    match part:
        case TerminalCommandPart():
            return part.output
        case TerminalUnclassifiedPart():
            return part.value
        case _:
            return ""


def _with_text(part: TerminalContentPart, text: str) -> TerminalContentPart:
    match part:
        case TerminalCommandPart():
            return replace(part, output=text)
        case TerminalUnclassifiedPart():
            return replace(part, value=text)
        case _:
            return part


def _size(part: TerminalContentPart) -> int:
    line = _bytes(part.command_line) if isinstance(part, TerminalCommandPart) else 0
    return _PART + line + _bytes(_text(part))


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
