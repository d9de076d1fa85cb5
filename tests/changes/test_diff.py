"""Reading what git prints, and counting lines without it."""

from __future__ import annotations

import pytest

from serai.changes.diff import Change, Side, count_lines, parse, unified

OLD, NEW, NONE = "1" * 40, "2" * 40, "0" * 40


def raw(*records: str) -> bytes:
    return "".join(f"{record}\0" for record in records).encode()


def test_records_and_counts_are_joined_and_sorted() -> None:
    output = raw(
        f":100644 000000 {OLD} {NONE} D", "z",
        f":100644 100755 {OLD} {NEW} M", "b",
        f":000000 120000 {NONE} {NEW} A", "a",
        "0\t2\tz", "1\t1\tb", "1\t0\ta",
    )  # fmt: skip
    assert parse(output) == (
        Change(None, Side("a", NEW, 0o120000), 1, 0),
        Change(Side("b", OLD), Side("b", NEW, 0o100755), 1, 1),
        Change(Side("z", OLD), None, 0, 2),
    )


def test_a_rename_has_two_names_in_both_parts() -> None:
    output = raw(f":100644 100644 {OLD} {NEW} R090", "p/old", "p/new", "3\t1\t", "p/old", "p/new")
    assert parse(output) == (Change(Side("p/old", OLD), Side("p/new", NEW), 3, 1),)


def test_submodules_are_nobodys_change() -> None:
    output = raw(
        f":160000 160000 {OLD} {NEW} M", "lib",
        f":000000 160000 {NONE} {NEW} A", "new",
        f":100644 160000 {OLD} {NEW} T", "was a file",
        "1\t1\tlib", "1\t0\tnew", "1\t1\twas a file",
    )  # fmt: skip
    assert parse(output) == ()


@pytest.mark.parametrize(
    ("before", "after", "counts"),
    [
        (b"", b"", (0, 0)),
        (b"", b"a\nb\n", (2, 0)),
        (b"a\nb\n", b"", (0, 2)),
        (b"a\nb\nc\n", b"a\nx\nc\n", (1, 1)),
        (b"a\nb\n", b"a\nnew\nb\n", (1, 0)),
        (b"a\na\n", b"a\n", (0, 1)),
        (b"a\n", b"a", (1, 1)),
        (b"a\rb\n", b"a\rb\n", (0, 0)),
        (b"1\n2\n3\n4\n", b"2\n1\n4\n3\n", (2, 2)),
    ],
)
def test_lines_are_counted_as_git_counts_them(before: bytes, after: bytes, counts: tuple[int, int]) -> None:
    assert count_lines(before, after) == counts


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (b"", b"one\n", "@@ -0,0 +1 @@\n+one"),
        (b"one\ntwo\n", b"one\nthree", "@@ -1,2 +1,2 @@\n one\n-two\n+three"),
        (b"one\n", b"", "@@ -1 +0,0 @@\n-one"),
        (b"same", b"same\n", ""),
        (b"\xff", b"text", None),
        (b"", b"x" * 70_000, None),
    ],
)
def test_a_difference_is_shown_where_it_is_text_and_short(
    before: bytes, after: bytes, shown: str | None
) -> None:
    assert unified(before, after) == shown
