"""Reading what git prints."""

from __future__ import annotations

from serai.changes.diff import parse
from serai.changes.records import Change, Side

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
    assert parse(output, "") == (
        Change(None, Side("a", NEW, 0o120000), 1, 0),
        Change(Side("b", OLD), Side("b", NEW, 0o100755), 1, 1),
        Change(Side("z", OLD), None, 0, 2),
    )


def test_a_rename_has_two_names_in_both_parts() -> None:
    output = raw(f":100644 100644 {OLD} {NEW} R090", "p/old", "p/new", "3\t1\t", "p/old", "p/new")
    assert parse(output, "p/") == (Change(Side("old", OLD), Side("new", NEW), 3, 1),)


def test_names_may_look_like_records() -> None:
    name = f":100644 100644 {OLD} {NEW} M"
    output = raw(f":100644 100644 {OLD} {NEW} M", name, f"-\t-\t{name}")
    assert parse(output, "") == (Change(Side(name, OLD), Side(name, NEW), binary=True),)


def test_submodules_are_nobodys_change() -> None:
    output = raw(
        f":160000 160000 {OLD} {NEW} M", "lib",
        f":000000 160000 {NONE} {NEW} A", "new",
        f":100644 160000 {OLD} {NEW} T", "was a file",
        "1\t1\tlib", "1\t0\tnew", "1\t1\twas a file",
    )  # fmt: skip
    assert parse(output, "") == (Change(Side("was a file", OLD), None, 0, 1),)


def test_nothing_is_nothing() -> None:
    assert parse(b"", "") == ()
