"""What a terminal's output says beside its text: commands, the directory, the title. Pure.

The shells of `shell/` write private marks (`ESC ] 633 ; NONCE ; …`). They are taken out of the text, and so
are those of other shell integrations (`633` and `133`), which mean nothing without the nonce: a file that is
shown may hold anything. All other escapes stay as they are; a title (`0` and `2`) is told as well.

How a control string ends is what terminals do: with BEL, ST, CAN, SUB, or where the next escape begins. Until
a string is known to be none of ours it is held back, at most up to a bound.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

__all__ = [
    "CommandFinished",
    "Cwd",
    "Data",
    "Event",
    "MarkedCommand",
    "Marks",
    "PromptEnd",
    "PromptStart",
    "Title",
    "cleaned",
]

MARK_BOUND = 64 * 1024
"""How long a mark may be. Our own are shorter; one that is longer is dropped to its end."""
TITLE_BOUND = 4 * 1024
"""How long a title may be before it is no longer looked at. It still goes to the clients."""
ECHO_BOUND = 16 * 1024
TITLE_SHOWN = 256
"""So many characters of a title are told."""
STEPS = 1024
"""So many strings and pieces of text between them are looked at in one go: that takes some milliseconds."""

# Of the openings that are written as an escape, only those that are ours or a title's, or may become one. All
# others are text like any other, however many they are. One in a single character may be part of another
# string, so where there is such a one, all of them are looked at.
_OPEN = re.compile("\x1b(?:\\](?=(?:[02]|[16]33);|(?:[02]|[16]3{0,2})?\\Z)|\\Z)")
_OPEN_ANY = re.compile("\x1b\\]|\x9d|\x1b\\Z")
_OSC = re.compile("\x1b\\]")
_END = re.compile("[\x07\x18\x1a\x1b\x9c]")
_ABORTED = "\x18\x1a"
_OURS = ("633", "133")
_TITLES = ("0", "2")
_KNOWN = tuple(f"{number};" for number in (*_OURS, *_TITLES))
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]+")
_ESCAPED = re.compile(r"\\(?:\\|x([0-9a-f]{2}))")
# Escape sequences, as far as they are in what a line editor writes: CSI, control strings, two-character ones.
_SEQUENCE = re.compile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b[]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b[ -/]*[0-~]")


@dataclass(frozen=True, slots=True)
class Data:
    """Text for the clients."""

    text: str


@dataclass(frozen=True, slots=True)
class MarkedCommand:
    """A command begins."""

    line: str


@dataclass(frozen=True, slots=True)
class CommandFinished:
    """The shell is ready again; `exit_code` is what the last command said. It may have run none."""

    exit_code: int | None


@dataclass(frozen=True, slots=True)
class Cwd:
    """Where the shell is."""

    path: str


@dataclass(frozen=True, slots=True)
class Title:
    """A title for the terminal. Any program may set it."""

    text: str


@dataclass(frozen=True, slots=True)
class PromptStart:
    """A prompt begins."""


@dataclass(frozen=True, slots=True)
class PromptEnd:
    """A prompt has ended, and what follows is typed."""


Event: TypeAlias = Data | MarkedCommand | CommandFinished | Cwd | Title | PromptStart | PromptEnd


class _Where(Enum):
    TEXT = auto()
    HELD = auto()
    """In a control string that may be ours or a title; `_held` has it from its beginning."""
    PASSED = auto()
    """In one that is neither: it goes to the clients."""
    DROPPED = auto()
    """In one of ours that is too long."""


class Marks:
    """Takes the output of one terminal in any pieces, and tells what is in it.

    Adjacent pieces of text are not joined.

    Args:
        nonce: What real marks carry. Without one there are none.
    """

    __slots__ = ("_echo", "_held", "_looked", "_nonce", "_where", "behind")

    def __init__(self, nonce: str | None) -> None:
        self.behind = False
        """Whether a piece had so much in it that some of that is still to be told: feed it nothing, then."""
        self._nonce = nonce
        self._where = _Where.TEXT
        self._held: str = ""
        self._looked: int = 0
        self._echo: str | None = None
        """What was typed since the prompt, as the shell shows it; `None` outside of it."""

    def feed(self, text: str) -> list[Event]:
        """What this piece tells, as far as it is decided."""
        if self._where is _Where.TEXT and self._echo is None and not self._held and not _may_open(text):
            return [Data(text)] if text else []
        return [*self._walk(text)]

    def close(self) -> list[Event]:
        """The output is over: what is held back is told now, unless it is ours."""
        events: list[Event] = []
        while self.behind:
            events += self._walk("")
        held, self._held = self._held, ""
        where, self._where = self._where, _Where.TEXT
        ours = where is _Where.DROPPED or (where is _Where.HELD and _number(_body(held)) in _OURS)
        if held and not ours:
            events.append(Data(held))
        return events

    def _walk(self, text: str) -> Iterator[Event]:
        text = self._held + text
        self._held = ""
        self.behind = False
        opening = _OPEN_ANY if not text.isascii() and "\x9d" in text else _OPEN
        place: int | None = 0
        steps = 0
        while place is not None and place < len(text):
            steps += 1
            if steps > STEPS and self._where is _Where.TEXT:
                self._held = text[place:]
                self.behind = True
                return
            if self._where is _Where.TEXT:
                place = yield from self._in_text(text, place, opening)
            elif self._where is _Where.HELD:
                place = yield from self._in_held(text, place)
            else:
                place = yield from self._in_other(text, place)

    # Each of these tells what is in the text from a place on, and returns where the next one goes on; `None`
    # when the rest is held back.

    def _in_text(self, text: str, place: int, opening: re.Pattern[str]) -> Generator[Event, None, int | None]:
        found = opening.search(text, place)
        start = len(text) if found is None else found.start()
        if start > place:
            yield self._data(text[place:start])
        if found is None:
            if _is_open(text, place):
                self._where = _Where.PASSED
            return None
        if found.group() == "\x1b":  # the last character: it may become an opening
            self._held = "\x1b"
            return None
        self._where = _Where.HELD
        self._looked = len(found.group())
        return start

    def _in_held(self, text: str, place: int) -> Generator[Event, None, int | None]:
        end = _END.search(text, place + self._looked)
        if end is None:
            yield from self._hold(text[place:])
            return None
        after = _after(text, end)
        if after is None:
            self._held = text[place:]
            self._looked = end.start() - place
            return None
        yield from self._complete(text[place:after], text[place : end.start()], end.group())
        self._where = _Where.TEXT
        return after

    def _in_other(self, text: str, place: int) -> Generator[Event, None, int | None]:
        end = _END.search(text, place)
        after = len(text) if end is None else _after(text, end)
        if after is None:
            self._held = "\x1b"
        shown = text[place : len(text) - 1 if after is None else after]
        if shown and self._where is _Where.PASSED:
            yield self._data(shown)
        if end is not None and after is not None:
            self._where = _Where.TEXT
        return after

    def _hold(self, string: str) -> Iterator[Event]:
        """A control string whose end is not here yet."""
        body = _body(string)
        number = _number(body)
        if number in _OURS:
            if len(string) > MARK_BOUND:
                self._where = _Where.DROPPED
                return
        elif number in _TITLES:
            if len(string) > TITLE_BOUND:
                self._where = _Where.PASSED
        elif not any(known.startswith(body) for known in _KNOWN):
            self._where = _Where.PASSED
        if self._where is _Where.PASSED:
            yield self._data(string)
            return
        self._held = string
        self._looked = len(string)

    def _complete(self, whole: str, string: str, end: str) -> Iterator[Event]:
        """A control string, with its end and without it."""
        body = _body(string)
        number = _number(body)
        if number in _OURS:
            if number == "633" and end not in _ABORTED and len(string) <= MARK_BOUND:
                yield from self._mark(body)
            return
        yield self._data(whole)
        if number in _TITLES and end not in _ABORTED and len(string) <= TITLE_BOUND:
            yield Title(cleaned(body.partition(";")[2])[:TITLE_SHOWN])

    def _mark(self, body: str) -> Iterator[Event]:
        match body.split(";"):
            case [_, nonce, *rest] if nonce == self._nonce:
                pass
            case _:
                return
        match rest:
            case ["A"]:
                yield PromptStart()
            case ["B"]:
                self._echo = ""
                yield PromptEnd()
            case ["C", sure, line]:
                echo, self._echo = self._echo, None
                yield MarkedCommand(_line(_unescape(line), echo, sure=sure == "1"))
            case ["D", status]:
                yield CommandFinished(int(status) if status.isascii() and status.isdigit() else None)
            case ["P", value] if value.startswith("Cwd="):
                yield Cwd(_unescape(value.removeprefix("Cwd=")))
            case _:
                pass

    def _data(self, text: str) -> Data:
        if self._echo is not None:
            self._echo = (self._echo + text)[-ECHO_BOUND:]
        return Data(text)


def cleaned(title: str) -> str:
    """A title without control characters: it is shown in lists, where they would do what they say."""
    return _CONTROL.sub("", title)


def _may_open(text: str) -> bool:
    # A single character is found a hundred times faster than two, and most output has none of some of them.
    if not text.isascii() and "\x9d" in text:
        return True
    return "\x1b" in text and (text.endswith("\x1b") or ("]" in text and _OSC.search(text) is not None))


def _is_open(text: str, place: int) -> bool:
    """Whether the last control string from a place on has no end here."""
    start = text.rfind("\x1b]", place)
    return start >= 0 and _END.search(text, start + 2) is None


def _after(text: str, end: re.Match[str]) -> int | None:
    """Where a control string that ends here is over; `None` when that depends on the next character."""
    if end.group() != "\x1b":
        return end.end()
    if end.end() == len(text):
        return None
    return end.end() + 1 if text[end.end()] == "\\" else end.start()


def _body(string: str) -> str:
    return string[1:] if string.startswith("\x9d") else string[2:]


def _number(body: str) -> str:
    """The number that a control string begins with; empty as long as it may grow."""
    number, semicolon, _ = body.partition(";")
    return number if semicolon else ""


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
