"""Patterns of paths."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serai.errors import InvalidParams
from serai.machine.watch.globs import LENGTH_LIMIT, PathFilter


def fits(pattern: str, path: str) -> bool:
    return PathFilter([pattern]).passes(path)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.py", ["a.py", ".hidden.py"], ["src/a.py", "a.pyc"]),
        ("**/*.py", ["a.py", "a/b/c.py"], ["a.py/b"]),
        ("src/**", ["src", "src/a/b"], ["source", "a/src"]),
        ("**/node_modules/**", ["node_modules", "a/node_modules", "node_modules/x/y"], ["node_modules2"]),
        ("a?b", ["axb", "aéb"], ["a/b", "ab"]),
        ("[!a-c]x", ["dx"], ["ax", "/x"]),
        ("{a,{b,c}d}/*.ts", ["a/x.ts", "cd/x.ts"], ["d/x.ts"]),
        ("./a/", ["a"], ["b/a"]),
        ("", [], ["a", ""]),
    ],
)
def test_a_pattern_fits_as_editors_have_it(pattern: str, yes: list[str], no: list[str]) -> None:
    assert [path for path in yes if not fits(pattern, path)] == []
    assert [path for path in no if fits(pattern, path)] == []


def test_an_excluded_folder_takes_all_that_is_in_it() -> None:
    filter_ = PathFilter(["**/*.py"], ["build", "**/.git/objects/**", "**/*.tmp"])
    assert filter_.passes("src/a.py")
    assert not filter_.passes("build/deep/a.py")
    assert filter_.passes("src/build/a.py")
    assert not filter_.passes("sub/.git/objects/a.py")
    assert filter_.prunes("build")
    assert filter_.prunes("build/deep")
    assert filter_.prunes("x/.git/objects")
    assert not filter_.prunes("x/.git")


# -- against a reference that only wants to be right ---------------------------------------------------------


def naive_expand(pattern: str) -> list[str]:
    for begin, character in enumerate(pattern):
        if character != "{":
            continue
        depth, cuts = 0, [begin]
        for at in range(begin, len(pattern)):
            depth += {"{": 1, "}": -1}.get(pattern[at], 0)
            if pattern[at] == "," and depth == 1:
                cuts.append(at)
            if depth == 0:
                cuts.append(at)
                choices = [pattern[a + 1 : b] for a, b in pairwise(cuts)]
                return [
                    pattern[:begin] + choice + rest
                    for text in choices
                    for choice in naive_expand(text)
                    for rest in naive_expand(pattern[at + 1 :])
                ]
    return [pattern]


def naive_name(pattern: str, name: str) -> bool:
    if not pattern:
        return not name
    if pattern[0] == "*":
        return any(naive_name(pattern[1:], name[at:]) for at in range(len(name) + 1))
    if pattern[0] == "[":
        first = 2 if pattern[1:2] in ("!", "^") else 1
        end = pattern.find("]", first + 1)
        if end > 0:
            if not name:
                return False
            text, inside, at = pattern[first:end], False, 0
            while at < len(text):
                if text[at + 1 : at + 2] == "-" and at + 2 < len(text):
                    inside |= text[at] <= name[0] <= text[at + 2]
                    at += 3
                else:
                    inside |= text[at] == name[0]
                    at += 1
            return inside != (first == 2) and naive_name(pattern[end + 1 :], name[1:])
    return bool(name) and pattern[0] in ("?", name[0]) and naive_name(pattern[1:], name[1:])


def naive_path(pattern: list[str], path: list[str]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(naive_path(pattern[1:], path[at:]) for at in range(len(path) + 1))
    return bool(path) and naive_name(pattern[0], path[0]) and naive_path(pattern[1:], path[1:])


def naive(pattern: str, path: str) -> bool:
    for single in naive_expand(pattern):
        names = [name for name in single.split("/") if name not in ("", ".")]
        if names and naive_path(names, path.split("/")):
            return True
    return False


PATHS = st.lists(st.text("ab.-]", min_size=1, max_size=4), min_size=1, max_size=4).map("/".join)
PATTERNS = st.lists(
    st.one_of(
        st.sampled_from(["**", "/", "/**/", "*", "?", "[ab]", "[!a]", "[a-b]", "{a,b}", "{a/,}", "{*,b/**}"]),
        st.text("ab.-]![^{,}/*?", max_size=3),
    ),
    max_size=7,
).map("".join)


@given(PATTERNS, PATHS)
def test_a_pattern_fits_whatever_the_reference_fits(pattern: str, path: str) -> None:
    assert fits(pattern, path) == naive(pattern, path)


@given(PATTERNS, PATHS)
def test_a_path_is_excluded_when_it_or_a_folder_above_fits(pattern: str, path: str) -> None:
    names = path.split("/")
    above = any(naive(pattern, "/".join(names[: count + 1])) for count in range(len(names)))
    assert PathFilter(excludes=[pattern]).passes(path) != above


# -- patterns of clients -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 300 + "b", "a" * 4_000),
        ("**/a/" * 150 + "b", "a/" * 2_000 + "c"),
        ("**/*a*a*a*a*a*a*/" * 30 + "b", "aaaaaaaaaaaaaaaa/" * 200 + "c"),
        ("{a,b}" * 9 + "{}" * 20, "x"),
        ("[" * LENGTH_LIMIT, "x"),
    ],
)
def test_no_pattern_keeps_the_host_busy(pattern: str, path: str) -> None:
    """One that looked further than the nearest place would not come back."""
    assert not PathFilter([pattern]).passes(path)
    assert not PathFilter([], [pattern]).prunes(path)


@pytest.mark.parametrize(
    "patterns",
    [
        ["{a,b}" * 10],
        ["a" * (LENGTH_LIMIT + 1)],
        [f"{number}" for number in range(1_001)],
        ["{" * 100],
        ["{" + ",".join(f"{number}" for number in range(90)) + "}" + "a" * 730],
    ],
    ids=["variants", "long", "many", "braces", "much"],
)
def test_too_many_patterns_are_refused(patterns: list[str]) -> None:
    with pytest.raises(InvalidParams) as caught:
        PathFilter(patterns)
    assert caught.value.field == "params.includes"
    with pytest.raises(InvalidParams) as caught:
        PathFilter([], patterns)
    assert caught.value.field == "params.excludes"
