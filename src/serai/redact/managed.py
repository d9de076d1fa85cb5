"""Masks secrets with known values, wherever they are, also in their common encodings.

To search for hundreds of values at once, only every fifth position of a text is checked: the four characters
there are looked up among the first windows of all values. A value has at least eight characters, so one of
its first five windows is at a checked position, wherever it begins. Then the whole value is compared. In long
text the rarest character of each value is searched for first, with its neighbours, as in `finder.py`.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple
from urllib.parse import quote, quote_plus, unquote

from serai.redact.shapes import looks_random

SHORTEST = 8
"""Shortest managed value, in characters: shorter ones would mask ordinary words."""

_LONGEST = 1024
"""Longest piece, in characters. Longer values are cut into pieces, so that a bounded tail is held back."""

_WINDOW = 4
_STEP = SHORTEST - _WINDOW + 1
_LARGE = 512
"""Shortest text, in characters, in which rare characters are searched for first."""
_RARE = "QZXJqKVYzjWxUGHBFMNDOPLRSTAICEvkwbygp9876543fmcudhlrsni210oate \n"
"""Characters by their frequency in text, the rarest first; all others are rarer still."""
_PLAIN_LABEL = re.compile(r"[^A-Za-z0-9_.\-]")


class _Hit(NamedTuple):
    start: int
    end: int
    """End of the value, beyond the end of the text while the value is incomplete."""
    mask: str


class ManagedValues:
    """An immutable set of known values with their masks.

    Args:
        labels: The label of each value.
    """

    def __init__(self, labels: Mapping[str, str]) -> None:
        pieces = {piece: label for value, label in labels.items() for piece in _encodings(value)}
        self._masks = {piece: _mask(label, pieces) for piece, label in pieces.items()}
        self.count = len(pieces)
        """Number of texts that are searched for."""
        self._windows: dict[str, list[tuple[str, int]]] = {}
        for piece in pieces:
            for offset in range(_STEP):
                self._windows.setdefault(piece[offset : offset + _WINDOW], []).append((piece, offset))
        self._beginnings = frozenset(piece[:n] for piece in pieces for n in range(1, SHORTEST))
        self._longest = max(map(len, pieces), default=0)
        self._threes = frozenset(piece[n : n + 3] for piece in pieces for n in range(SHORTEST - 3))
        only_ascii = all(map(str.isascii, pieces))
        self._as_text = ("latin-1",) if only_ascii else ("utf-8", "surrogateescape")
        """Encoding in which bytes are searched; one byte for each character is far quicker."""

    def redact(self, text: str) -> str:
        """Mask every value in a complete text."""
        if len(text) < SHORTEST or not self._masks or self.is_quiet(text):
            return text
        return self.advance(text, final=True)[0]

    def redact_bytes(self, data: bytes) -> bytes:
        """Mask every value in bytes that are not text."""
        text = data.decode(*self._as_text)
        masked = self.redact(text)
        return data if masked is text else masked.encode(*self._as_text)

    def advance(self, text: str, *, final: bool, sent: int = 0) -> tuple[str, str]:
        """Return the masked text that may be sent, and the tail that may still become a value.

        Args:
            text: The text that was held back, and the new text.
            final: Whether the text ends here.
            sent: Number of its characters that were sent already: fewer than any value has.
        """
        out: list[str] = []
        done, shown = 0, sent
        for hit in self._hits(text, final=final):
            if hit.start < done:
                continue
            if hit.end > len(text):
                out.append(text[shown : hit.start])
                return "".join(out), text[hit.start :]
            out += text[shown : hit.start], hit.mask
            done = shown = hit.end
        held = 0 if final else self.beginning_at_end(text, done)
        out.append(text[shown : len(text) - held])
        return "".join(out), text[len(text) - held :]

    def _hits(self, text: str, *, final: bool) -> list[_Hit]:
        """Return the values that begin in the text, by position; at one position the longest first."""
        windows = self._windows
        places = [i for i in range(0, len(text) - _WINDOW + 1, _STEP) if text[i : i + _WINDOW] in windows]
        if not places:
            return []
        hits: list[_Hit] = []
        for place in places:
            for piece, offset in windows[text[place : place + _WINDOW]]:
                start = place - offset
                end = start + len(piece)
                if start < 0:
                    continue
                if end <= len(text):
                    if text.startswith(piece, start):
                        hits.append(_Hit(start, end, self._masks[piece]))
                elif piece.startswith(text[start:]):
                    there = len(text) - start
                    if not final:
                        hits.append(_Hit(start, end, self._masks[piece]))
                    elif there >= max(SHORTEST, len(piece) / 2):  # the text was cut within the value
                        hits.append(_Hit(start, len(text), self._masks[piece]))
        hits.sort(key=lambda hit: (hit.start, -hit.end))
        return hits

    def is_quiet(self, text: str) -> bool:
        """Tell that no value begins in the text, except perhaps in its last seven characters."""
        first = 0
        if len(text) > _LARGE + self._longest:
            if any(char in text and around.search(text) for char, around in self._leads):
                return False
            first = len(text) - self._longest  # an incomplete value begins here, or later
        windows = self._windows
        for place in range(first, len(text) - _WINDOW + 1, _STEP):
            if text[place : place + _WINDOW] in windows:
                return False
        return True

    @cached_property
    def _leads(self) -> list[tuple[str, re.Pattern[str]]]:
        """The rarest character of each value, with an expression for its surroundings."""
        groups: dict[str, list[str]] = {}
        for piece in self._masks:
            place = min(range(len(piece) - 2), key=[_RARE.find(c) for c in piece].__getitem__)
            before, after = piece[max(0, place - 3) : place + 1], piece[place + 1 : place + 5]
            around = f"{re.escape(after)}(?<={re.escape(before + after)})"
            groups.setdefault(piece[place], []).append(around)
        return [
            (char, re.compile(f"{re.escape(char)}(?:{'|'.join(dict.fromkeys(group))})"))
            for char, group in groups.items()
        ]

    def beginning_at_end(self, text: str, done: int = 0) -> int:
        """Return the number of characters at the end of the text that may begin a value: at most seven."""
        size = len(text)
        beginnings = self._beginnings
        if text[-3:] in self._threes:
            for count in range(min(SHORTEST - 1, size - done), 2, -1):
                if text[size - count :] in beginnings:
                    return count
        if text[-2:] in beginnings and size - done >= 2:
            return 2
        return 1 if text[-1:] in beginnings and size > done else 0


class ManagedStage:
    """Masks known values in a text that comes in pieces."""

    def __init__(self) -> None:
        self.held = ""
        """Text that is held back, since it may become a value."""
        self.released = 0
        """Number of its characters that were released early."""

    def feed(self, values: ManagedValues, text: str) -> str:
        """Add text, and return the text that may be sent."""
        text = self.held + text
        if self.released or not values.is_quiet(text):
            return self._advance(values, text, final=False)
        count = values.beginning_at_end(text)
        if not count:
            self.held = ""
            return text
        self.held = text[-count:]
        return text[:-count]

    def flush(self, values: ManagedValues) -> str:
        """Return the rest, since the text has ended."""
        return self._advance(values, self.held, final=True)

    def let_go(self, most: int) -> str:
        """Return the text that is held back, if it has at most so many characters."""
        if len(self.held) > most:
            return ""
        out, self.released = self.held[self.released :], len(self.held)
        return out

    def _advance(self, values: ManagedValues, text: str, *, final: bool) -> str:
        out, self.held = values.advance(text, final=final, sent=self.released)
        self.released = max(0, self.released - (len(text) - len(self.held)))
        return out


def _mask(label: str, pieces: Mapping[str, str]) -> str:
    mask = f"[secret:{_PLAIN_LABEL.sub('_', label)[:64]}]"
    # A label may itself contain a value (`password` in `my_password`): its mask would be masked again.
    return "[secret]" if any(piece in mask for piece in pieces) else mask


def _encodings(value: str) -> Iterator[str]:
    for form in dict.fromkeys(_forms(value)):
        if len(form) >= SHORTEST:
            yield from _cut(form)


def _forms(value: str) -> Iterator[str]:
    yield value
    if "\n" in value:
        yield value.replace("\r\n", "\n").replace("\n", "\r\n")  # as terminals write it
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    raw = _raw(value)
    yield quote(raw, safe="")
    yield quote(raw)
    yield quote_plus(raw)
    for shift in range(3):  # position of the value in a group of three bytes
        yield _inner_base64(raw, shift)
        yield _inner_base64(raw, shift).replace("+", "-").replace("/", "_")


def _raw(value: str) -> bytes:
    try:
        return value.encode(errors="surrogateescape")  # for bytes of the environment that are not UTF-8
    except UnicodeEncodeError:
        return value.encode(errors="surrogatepass")  # for lone surrogates of JSON


def _inner_base64(raw: bytes, shift: int) -> str:
    """Return the characters of the encoding that depend on the value alone, and not on its neighbours."""
    encoded = base64.b64encode(bytes(shift) + raw).decode().rstrip("=")
    first = (0, 2, 3)[shift]
    whole = (shift + len(raw)) * 8 // 6
    return encoded[first:whole]


def _cut(form: str) -> Iterator[str]:
    count = -(-len(form) // _LONGEST)
    size = -(-len(form) // count)
    for start in range(0, len(form), size):
        yield form[start : start + size]


# -- the environment -----------------------------------------------------------------------------------------

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:\w*(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|APIKEY|CREDENTIALS?)|KEY|PWD|PAT)(?:$|_)"
)
_OTHER_NAME = re.compile(
    r"(?:^|_)(?:PUBLIC|GPG)_KEY|(?:^|OLD)PWD$|"
    r"_(?:FILE|PATH|DIR|ID|IDS|NAME|URL|URI|HOST|TYPE|COUNT|LIMIT|SIZE|TTL|EXPIRY|EXPIRES|SOCK|ALGORITHM|VERSION)$"
)
"""Names of something about a secret, and not of the secret: `AWS_ACCESS_KEY_ID`, `TOKEN_FILE`."""

_PATH = re.compile(r"(?:~|\.{1,2})?/[\w.\- /]*|[A-Za-z]:\\.*", re.ASCII)
_WORDS = re.compile(r"[a-z]+(?:[ _\-][a-z]+)*", re.IGNORECASE)
_MIXED_CASE = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_NUMBER = re.compile(r"[\d.,:+\-]+")
_URL_PASSWORD = re.compile(r"[a-z][a-z0-9+.\-]*://[^\s/:@]*:([^\s/@]+)@", re.IGNORECASE)


def managed_from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the secrets among the variables of an environment, by their names.

    In an address with a password (`DATABASE_URL`), the password is the secret.
    """
    found: dict[str, str] = {}
    for name, value in environ.items():
        if _SECRET_NAME.search(name.upper()) and not _OTHER_NAME.search(name.upper()):
            if _may_be_secret(value):
                found[name] = value
        elif (url := _URL_PASSWORD.match(value)) and len(url[1]) >= SHORTEST:
            found[name] = unquote(url[1])
    return found


def _may_be_secret(value: str) -> bool:
    if len(value.strip()) < SHORTEST or _NUMBER.fullmatch(value):
        return False
    if _PATH.fullmatch(value):
        return looks_random(value)  # base64 has slashes too
    return not _WORDS.fullmatch(value) or _MIXED_CASE.search(value) is not None
