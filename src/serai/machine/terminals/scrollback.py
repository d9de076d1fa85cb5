"""A terminal's state whose content is bounded: the oldest goes first, and what went is said. Pure.

AHP has no action for this. So it is the host's own state that is bounded, and with it what newcomers are
told; a client that has been there all along has seen everything anyway.
"""

from __future__ import annotations

from serai.ahp import actions as a
from serai.ahp.reducers import LiveTerminal
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
"""What a part counts for beside its text: many small commands are bounded too."""
_LINE = 4096
"""How far the next line may begin after the place where text is cut."""


class BoundedTerminal(LiveTerminal):
    """A terminal's live state of which never more than the bound is kept, and about half of it at least.

    Text is cut rarely and much of it at once, so that a character's cost does not depend on the bound.
    """

    __slots__ = ("_bound", "_size", "cut", "notice")

    def __init__(self, state: TerminalState, bound: int = SCROLLBACK) -> None:
        super().__init__(state)
        self.cut = 0
        """How many characters have been cut since the beginning, or since it was cleared."""
        self.notice = ""
        """The first part's text, in the place of what was cut; empty when nothing was."""
        self._bound = bound
        self._size = sum(map(_size, state.content))
        self._keep_bound()

    def apply(self, action: a.StateAction, now: Number) -> None:
        """Change the state, and cut what is too much."""
        super().apply(action, now)
        match action:
            case a.TerminalDataAction():
                self._size += len(action.data)
            case a.TerminalCommandExecutedAction():
                self._size += _PART * 2 + len(action.command_line)  # and text after it begins a part
            case a.TerminalClearedAction():
                self._size = self.cut = 0
                self.notice = ""
            case _:
                return
        self._keep_bound()

    def _keep_bound(self) -> None:
        if self._size <= self._bound:
            return
        self._settle()
        content = self._state.content[1:] if self.notice else self._state.content
        content, cut = _newest(content, self._bound // 2)
        self.cut += cut
        self.notice = f"[… {self.cut:,} characters cut]\r\n" if self.cut else ""
        if self.notice:
            content = [TerminalUnclassifiedPart(value=self.notice), *content]
        self._size = sum(map(_size, content))
        self._state.content = content


def _newest(content: list[TerminalContentPart], room: int) -> tuple[list[TerminalContentPart], int]:
    """The newest parts that fit, and how many characters were cut.

    The first keeps its end, from the beginning of a line where there is one near.
    """
    for index in range(len(content) - 1, -1, -1):
        part, text = content[index], _text(content[index])
        size = _size(part)
        if size <= room:
            room -= size
            continue
        room = max(0, room - size + len(text))
        end = text[len(text) - room :]
        end = end[end.find("\n", 0, _LINE) + 1 :]
        cut = sum(len(_text(each)) for each in content[:index]) + len(text) - len(end)
        kept = content[index + 1 :]
        return [with_text(part, end), *kept] if end or not kept else kept, cut
    return content, 0


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
