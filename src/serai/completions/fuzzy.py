"""Which paths fit a few characters, best first, in a hundred thousand of them.

Regular expressions run over long strings in C. They need to look no further than the first few hundred paths
that fit, since longer ones come later. These are then ranked:

1. the name is what was asked for, with its ending or without
2. the name begins with it
3. it begins a word in the name: after a sign, or a capital after a small letter
4. it is anywhere in the name
5. it is anywhere in the path
6. its characters are in the path in that order; those at the beginning of words and in the name count more

Among equals, what is written in the same case comes first, then the shorter, then the alphabet decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import TypeAlias

from serai.completions.listing import FOLDER_MARK, Listing, Slice, lowered, mask_of

__all__ = ["CANDIDATE_LIMIT", "Found", "search"]

CANDIDATE_LIMIT = 300
"""So many paths are ranked at most for each way to fit."""

_PAUSE = 64
"""After so many paths that were ranked, others get their turn."""

_FEW = 200
"""Up to so many hits in a slice, looking at each in Python is quicker."""

_Rank: TypeAlias = tuple[int, int, bool, int, str]
_Way: TypeAlias = Callable[[Slice], Iterator["re.Match[str]"]]


@dataclass(frozen=True, slots=True)
class Found:
    """A path that fits."""

    path: str
    is_folder: bool


def search(listing: Listing, query: str, limit: int) -> Generator[None, None, list[Found]]:
    """Find what fits a query, best first. Yields after each bit of work, so that others get their turn.

    Args:
        listing: Where to look.
        query: What was written; an empty one fits everything.
        limit: How many are wanted at most.
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
    return [Found(line.removesuffix(FOLDER_MARK), line.endswith(FOLDER_MARK)) for line in best]


# -- ways to fit ---------------------------------------------------------------------------------------------


def _ways(lower: str) -> Iterator[_Way]:
    """Ways to fit, the best first. A next one is only tried when the ones before give too little.

    All are linear: what may stand between is told by what it is not, and is never given back.
    """
    if not lower:
        yield lambda slice_: re.finditer(r"\n[^\n]++", slice_.lower)
        return

    @cache
    def count(slice_: Slice) -> int:
        return slice_.lower.count(lower)

    literal = re.escape(lower)
    yield partial(_literal, count, f"/{lower}", re.compile(rf"/{literal}[^/\n]*+(?=\n)"))
    yield partial(_literal, count, lower, re.compile(rf"{literal}[^/\n]*+(?=\n)"))
    yield partial(_literal, count, lower, re.compile(rf"{literal}[^\n]*+"))
    if len(lower) > 1:
        spread = "".join(rf"[^{letter}\n]*+{letter}" for letter in map(re.escape, lower))
        yield partial(_spread, mask_of(lower), re.compile(rf"\n{spread}[^\n]*+"))


def _literal(
    count: Callable[[Slice], int], literal: str, pattern: re.Pattern[str], slice_: Slice
) -> Iterator[re.Match[str]]:
    """Where a pattern that begins with a literal fits. A plain string is found quicker, if it is rare."""
    if count(slice_) > _FEW:
        yield from pattern.finditer(slice_.lower)
    elif count(slice_):
        at = slice_.lower.find(literal)
        while at >= 0:
            match = pattern.match(slice_.lower, at)
            if match is not None:
                yield match
            at = slice_.lower.find(literal, at + 1 if match is None else match.end())


def _spread(wanted: int, pattern: re.Pattern[str], slice_: Slice) -> Iterator[re.Match[str]]:
    for start in [
        start for start, mask in zip(slice_.starts, slice_.masks, strict=True) if mask & wanted == wanted
    ]:
        if (match := pattern.match(slice_.lower, start)) is not None:
            yield match


# -- ranks ---------------------------------------------------------------------------------------------------


def _rank(line: str, small: str, query: str, lower: str) -> _Rank:
    """The lower, the better."""
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
    """How well characters that stand apart fit: in the name if they all do, else anywhere."""
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
