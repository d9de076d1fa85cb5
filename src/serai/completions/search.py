"""Searches a hundred thousand paths for a few characters, and ranks the matches.

The paths stand in strings of some two thousand lines, shorter paths first, each as it is and in lower case.
Regular expressions run over them in C. They stop after the first few hundred matches, since longer paths come
later. Beside each line is a mask of its characters, so that most lines need no closer look. Matches are
ranked:

1. the name is the query, with its ending or without
2. the name begins with it
3. a word in the name begins with it: after a sign, or at a capital after a small letter
4. it is anywhere in the name
5. it is anywhere in the path
6. its characters are in the path in that order; those at the beginning of words and in the name count more

Among equals, a match in the same case comes first, then the shorter path, then the alphabet decides.
"""

from __future__ import annotations

import asyncio
import re
import time
from array import array
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias, TypeVar

CANDIDATE_LIMIT = 300
"""Most ranked paths for each kind of match."""

_PAUSE = 64
"""Number of paths that are ranked before other tasks run."""

FOLDER_MARK = "\0"
"""Mark behind the path of a folder: no name has it."""

_SLICE = 131_072
"""Size of a slice, in characters."""

_LAID_OUT = 200
"""Number of lines that are laid out before other tasks run."""

_UNWRITABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """A slice of the paths."""

    text: str
    """Lines such as `/src/main.py`, with a line break before and after each."""
    lower: str
    """The same in lower case, character for character."""
    starts: array[int]
    """Start of each line: the break before it."""
    masks: array[int]
    """Mask of the characters of each line."""


@dataclass(frozen=True, slots=True)
class PathListing:
    """The paths of a folder."""

    slices: list[Slice] = field(default_factory=list[Slice])
    count: int = 0


class PathListingBuilder:
    """Makes a listing. Folders are derived from the paths of files.

    Names with control characters, or that are not Unicode, are left out: nobody could write them into a
    message.
    """

    def __init__(self) -> None:
        self._by_length: defaultdict[int, list[str]] = defaultdict(list)
        self._folders: set[str] = {""}
        self.count = 0

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

    def build(self) -> Generator[None, None, PathListing]:
        """Make the listing. Yields after each bit of work, so that other tasks can run."""
        listing = PathListing([], self.count)
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
    """Return a text in lower case, of the same length: the few letters that would become two stay."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)


def mask_of(text: str) -> int:
    """Return a number of 64 bits in which each bit stands for a character, or for a few rare ones."""
    mask = 0
    for bit in map(_BITS.__getitem__, set(text)):
        mask |= bit
    return mask


class _Bits(dict[str, int]):
    """Bits by character; letters and digits have bits of their own."""

    def __missing__(self, letter: str) -> int:
        bit = 1 << 36 + ord(letter) % 28
        if len(self) < 10_000:
            self[letter] = bit
        return bit


_BITS = _Bits({letter: 1 << at for at, letter in enumerate("abcdefghijklmnopqrstuvwxyz0123456789")})
_BITS.update({"\n": 0, FOLDER_MARK: 0})


def _slice(paths: list[str], folders: dict[str, int]) -> Generator[None, None, Slice]:
    """Lay out some paths. The masks of folders are kept in `folders`, since many paths share them."""
    text = "\n" + "".join([f"/{path}\n" for path in paths])
    lower = lowered(text)
    starts, masks = array("I"), array("Q")
    at = 0
    for count, path in enumerate(paths):
        if count % _LAID_OUT == 0:
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


# -- searching ----------------------------------------------------------------------------------------------

_Rank: TypeAlias = tuple[int, int, bool, int, str]
_Way: TypeAlias = Callable[[Slice], Iterator["re.Match[str]"]]


def search(listing: PathListing, query: str, limit: int) -> Generator[None, None, list[str]]:
    """Find the paths that match a query, best first; a folder's path ends with `/`.

    Yields after each bit of work, so that other tasks can run.

    Args:
        listing: The paths.
        query: The written text; an empty one matches everything.
        limit: Most paths in the result.
    """
    lower = lowered(query)
    ranks: dict[str, _Rank] = {}
    for way in _ways(lower):
        hits = 0
        for slice_ in listing.slices:
            for match in way(slice_):
                begin = slice_.lower.rfind("\n", 0, match.start() + 1) + 2
                line = slice_.text[begin : match.end()]
                if line not in ranks:
                    ranks[line] = _rank(line, slice_.lower[begin : match.end()], query, lower)
                hits += 1
                if hits % _PAUSE == 0:
                    yield
                if hits == CANDIDATE_LIMIT:
                    break
            yield
            if hits == CANDIDATE_LIMIT:
                break
        if len(ranks) >= limit:
            break
    best = sorted(ranks, key=ranks.__getitem__)[:limit]
    return [line.replace(FOLDER_MARK, "/") for line in best]


# -- ways to fit ---------------------------------------------------------------------------------------------


def _ways(lower: str) -> Iterator[_Way]:
    """Yield the kinds of matches, the best first. The next one is tried when those before give too little.

    All are linear: the gaps between characters are defined by what is not in them, and never given back.
    """
    literal = re.escape(lower)
    if lower:
        yield partial(_literal, f"/{lower}", re.compile(rf"/{literal}[^/\n]*+(?=\n)"))
        yield partial(_literal, lower, re.compile(rf"{literal}[^/\n]*+(?=\n)"))
    yield partial(_literal, lower, re.compile(rf"{literal}[^\n]*+" if lower else r"\n[^\n]++"))
    if len(lower) > 1:
        spread = "".join(rf"[^{letter}\n]*+{letter}" for letter in map(re.escape, lower))
        yield partial(_spread, mask_of(lower), re.compile(rf"\n{spread}[^\n]*+"))


def _literal(part: str, pattern: re.Pattern[str], slice_: Slice) -> Iterator[re.Match[str]]:
    """Find a pattern that begins with a literal. A plain string is found far more quickly."""
    return pattern.finditer(slice_.lower) if part in slice_.lower else iter(())


def _spread(wanted: int, pattern: re.Pattern[str], slice_: Slice) -> Iterator[re.Match[str]]:
    for start in [
        start for start, mask in zip(slice_.starts, slice_.masks, strict=True) if mask & wanted == wanted
    ]:
        if (match := pattern.match(slice_.lower, start)) is not None:
            yield match


# -- ranks ---------------------------------------------------------------------------------------------------


def _rank(line: str, small: str, query: str, lower: str) -> _Rank:
    """Return the rank of a match; lower is better."""
    path, small = line.removesuffix(FOLDER_MARK), small.removesuffix(FOLDER_MARK)
    order = (query not in path, len(path), path)
    if not lower:
        return (0, 0, *order)
    name = small.rfind("/") + 1
    if small.startswith(lower, name):
        exact = len(small) == name + len(lower) or small.rpartition(".")[0][name:] == lower
        return (0 if exact else 1, 0, *order)
    at = small.rfind(lower)
    if at >= name:
        places = (place for place in range(name, at + 1) if small.startswith(lower, place))
        return (2 if any(_begins_word(path, place) for place in places) else 3, 0, *order)
    if at >= 0:
        return (4, not _begins_word(path, at), *order)
    return (5, -_closeness(path, small, name, lower), *order)


def _begins_word(path: str, at: int) -> bool:
    if at == 0:
        return True
    before, here = path[at - 1], path[at]
    if not before.isalnum():
        return here.isalnum()
    return (here.isupper() and not before.isupper()) or here.isdigit() != before.isdigit()


def _closeness(path: str, small: str, name: int, lower: str) -> int:
    """Rate characters with gaps between them: in the name if they all are there, else anywhere."""
    return max(
        _walk(path, small, start, lower, by_words=by_words) + (len(lower) if start == name else 0)
        for start in {name, 0}
        for by_words in (True, False)
    )


def _walk(path: str, small: str, at: int, lower: str, *, by_words: bool) -> int:
    """Take each character where it comes next, or at the next word that begins with it, and count.

    The second way may run out of characters where the first does not, so both are tried.
    """
    points, last = 0, -2
    for letter in lower:
        here = small.find(letter, at)
        if by_words and here != last + 1:
            while here >= 0 and not _begins_word(path, here):
                here = small.find(letter, here + 1)
        if here < 0:
            return -1_000
        points += 3 if _begins_word(path, here) else 2 if here == last + 1 else 0
        last, at = here, here + 1
    return points


# -- taking turns -------------------------------------------------------------------------------------------

T = TypeVar("T")

_TURN = 0.002
"""Time for work before other tasks run, in seconds."""


async def in_turns(work: Generator[None, None, T]) -> T:
    """Do work that yields now and then, and return its result. Cancelling ends it at its next pause.

    In a thread it would hold the interpreter's lock for longer: nobody gets it for 5 ms once it is taken.
    """
    begin = time.perf_counter()
    while True:
        try:
            next(work)
        except StopIteration as done:
            return done.value
        if time.perf_counter() - begin > _TURN:
            await asyncio.sleep(0)
            begin = time.perf_counter()
