"""Markdown on a terminal: styles, and lines that break between words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from serai.cli.console.markdown import LineStream

_SGR = re.compile(r"\x1b\[[0-9;]*m")


def stream(width: int = 40, *, has_styles: bool = True) -> LineStream:
    return LineStream(lambda: width, lambda char: 2 if char in "漢字" else 1, has_styles=has_styles)


def rendered(text: str, width: int = 40) -> list[str]:
    one = stream(width)
    return [*one.feed(text), *one.end()]


def bare(rows: list[str]) -> list[str]:
    return [_SGR.sub("", row) for row in rows]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("# A *title*", ["\x1b[1mA \x1b[0m\x1b[1;3mtitle\x1b[0m"]),
        ("a **bold** `x*y*` _word_", ["a \x1b[1mbold\x1b[0m \x1b[36mx*y*\x1b[0m \x1b[3mword\x1b[0m"]),
        ("2 * 3 * 4, snake_case_name, rm *.py", ["2 * 3 * 4, snake_case_name, rm *.py"]),
        ("- one\n  * two\n3. three", ["• one", "  • two", "3. three"]),
        ("> said", ["\x1b[2m│ \x1b[0m\x1b[3msaid\x1b[0m"]),
        (
            "```py\n# no *title*\n```\n*x*",
            ["\x1b[2m```py\x1b[0m", "\x1b[36m# no *title*\x1b[0m", "\x1b[2m```\x1b[0m", "\x1b[3mx\x1b[0m"],
        ),
    ],
)
def test_marks_become_styles(text: str, rows: list[str]) -> None:
    assert rendered(text) == rows


def test_without_styles_all_is_as_it_is_written() -> None:
    assert stream(has_styles=False).feed("# **A**\n") == ["# **A**"]


def test_lines_break_between_words_and_items_hang() -> None:
    assert rendered("- one two three four", 10) == ["• one two", "  three", "  four"]
    assert rendered("a longerthanitsrow b", 10) == ["a", "longerthan", "itsrow b"]
    assert rendered("漢字 漢字 漢字", 9) == ["漢字 漢字", "漢字"]


@given(st.lists(st.text(alphabet="ab *_`#->\n", max_size=12), max_size=12), st.integers(4, 30))
def test_in_however_many_pieces_text_comes_it_looks_the_same(pieces: list[str], width: int) -> None:
    one = stream(width)
    rows = [row for piece in pieces for row in one.feed(piece)]
    assert [*rows, *one.end()] == rendered("".join(pieces), width)
    assert all(len(row) <= width for row in bare(rows))


def test_a_line_without_an_end_is_shown_as_far_as_it_has_come() -> None:
    one = stream(20)
    assert one.feed("some words of a line") == []
    assert one.rest() == ["some words of a line"]
    assert one.feed(" that **goes on**\n") == ["some words of a line", "that \x1b[1mgoes on\x1b[0m"]
    assert one.rest() == []
    assert len(one.feed("x" * 100_000)) > 4_000  # and none waits for ever


def test_a_block_of_code_goes_on_after_what_came_between_and_ends_with_the_answer() -> None:
    one = stream()
    one.feed("```\na")
    assert one.end() == ["\x1b[36ma\x1b[0m"]
    assert one.feed("b\n") == ["\x1b[36mb\x1b[0m"]
    one.end(is_all=True)
    assert one.feed("c\n") == ["c"]
