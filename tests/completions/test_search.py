"""Which paths fit, and in which order."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

from hypothesis import given, strategies as st

from serai.completions.search import CANDIDATE_LIMIT, PathListing, PathListingBuilder, search

T = TypeVar("T")


def drive(work: Generator[None, None, T]) -> T:
    while True:
        try:
            next(work)
        except StopIteration as done:
            return done.value


def listing(*paths: str) -> PathListing:
    builder = PathListingBuilder()
    builder.add(paths)
    return drive(builder.build())


def found(query: str, *paths: str, limit: int = 50) -> list[str]:
    return drive(search(listing(*paths), query, limit))


def test_better_fits_come_first() -> None:
    best_first = [
        "deep/down/here/store.py",  # the name itself
        "src/storeroom.py",  # begins the name
        "src/a_store.py",  # begins a word of the name
        "src/myStore_x.py",  # the same
        "src/restored.py",  # in the name
        "restored/x.py",  # in the path
        "s/t/o_r_e.py",  # its characters in that order
    ]
    told = [path for path in found("store", *reversed(best_first)) if not path.endswith("/")]
    assert told == best_first


def test_among_equals_the_same_case_comes_first_then_the_shorter() -> None:
    assert found("Read", "readable.py", "Reader.py", "ReadMe.md")[:3] == [
        "ReadMe.md",
        "Reader.py",
        "readable.py",
    ]
    assert found("a", "x/ab", "ab", "abc")[:3] == ["ab", "abc", "x/ab"]


def test_names_that_nobody_can_write_are_left_out() -> None:
    assert found("a", "a\nb", "a\x00", "a\udcff", "a\u3000b") == ["a\u3000b"]


def test_letters_that_have_no_single_small_letter_do_not_shift_anything() -> None:
    assert found("z", "İİİ/z.py", "İ.py", "ǅ/Z.md")[:2] == ["İİİ/z.py", "ǅ/Z.md"]
    assert found("İ", "İ.py") == ["İ.py"]


def test_the_signs_of_regular_expressions_are_signs() -> None:
    for sign in r"[]()^$.*+?\|{}-&~#":
        assert found(sign, f"a{sign}b") == [f"a{sign}b"]
        assert found(f"a{sign}c", f"a/{sign}/bc") == [f"a/{sign}/bc"]
        assert found(sign, "ab") == []


def test_what_is_ranked_is_bounded_and_the_short_ones_are_in_it() -> None:
    paths = [f"{'d' * (number % 7 + 1)}/file{number:05}" for number in range(20 * CANDIDATE_LIMIT)]
    told = found("file", *paths)
    assert len(told) == 50
    assert all(path.startswith("d/") for path in told)


PATHS = st.lists(st.text("abAB_/.é", min_size=1, max_size=8).map(lambda text: text.strip("/")), max_size=12)


@given(PATHS, st.text("abAB_/é", max_size=4))
def test_everything_that_has_the_characters_in_their_order_is_found(paths: list[str], query: str) -> None:
    names = {path for path in paths if path and "//" not in path}

    def fits(path: str) -> bool:
        letters = iter(f"/{path.lower()}")
        return all(letter in letters for letter in query.lower())

    told = found(query, *names, limit=10_000)
    assert len(told) == len(set(told))
    assert {path for path in told if not path.endswith("/")} <= names
    assert {name for name in names if fits(name)} <= {path.rstrip("/") for path in told}
    assert all(fits(path.rstrip("/")) for path in told)
