"""Patterns of paths."""

from __future__ import annotations

import pytest

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
        ["{" + ",".join(f"{number}" for number in range(90)) + "}" + "a" * 730],
    ],
    ids=["variants", "long", "many", "much"],
)
def test_too_many_patterns_are_refused(patterns: list[str]) -> None:
    with pytest.raises(InvalidParams) as caught:
        PathFilter(patterns)
    assert caught.value.field == "params.includes"
    with pytest.raises(InvalidParams) as caught:
        PathFilter([], patterns)
    assert caught.value.field == "params.excludes"
