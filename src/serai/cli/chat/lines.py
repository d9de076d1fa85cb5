"""What tools show, as plain lines for a person: bounded, and without what would move a cursor. Pure."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from urllib.parse import unquote, urlsplit

from serai.ahp.types import (
    ContentRef,
    FileEdit,
    ToolResultContent,
    ToolResultEmbeddedResourceContent,
    ToolResultFileEditContent,
    ToolResultResourceContent,
    ToolResultSubagentContent,
    ToolResultTextContent,
)

__all__ = [
    "LAST",
    "LIVE",
    "Lines",
    "about",
    "about_edit",
    "about_size",
    "last_lines",
    "plain_line",
    "text_of",
]

LAST = 20
"""So many lines of an output are shown from its end."""
LIVE = 40
"""So many lines of an output are shown as they come; then it is waited for its end."""
_WIDTH = 400
_UNFINISHED = 64 * 1024
"""How much of a line that does not end is kept."""

_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: titles, links, marks
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # DCS and the like
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, the cursor
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROLS = {code: None for code in [*range(32), *range(127, 160)] if code != 9}


def plain_line(line: str) -> str:
    """A line of a terminal as it stands there in the end: without colours and what was overwritten."""
    shown = _ESCAPES.sub("", line).rstrip("\r").rpartition("\r")[2].translate(_CONTROLS)
    return shown if len(shown) <= _WIDTH else f"{shown[: _WIDTH - 1]}…"


class Lines:
    """A text that grows, shown line by line: the first lines as they come, and the last ones at its end.

    Args:
        show: Is given each line to show.
        live: How many lines are shown as they come.
    """

    def __init__(self, show: Callable[[str], None], *, live: int = LIVE) -> None:
        self._show = show
        self._live = live
        self._shown = 0
        self._left_out = 0
        # The last lines that are not shown yet, and the last of all.
        self._last: deque[str] = deque(maxlen=LAST)
        self._tail: deque[str] = deque(maxlen=LAST)
        self._unfinished = ""

    def ends_as(self, other: str) -> bool:
        """Whether another text ends with the same lines: then it need not be shown, too."""
        lines = Lines(lambda _line: None)
        lines.add(other)
        lines.break_line()
        return bool(self._tail) and self._tail == lines._tail

    def add(self, text: str) -> None:
        """There is more of it."""
        *lines, rest = (self._unfinished + text).split("\n")
        self._unfinished = rest[-_UNFINISHED:]
        for line in lines:
            self._add_line(line)

    def end(self) -> None:
        """There is no more: show what is left. Ending again shows nothing."""
        self.break_line()
        if self._left_out:
            self._show(f"… ({self._left_out:,} line{'s' if self._left_out > 1 else ''} left out)")
        for line in self._last:
            self._show(line)
        self._left_out = 0
        self._last.clear()

    def break_line(self) -> None:
        """What comes next begins on a line of its own."""
        if self._unfinished:
            line, self._unfinished = self._unfinished, ""
            self._add_line(line)

    def _add_line(self, raw: str) -> None:
        line = plain_line(raw)
        self._tail.append(line)
        if self._shown < self._live:
            self._shown += 1
            self._show(line)
            return
        if self._shown == self._live and self._live:
            self._shown += 1
            self._show("… (it goes on; its end is shown when it is there)")
        self._left_out += len(self._last) == LAST
        self._last.append(line)


def last_lines(text: str) -> list[str]:
    """The end of a text, and how much was left out before it."""
    found: list[str] = []
    lines = Lines(found.append, live=0)
    lines.add(text)
    lines.end()
    return found


# -- content -----------------------------------------------------------------------------------------------


def text_of(content: list[ToolResultContent] | None) -> str:
    """The text among what a tool shows."""
    *before, last = [one.text for one in content or () if isinstance(one, ToolResultTextContent)] or [""]
    return "".join(text if text.endswith("\n") else f"{text}\n" for text in before) + last


def about(content: ToolResultContent) -> str | None:
    """One line on what is no text; `None` for text and terminals, which are shown themselves."""
    match content:
        case ToolResultFileEditContent():
            return about_edit(content)
        case ToolResultSubagentContent(resource=uri, title=title, agent_name=name):
            who = f"{name} works on it" if name else "another agent works on it"
            return f"{who}: {title} (serai chat {uri.rpartition('/')[2]})"
        case ToolResultEmbeddedResourceContent(data=data, content_type=kind):
            return f"[{kind}, {about_size(len(data) * 3 // 4)}]"
        case ToolResultResourceContent():
            return _about_reference(content)
        case _:
            return None


def about_edit(edit: FileEdit) -> str:
    """A change to a file: what became of it, and how many lines came and went."""
    before, after = (_path(side.uri) if side else None for side in (edit.before, edit.after))
    if before and after:
        what = f"changed {after}" if before == after else f"moved {before} to {after}"
    else:
        what = f"made {after}" if after else f"deleted {before or 'a file'}"
    counts = f" (+{edit.diff.added or 0} -{edit.diff.removed or 0})" if edit.diff else ""
    return what + counts


def about_size(count: float) -> str:
    """A number of bytes, for people."""
    for size, unit in ((1e6, "MB"), (1e3, "kB")):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} bytes"


def _about_reference(content: ContentRef) -> str:
    size = f", {about_size(content.size_hint)}" if content.size_hint is not None else ""
    return f"[{content.content_type or 'content'}{size}: {content.uri}]"


def _path(uri: str) -> str:
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri
