"""How many lines an edit adds and removes."""

from __future__ import annotations

import pytest

from serai.changes.counting import count_lines, is_binary


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


def test_large_files_are_counted_quickly() -> None:
    before = b"".join(b"%d\n" % number for number in range(200_000))
    after = b"".join(b"%d\n" % number for number in range(100_000, 300_000))
    assert count_lines(before, after) == (100_000, 100_000)


def test_text_is_told_from_what_is_none() -> None:
    assert is_binary(b"a\0b")
    assert not is_binary("übung\n".encode())
    assert not is_binary(b"x" * 9000 + b"\0")
