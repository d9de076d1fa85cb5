"""Parses the output of a terminal: text, commands, the directory and the title, as AHP actions.

The shell scripts in `shell/` write private marks (`ESC ] 633 ; NONCE ; …`). They are removed from the text,
and so are those of other shell integrations (`633` and `133`), which mean nothing without the nonce: a file
that is shown may contain anything. All other escapes stay as they are; a title (`0` and `2`) is reported as
well.

A control string ends as it does in terminals: with BEL, ST, CAN, SUB, or where the next escape begins. One
that may be a mark is held back until its end, up to a bound.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

from serai.ahp import actions as a

HELD_BOUND = 64 * 1024
"""Longest control string that is held back, in characters. Marks of the own shells are shorter."""
TITLE_SHOWN = 256
"""Longest title that is reported, in characters."""
_ECHO_BOUND = 16 * 1024
_UNKNOWN_EXIT = 137
"""Exit code of a program whose end nobody saw: 128 and the number of KILL. Its keeper was killed, and the
program with it."""

_OSC = re.compile("\x1b\\]")
_KNOWN = re.compile("\x1b\\]([02]|[16]33);([^\x07\x18\x1a\x1b]*)(\x07|\x1b\\\\|\x18|\x1a|(?=\x1b[^\\\\]))")
_UNFINISHED = re.compile("\x1b(\\]([02]?|[16]3{0,2}|([02]|[16]33);[^\x07\x18\x1a\x1b]*\x1b?))?\\Z")
_OURS = ("633", "133")
_OUR_OPENINGS = tuple(f"\x1b]{number};" for number in _OURS)
_ABORTED = ("\x18", "\x1a")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]+")
_ESCAPED = re.compile(r"\\(?:\\|x([0-9a-f]{2}))")
# Escape sequences that line editors write: CSI, control strings, and those of two characters.
_SEQUENCE = re.compile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b[]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b[ -/]*[0-~]")


class TerminalParser:
    """Parses the output of one terminal, in pieces of any size, into actions in their order.

    Text is in one action as long as nothing else happens. Of titles and directories only the last is kept: a
    program may set a title with every line that it writes.

    Args:
        nonce: The nonce of real marks. Without one there are none.
    """

    def __init__(self, nonce: str | None) -> None:
        self.size = 0
        """Number of characters of text that wait to be taken."""
        self.at_prompt = False
        """True while the shell waits for a command, as far as it reports that."""
        self._nonce = nonce
        self._held = ""
        self._echo: str | None = None
        """Text that was typed since the prompt, as the shell shows it; `None` outside of a prompt."""
        self._actions: list[a.TerminalAction] = []
        self._text: list[str] = []
        self._title: str | None = None
        self._cwd: str | None = None
        self._last_taken: tuple[str | None, str | None] = None, None
        """Title and directory that were taken last."""
        self._exited: a.TerminalExitedAction | None = None
        self._detects = False
        self._commands = 0
        self._command: tuple[str, float] | None = None

    def __bool__(self) -> bool:
        news = (self._title, self._cwd, self._exited)
        return bool(self._actions or self._text) or any(each is not None for each in news)

    def take(self) -> list[a.TerminalAction]:
        """Take all actions that wait."""
        self._end_text()
        actions, self._actions = self._actions, []
        title, cwd = self._last_taken
        if self._title is not None:
            title = self._title
            actions.append(a.TerminalTitleChangedAction(title=title))
        if self._cwd is not None:
            cwd = self._cwd
            actions.append(a.TerminalCwdChangedAction(cwd=cwd))
        if self._exited is not None:
            actions.append(self._exited)
        self._last_taken = title, cwd
        self._title = self._cwd = self._exited = None
        self.size = 0
        return actions

    def feed(self, text: str) -> None:
        """Parse a piece of the output."""
        # A single character is found a hundred times faster than two, and much output lacks one of them.
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
                self._title = None if title == self._last_taken[0] else title
        rest = _UNFINISHED.search(text, at)
        is_held = rest is not None and len(text) - rest.start() <= HELD_BOUND
        start = rest.start() if rest is not None and is_held else len(text)
        self._show(text[at:start])
        self._held = text[start:]

    def exited(self, status: int | None) -> None:
        """Note that the program has ended, and with it the command that it ran last.

        A terminal without an exit code counts as running, so there is always one.
        """
        if not self._held.startswith(_OUR_OPENINGS):
            self._show(self._held)
        self._held = ""
        self._finish(status)
        self._exited = a.TerminalExitedAction(exit_code=_UNKNOWN_EXIT if status is None else status)

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
                self._cwd = None if cwd == self._last_taken[1] else cwd
            case _:
                pass

    def _start(self, line: str) -> None:
        self._finish(None)  # the end of the command before was not reported
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
    """Remove control characters from a title: it is shown in lists, where they would take effect."""
    return _CONTROL.sub("", title)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)) if found[1] else "\\", text)


def _line(reported: str, echo: str | None, *, sure: bool) -> str:
    """Return the command line that the shell reports, or the typed text where the report may be stale.

    A shell that keeps repeated lines out of its history, or those that begin with a space, reports the line
    before. If that is also what was typed, it is right.
    """
    if sure or not echo:
        return reported
    typed = _CONTROL.sub(" ", _SEQUENCE.sub("", echo)).strip()
    if not typed or "".join(typed.split()).endswith("".join(reported.split()) or " "):
        return reported
    return typed
