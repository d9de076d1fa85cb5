"""The files and folders of a folder, laid out so that they can be searched quickly.

The paths stand in strings of some two thousand lines, shorter paths first, each as it is and in lower case.
Beside each line is a mask of the characters that it has, so that most lines need no second look.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field

__all__ = ["Listing", "ListingBuilder", "Slice", "lowered", "mask_of"]

FOLDER_MARK = "\0"
"""Stands behind a folder: no name has it."""

_SLICE = 131_072
"""So many characters are searched in one go."""

_PAUSE = 200
"""After so many lines that were laid out, others get their turn."""

_UNWRITABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """Some of the paths."""

    text: str
    """Lines such as `/src/main.py`, with a line break before and after each."""
    lower: str
    """The same in lower case, character for character."""
    starts: array[int]
    """Where each line starts: at the break before it."""
    masks: array[int]
    """Which characters each line has."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What a folder has."""

    slices: list[Slice] = field(default_factory=list[Slice])
    count: int = 0
    whole: bool = True
    """Whether all are in it."""


class ListingBuilder:
    """Makes a listing. Folders are found in the paths of files.

    Names with control characters or that are not Unicode are left out: nobody could write them into a
    message.
    """

    def __init__(self) -> None:
        self._by_length: defaultdict[int, list[str]] = defaultdict(list)
        self._folders: set[str] = {""}
        self.count = 0
        self.whole = True
        """Whether all are in it; whoever leaves something out says so here."""

    def add(self, paths: Iterable[str]) -> None:
        """Add files, relative to the folder; a path that ends with `/` is a folder."""
        for path in paths:
            if _UNWRITABLE.search(path) is not None:
                continue
            folder, _, name = path.rpartition("/")
            if folder not in self._folders:
                self._add_folder(folder)
            if name:
                self._by_length[len(path)].append(path)
                self.count += 1

    def _add_folder(self, folder: str) -> None:
        while folder not in self._folders:
            self._folders.add(folder)
            self._by_length[len(folder)].append(folder + FOLDER_MARK)
            self.count += 1
            folder = folder.rpartition("/")[0]

    def build(self) -> Generator[None, None, Listing]:
        """The listing. Yields after each bit of work, so that others get their turn."""
        listing = Listing([], self.count, self.whole)
        masks: dict[str, int] = {}
        lines: list[str] = []
        size = 0
        for length in sorted(self._by_length):
            for path in sorted(self._by_length[length]):
                lines.append(path)
                size += length + 2
                if size >= _SLICE:
                    listing.slices.append((yield from _slice(lines, masks)))
                    lines, size = [], 0
        if lines:
            listing.slices.append((yield from _slice(lines, masks)))
        return listing


def lowered(text: str) -> str:
    """In lower case and of the same length: the few letters that would become two stay as they are."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)


def mask_of(text: str) -> int:
    """A number of 64 bits in which each bit stands for a character, or for a few rare ones."""
    mask = 0
    for bit in map(_BITS.__getitem__, set(text)):
        mask |= bit
    return mask


class _Bits(dict[str, int]):
    """Letters and digits have bits of their own."""

    def __missing__(self, letter: str) -> int:
        bit = 1 << 36 + ord(letter) % 28
        if len(self) < 10_000:
            self[letter] = bit
        return bit


_BITS = _Bits({letter: 1 << at for at, letter in enumerate("abcdefghijklmnopqrstuvwxyz0123456789")})
_BITS.update({"\n": 0, FOLDER_MARK: 0})


def _slice(paths: list[str], folders: dict[str, int]) -> Generator[None, None, Slice]:
    """Lay some paths out. The masks of folders are kept in `folders`, since many paths share them."""
    text = "\n" + "".join([f"/{path}\n" for path in paths])
    lower = lowered(text)
    starts, masks = array("I"), array("Q")
    at = 0
    for count, path in enumerate(paths):
        if count % _PAUSE == 0:
            yield
        end = at + len(path) + 2
        name = lower.rfind("/", at, end) + 1
        folder = lower[at + 1 : name]
        if (mask := folders.get(folder)) is None:
            mask = folders[folder] = mask_of(folder)
        starts.append(at)
        masks.append(mask | mask_of(lower[name:end]))
        at = end
    return Slice(text, lower, starts, masks)
