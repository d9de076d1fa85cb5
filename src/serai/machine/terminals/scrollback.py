"""A terminal's state whose content is bounded: the oldest goes first, and what went is said. Pure.

AHP has no action for this. So it is the host's own state that is bounded, and with it what newcomers are
told; a client that has been there all along has seen everything anyway.
"""

from __future__ import annotations

from collections import deque

from msgspec.structs import replace

from serai.ahp import actions as a
from serai.ahp.reducers import LiveState, LiveTerminal
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
_FLOOD = 64
"""A piece of text that is larger than the bound divided by this begins a flood, of so many pieces at most."""


class BoundedTerminal(LiveState[TerminalState]):
    """A terminal's live state, in the place of `LiveTerminal`.

    Never more than the bound is kept, and about half of it at least: text is cut rarely and much of it at
    once, so that what a byte costs does not depend on the bound. Of a flood the large pieces are kept beside
    the state, as they are, until someone looks: most of them are let go before anyone does.

    Args:
        state: What it begins with.
        bound: The bytes to keep at most.
    """

    __slots__ = ("_bound", "_cut", "_flood", "_flood_size", "_live", "_notice", "_size")

    handlers = LiveTerminal.handlers

    def __init__(self, state: TerminalState, bound: int = SCROLLBACK) -> None:
        self._bound = bound
        self._live = LiveTerminal(state)
        self._flood: deque[tuple[str, int]] = deque()
        """Text that comes after the state's own, with its sizes."""
        self._flood_size = 0
        self._size = sum(map(_size, state.content))
        """The bytes of the state and of the flood."""
        self._cut = 0
        self._notice = ""
        if self._size > self._bound:
            self._trim()

    @property
    def head(self) -> TerminalState:
        """The state but for output that is still growing: to look at, not to change or keep."""
        return self._live.head

    @property
    def whole(self) -> LiveTerminal:
        """The state as the rules know it: to look at, not to change or keep."""
        self._settle()
        return self._live

    @property
    def cut(self) -> int:
        """How many bytes of text have been cut since the beginning, or since it was cleared."""
        return self._cut

    @property
    def notice(self) -> str:
        """What the text begins with in the place of what was cut; empty when nothing was."""
        return self._notice

    def snapshot(self) -> TerminalState:
        """The state as a value of its own."""
        self._settle()
        return self._live.snapshot()

    def apply(self, action: a.StateAction, now: Number) -> None:
        """Change the state, and cut what is too much."""
        if isinstance(action, a.TerminalDataAction) and self._is_flood(size := _bytes(action.data)):
            self._flood.append((action.data, size))
            self._flood_size += size
            self._size += size
        else:
            self._settle()
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
        if self._size > self._bound:
            self._keep_bound()

    def _is_flood(self, size: int) -> bool:
        return size > self._bound // _FLOOD or 0 < len(self._flood) < _FLOOD

    def _settle(self) -> None:
        """Let the text that is kept beside the state become part of it."""
        if self._flood:
            text = "".join(text for text, _ in self._flood)
            self._flood.clear()
            self._flood_size = 0
            self._live.apply(a.TerminalDataAction(data=text), 0)

    def _keep_bound(self) -> None:
        if self._flood and self._flood_size > self._bound // 2 + self._flood[0][1]:
            self._let_go()
        if self._size > self._bound:
            self._settle()
            self._trim()

    def _let_go(self) -> None:
        """The flood alone is enough: nothing stays of the text before it, and not all of the flood."""
        flood = self._flood
        state = self._live.snapshot()
        self._cut += sum(_bytes(_text(part)) for part in state.content) - _bytes(self._notice)
        while self._flood_size > self._bound // 2 + flood[0][1]:
            self._lose(flood.popleft()[1])
        text, size = flood[0]
        if line := text.find("\n", 0, _LINE) + 1:
            self._lose(_bytes(text[:line]))
            flood[0] = text[line:], size - _bytes(text[:line])
        self._notice = f"[… {self._cut:,} bytes cut]\r\n"
        match state.content[-1:]:
            case [TerminalCommandPart(is_complete=False) | TerminalUnclassifiedPart() as part]:
                first = _with_text(part, self._notice)
            case _:
                first = TerminalUnclassifiedPart(value=self._notice)
        self._live = LiveTerminal(replace(state, content=[first]))
        self._size = _size(first) + self._flood_size

    def _lose(self, size: int) -> None:
        self._cut += size
        self._flood_size -= size

    def _trim(self) -> None:
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
    if _bytes(text) <= room:
        return text
    if text.isascii():
        end = text[-room:]
    else:
        end = text.encode("utf-8", "surrogatepass")[-room:].decode("utf-8", "ignore")
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
