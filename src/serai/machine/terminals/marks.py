"""What a terminal's output tells: text, commands, the directory and the title, as AHP actions.

The shells of `shell/` write private marks (`ESC ] 633 ; NONCE ; …`). They are taken out of the text, and so
are those of other shell integrations (`633` and `133`), which mean nothing without the nonce: a file that is
shown may hold anything. All other escapes stay as they are; a title (`0` and `2`) is told as well.

A control string ends as it does in terminals: with BEL, ST, CAN, SUB, or where the next escape begins. Until
its end is there one that may be ours is held back, up to a bound.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

from serai.ahp import actions as a

HELD_BOUND = 64 * 1024
"""Longest control string that is waited for, in characters. Our own are shorter."""
TITLE_SHOWN = 256
"""Most characters of a title that are told."""
_ECHO_BOUND = 16 * 1024
_UNSEEN = 137
"""What is told of an end that nobody saw. Who would have seen it was killed, and what it kept is killed then:
128 and the number of that signal."""

_OSC = re.compile("\x1b\\]")
_KNOWN = re.compile("\x1b\\]([02]|[16]33);([^\x07\x18\x1a\x1b]*)(\x07|\x1b\\\\|\x18|\x1a|(?=\x1b[^\\\\]))")
_UNFINISHED = re.compile("\x1b(\\]([02]?|[16]3{0,2}|([02]|[16]33);[^\x07\x18\x1a\x1b]*\x1b?))?\\Z")
_OURS = ("633", "133")
_OUR_OPENINGS = tuple(f"\x1b]{number};" for number in _OURS)
_ABORTED = ("\x18", "\x1a")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]+")
_ESCAPED = re.compile(r"\\(?:\\|x([0-9a-f]{2}))")
# Escape sequences, as far as they are in what a line editor writes: CSI, control strings, two-character ones.
_SEQUENCE = re.compile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b[]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b[ -/]*[0-~]")


class TerminalOutput:
    """Takes the output of one terminal in any pieces, and gives it as actions, in their order.

    Text is in one action as long as nothing else happens. Of titles and directories only the last is kept: a
    program may set a title with every line that it writes.

    Args:
        nonce: What real marks carry. Without one there are none.
    """

    def __init__(self, nonce: str | None) -> None:
        self.size = 0
        """How many characters of text wait to be taken."""
        self.at_prompt = False
        """Whether the shell waits for a command, as far as it has told."""
        self._nonce = nonce
        self._held = ""
        self._echo: str | None = None
        """What was typed since the prompt, as the shell shows it; `None` outside of it."""
        self._actions: list[a.TerminalAction] = []
        self._text: list[str] = []
        self._title: str | None = None
        self._cwd: str | None = None
        self._told: tuple[str | None, str | None] = None, None
        """The title and the directory that were taken last."""
        self._exited: a.TerminalExitedAction | None = None
        self._detects = False
        self._commands = 0
        self._command: tuple[str, float] | None = None

    def __bool__(self) -> bool:
        news = (self._title, self._cwd, self._exited)
        return bool(self._actions or self._text) or any(each is not None for each in news)

    def take(self) -> list[a.TerminalAction]:
        """All that waits; then nothing does."""
        self._end_text()
        actions, self._actions = self._actions, []
        title, cwd = self._told
        if self._title is not None:
            title = self._title
            actions.append(a.TerminalTitleChangedAction(title=title))
        if self._cwd is not None:
            cwd = self._cwd
            actions.append(a.TerminalCwdChangedAction(cwd=cwd))
        if self._exited is not None:
            actions.append(self._exited)
        self._told = title, cwd
        self._title = self._cwd = self._exited = None
        self.size = 0
        return actions

    def feed(self, text: str) -> None:
        """Take a piece of the output."""
        # A single character is found a hundred times faster than two, and most output has none of some.
        if not self._held and (
            "\x1b" not in text or (("]" not in text or not _OSC.search(text)) and text[-1] != "\x1b")
        ):
            self._show(text)
            return
        text = self._held + text
        at = 0
        for found in _KNOWN.finditer(text):
            number, body, end = found.groups()
            self._show(text[at : found.start() if number in _OURS else found.end()])
            at = found.end()
            if number == "633" and end not in _ABORTED:
                self._mark(body)
            elif number not in _OURS and end not in _ABORTED:
                title = cleaned(body)[:TITLE_SHOWN]
                self._title = None if title == self._told[0] else title
        rest = _UNFINISHED.search(text, at)
        is_held = rest is not None and len(text) - rest.start() <= HELD_BOUND
        start = rest.start() if rest is not None and is_held else len(text)
        self._show(text[at:start])
        self._held = text[start:]

    def exited(self, status: int | None) -> None:
        """The program has ended, and with it its output and the command that it ran last.

        A terminal without a code is one that runs, so there is always one.
        """
        if not self._held.startswith(_OUR_OPENINGS):
            self._show(self._held)
        self._held = ""
        self._finish(status)
        self._exited = a.TerminalExitedAction(exit_code=_UNSEEN if status is None else status)

    def _show(self, text: str) -> None:
        if text:
            self._text.append(text)
            self.size += len(text)
            if self._echo is not None:
                self._echo = (self._echo + text)[-_ECHO_BOUND:]

    def _mark(self, body: str) -> None:
        nonce, *words = body.split(";")
        if nonce != self._nonce:
            return
        match words:
            case ["A"]:
                self.at_prompt = True
                if not self._detects:
                    self._detects = True
                    self._add(a.TerminalCommandDetectionAvailableAction())
            case ["B"]:
                self._echo = ""
            case ["C", sure, line]:
                echo, self._echo = self._echo, None
                self._start(_line(_unescape(line), echo, sure=sure == "1"))
            case ["D", status]:
                self._finish(int(status) if status.isascii() and status.isdigit() else None)
            case ["P", value] if value.startswith("Cwd=/"):
                cwd = Path(_unescape(value.removeprefix("Cwd="))).as_uri()
                self._cwd = None if cwd == self._told[1] else cwd
            case _:
                pass

    def _start(self, line: str) -> None:
        self._finish(None)  # the end of the one before was not told
        self.at_prompt = False
        self._commands += 1
        name = f"command-{self._commands}"
        self._command = name, time.monotonic()
        now = int(time.time() * 1000)
        self._add(a.TerminalCommandExecutedAction(command_id=name, command_line=line, timestamp=now))

    def _finish(self, exit_code: int | None) -> None:
        if self._command is None:
            return
        name, began = self._command
        self._command = None
        took = int((time.monotonic() - began) * 1000)
        self._add(a.TerminalCommandFinishedAction(command_id=name, exit_code=exit_code, duration_ms=took))

    def _add(self, action: a.TerminalAction) -> None:
        self._end_text()
        self._actions.append(action)

    def _end_text(self) -> None:
        if self._text:
            self._actions.append(a.TerminalDataAction(data="".join(self._text)))
            self._text.clear()


def cleaned(title: str) -> str:
    """A title without control characters: it is shown in lists, where they would do what they say."""
    return _CONTROL.sub("", title)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)) if found[1] else "\\", text)


def _line(told: str, echo: str | None, *, sure: bool) -> str:
    """The command line: what the shell tells, or, when that may be an earlier one, what was typed.

    A shell that keeps repeated lines out of its history, or those that begin with a space, tells the line
    before. If that is what was typed, it is right.
    """
    if sure or not echo:
        return told
    typed = _CONTROL.sub(" ", _SEQUENCE.sub("", echo)).strip()
    if not typed or "".join(typed.split()).endswith("".join(told.split()) or " "):
        return told
    return typed
