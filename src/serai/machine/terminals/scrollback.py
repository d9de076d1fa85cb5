"""A terminal's state with bounded content: the oldest is cut, and a notice says so. Pure.

AHP has no action for this. So only the host's own state is bounded, and with it what new clients get; a
client that has followed all along has seen everything.
"""

from __future__ import annotations

from msgspec.structs import replace

from serai.ahp import actions as a
from serai.ahp.reducers import LiveState, LiveTerminal
from serai.ahp.reducers.channels import with_text
from serai.ahp.types import (
    Number,
    TerminalCommandPart,
    TerminalContentPart,
    TerminalState,
    TerminalUnclassifiedPart,
)

SCROLLBACK = 1024 * 1024
"""Most characters of a terminal's content that are kept."""

_PART = 256
"""Size of a part beside its text, so that many small commands are bounded, too."""
_LINE = 4096
"""Longest way from the cut to the beginning of the next line, in characters."""
_MANY = 4096
"""Most pieces of text that wait beside the state."""


class BoundedTerminal(LiveState[TerminalState]):
    """A terminal's live state, in the place of `LiveTerminal`.

    Never more than the bound is kept, and about half of it at least: text is cut rarely and much of it at
    once, so that a character's cost does not depend on the bound. Text waits beside the state until someone
    looks: most of a flood is let go before anyone does.
    """

    __slots__ = ("_bound", "_live", "_size", "_texts", "cut", "notice")

    handlers = LiveTerminal.handlers

    def __init__(self, state: TerminalState, bound: int = SCROLLBACK) -> None:
        self._live = LiveTerminal(state)
        self._texts: list[str] = []
        """Text that follows the state's own, and is not yet part of it."""
        self.cut = 0
        """Number of characters that were cut since the beginning, or since the terminal was cleared."""
        self.notice = ""
        """Text of the first part, which stands for what was cut; empty when nothing was."""
        self._bound = bound
        self._size = sum(map(_size, state.content))
        self._keep_bound()

    @property
    def head(self) -> TerminalState:
        """The state without output that is still growing: to look at, not to change or keep."""
        return self._live.head

    @property
    def whole(self) -> LiveTerminal:
        """The state as the rules know it: to look at, not to change or keep."""
        if self._texts:
            self._live.apply(a.TerminalDataAction(data="".join(self._texts)), 0)
            self._texts.clear()
        return self._live

    def snapshot(self) -> TerminalState:
        """Return the state as a value of its own."""
        return self.whole.snapshot()

    def apply(self, action: a.StateAction, now: Number) -> None:
        """Apply an action to the state, and cut what is too much."""
        if isinstance(action, a.TerminalDataAction):
            self._texts.append(action.data)
            self._size += len(action.data)
            if len(self._texts) > _MANY:
                self._texts = ["".join(self._texts)]
        else:
            self.whole.apply(action, now)
        match action:
            case a.TerminalCommandExecutedAction():
                self._size += _PART * 2 + len(action.command_line)  # text after it begins another part
            case a.TerminalClearedAction():
                self._size = self.cut = 0
                self.notice = ""
            case _:
                pass
        self._keep_bound()

    def _keep_bound(self) -> None:
        if self._size <= self._bound:
            return
        state, room = self._live.snapshot(), self._bound // 2
        content = state.content[1:] if self.notice else state.content
        self._texts, cut = _newest_text(self._texts, room)
        waiting = sum(map(len, self._texts))
        content, cut_before = _newest_parts(content, room - waiting)
        self.cut += cut + cut_before
        self.notice = f"[… {self.cut:,} characters cut]\r\n" if self.cut else ""
        if self.notice:
            content.insert(0, TerminalUnclassifiedPart(value=self.notice))
        self._size = waiting + sum(map(_size, content))
        self._live = LiveTerminal(replace(state, content=content))


def _newest_text(texts: list[str], room: int) -> tuple[list[str], int]:
    """Return the newest text that fits, and the number of characters that were cut before it."""
    cut = excess = max(0, sum(map(len, texts)) - room)
    if not excess:
        return texts, 0
    first = 0
    while excess >= len(texts[first]):
        excess -= len(texts[first])
        first += 1
    end = _from_line(texts[first][excess:])
    cut += len(texts[first]) - excess - len(end)
    return [end, *texts[first + 1 :]], cut


def _newest_parts(content: list[TerminalContentPart], room: int) -> tuple[list[TerminalContentPart], int]:
    """Return the newest parts that fit, and the number of characters that were cut before them.

    The first keeps its end. The last one stays also without a text: text that waits belongs to it.
    """
    for index in range(len(content) - 1, -1, -1):
        part, text = content[index], _text(content[index])
        size = _size(part)
        if size <= room:
            room -= size
            continue
        room = max(0, room - size + len(text))
        end = _from_line(text[len(text) - room :])
        cut = sum(len(_text(each)) for each in content[:index]) + len(text) - len(end)
        kept = content[index + 1 :]
        return [with_text(part, end), *kept] if end or not kept else kept, cut
    return content, 0


def _from_line(text: str) -> str:
    """Return a text from the beginning of its first line that is whole, if that is near."""
    return text[text.find("\n", 0, _LINE) + 1 :]


def _text(part: TerminalContentPart) -> str:
    match part:
        case TerminalCommandPart():
            return part.output
        case TerminalUnclassifiedPart():
            return part.value
        case _:
            return ""


def _size(part: TerminalContentPart) -> int:
    line = len(part.command_line) if isinstance(part, TerminalCommandPart) else 0
    return _PART + line + len(_text(part))
