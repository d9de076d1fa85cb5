"""What tools show, as plain lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serai.ahp.types import (
    ContentRef,
    FileEditDiff,
    FileEditSide,
    ToolResultContent,
    ToolResultEmbeddedResourceContent,
    ToolResultFileEditContent,
    ToolResultResourceContent,
    ToolResultSubagentContent,
    ToolResultTerminalContent,
    ToolResultTextContent,
)
from serai.cli.chat.view import LAST, LIVE, OutputLines, about, last_lines, plain_line, text_of


def side(uri: str) -> FileEditSide:
    return FileEditSide(uri=uri, content=ContentRef(uri="x:/"))


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("\x1b[1;31mred\x1b[0m and plain\r", "red and plain"),
        ("\x1b]0;a title\x07text\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "textlink"),
        ("10 %\r50 %\r100 %\r", "100 %"),
        ("a\tb\x08\x00\x9b2Jc", "a\tbc"),
        ("\x1b(Bcut short \x1b[", "cut short "),
        ("x" * 1000, "x" * 399 + "…"),
    ],
)
def test_a_line_is_what_a_terminal_shows_in_the_end(line: str, plain: str) -> None:
    assert plain_line(line) == plain


@given(st.text(alphabet=st.sampled_from("ab\x1b[]0;m\x07\\\r\t\x9b"), max_size=30))
def test_nothing_that_moves_a_cursor_is_left(line: str) -> None:
    assert not set(plain_line(line)) & {"\x1b", "\r", "\x07", "\x9b"}


def test_the_first_lines_come_at_once_and_the_last_ones_at_the_end() -> None:
    shown: list[str] = []
    lines = OutputLines(shown.append)
    total = LIVE + LAST + 7
    for number in range(total):
        lines.add(f"line {number}")
        lines.add("\r\n")
        if number < LIVE:
            assert shown[-1] == f"line {number}"
    assert len(shown) == LIVE + 1
    assert shown[-1].startswith("… (it goes on")
    lines.end()
    assert shown[LIVE + 1] == "… (7 lines left out)"
    assert shown[LIVE + 2 :] == [f"line {number}" for number in range(total - LAST, total)]
    lines.end()
    assert len(shown) == LIVE + 2 + LAST


def test_a_line_that_does_not_end_is_shown_at_the_end() -> None:
    shown: list[str] = []
    lines = OutputLines(shown.append)
    lines.add("one\ntw")
    assert shown == ["one"]
    lines.add("o")
    lines.end()
    assert shown == ["one", "two"]


def test_of_a_finished_text_the_end_is_shown() -> None:
    assert last_lines("a\nb\n") == ["a", "b"]
    assert last_lines("") == []
    shown = last_lines("\n".join(map(str, range(LAST + 1))))
    assert shown == ["… (1 line left out)", *map(str, range(1, LAST + 1))]
    assert len(last_lines("x" * 10_000_000)[0]) == 400


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (
            ToolResultFileEditContent(
                before=side("file:///a/b%20c"), after=side("file:///a/b%20c"), diff=FileEditDiff(added=2)
            ),
            "changed /a/b c (+2 -0)",
        ),
        (ToolResultFileEditContent(after=side("file:///new")), "made /new"),
        (ToolResultFileEditContent(before=side("x:/old")), "deleted x:/old"),
        (ToolResultFileEditContent(before=side("x:/a"), after=side("x:/b")), "moved x:/a to x:/b"),
        (
            ToolResultSubagentContent(resource="ahp-session:/12", title="Look it up", agent_name="demo"),
            "demo works on it: Look it up (serai chat 12)",
        ),
        (ToolResultEmbeddedResourceContent(data="A" * 4000, content_type="image/png"), "[image/png, 3.0 kB]"),
        (ToolResultResourceContent(uri="x:/y", size_hint=5, content_type="a/b"), "[a/b, 5 bytes: x:/y]"),
        (ToolResultTextContent(text="t"), None),
        (ToolResultTerminalContent(resource="ahp-terminal:/1", title="t"), None),
    ],
)
def test_what_is_no_text_has_one_line(content: ToolResultContent, line: str | None) -> None:
    assert about(content) == line


def test_texts_stand_below_each_other() -> None:
    two: list[ToolResultContent] = [ToolResultTextContent(text="a\n"), ToolResultTextContent(text="b")]
    assert text_of(two) == "a\nb"
    assert text_of(None) == ""
