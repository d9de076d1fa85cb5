"""How a terminal's output becomes actions."""

from __future__ import annotations

from typing import TypeAlias

import pytest
from hypothesis import given, strategies as st

from serai.ahp import actions as a
from serai.machine.terminals import marks
from serai.machine.terminals.marks import TerminalParser

NONCE = "n0nce"
Told: TypeAlias = list[str | tuple[str, object]]


def mark(rest: str, end: str = "\x07", nonce: str = NONCE) -> str:
    return f"\x1b]633;{nonce};{rest}{end}"


def told(actions: list[a.TerminalAction]) -> Told:
    """Text as it is, and of the others what they are about."""
    found: Told = []
    for action in actions:
        match action:
            case a.TerminalDataAction():
                found.append(action.data)
            case a.TerminalCommandDetectionAvailableAction():
                found.append(("detects", None))
            case a.TerminalCommandExecutedAction():
                found.append(("runs", action.command_line))
            case a.TerminalCommandFinishedAction():
                assert action.duration_ms is not None
                found.append(("ran", action.exit_code))
            case a.TerminalTitleChangedAction():
                found.append(("title", action.title))
            case a.TerminalCwdChangedAction():
                found.append(("cwd", action.cwd))
            case a.TerminalExitedAction():
                found.append(("exited", action.exit_code))
            case _:
                raise AssertionError(action)
    return found


def read(*pieces: str, nonce: str | None = NONCE) -> Told:
    """What the pieces tell, up to the program's end."""
    output = TerminalParser(nonce)
    for piece in pieces:
        output.feed(piece)
    output.exited(0)
    actions = told(output.take())
    assert actions.pop() == ("exited", 0)
    return actions


def test_a_round_of_a_shell_is_told_and_its_marks_are_taken_out() -> None:
    before = mark("D;0") + mark(r"P;Cwd=/home/a\x3bb") + mark("A") + "$ " + mark("B")
    assert read(before + "ls\r\n" + mark("C;1;ls") + "a\r\n" + mark("D;2") + mark("D;2") + mark("A")) == [
        ("detects", None),
        "$ ls\r\n",
        ("runs", "ls"),
        "a\r\n",
        ("ran", 2),
        ("cwd", "file:///home/a%3Bb"),
    ]


def test_of_titles_and_directories_the_last_is_told_and_only_when_it_is_new() -> None:
    output = TerminalParser(NONCE)
    titles = "".join(f"\x1b]0;{number}\x07" for number in range(10_000))
    output.feed(titles + mark("P;Cwd=/a") + mark("P;Cwd=/b c"))
    assert told(output.take()) == [titles, ("title", "9999"), ("cwd", "file:///b%20c")]
    again = "\x1b]0;x\x07\x1b]2;9999\x1b\\"
    output.feed(again + mark("P;Cwd=/b c") + mark("P;Cwd=relative"))
    assert told(output.take()) == [again]


def test_a_command_whose_end_was_not_told_ends_with_the_next_or_with_the_program() -> None:
    output = TerminalParser(NONCE)
    output.feed(mark("C;1;a") + mark("C;1;b"))
    first, _, second, *_ = output.take()
    assert isinstance(first, a.TerminalCommandExecutedAction)
    assert isinstance(second, a.TerminalCommandExecutedAction)
    assert first.command_id != second.command_id
    output.exited(3)
    assert told(output.take()) == [("ran", 3), ("exited", 3)]


def test_what_could_divide_a_mark_is_read_back() -> None:
    assert read(mark(r"C;1;a\x3bb\x0ac\\x0ad\x07"))[0] == ("runs", "a;b\nc\\x0ad\x07")


@pytest.mark.parametrize(
    "forged",
    [
        mark("C;1;rm", nonce="guess"),
        "\x1b]633;E;rm;guess\x07",
        "\x1b]133;C\x07",
        mark("C;1"),
        mark("A", end="\x18"),
        mark("A", end="\x1a"),
    ],
)
def test_marks_of_others_are_taken_out_and_mean_nothing(forged: str) -> None:
    assert read(f"a{forged}b") == ["ab"]


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[31mred\x1b[0m",
        "\x1b]8;;https://example.org\x07link\x1b]8;;\x07",
        "\x1b]1337;File=:AAAA\x07",
        "\x1b(B\x1b=\x1b",
        "\x1b]63",
        "\x1b]633",
        "\u009c\u0085",
        "\x1b]4;1;\x1b\\" * 10_000,
    ],
)
def test_all_other_escapes_stay_as_they_are(text: str) -> None:
    assert read(text) == [text]
    assert read(*text) == [text]


def test_a_title_is_short_and_has_no_control_characters() -> None:
    assert read("\x1b]0;a\r\nb\x07")[-1] == ("title", "ab")
    assert read(f"\x1b]0;{'x' * 1000}\x07")[-1] == ("title", "x" * marks.TITLE_SHOWN)


@pytest.mark.parametrize("number", ["0", "633", "133", "52", ""])
def test_a_string_without_an_end_is_held_only_up_to_a_bound(number: str) -> None:
    output = TerminalParser(NONCE)
    output.feed(f"\x1b]{number};")
    for _ in range(1000):
        output.feed("x" * 1000)
        assert len(output._held) <= marks.HELD_BOUND
    output.feed("\x07after")
    assert str(told(output.take())[0]).endswith("xxx\x07after")


@pytest.mark.parametrize(
    ("typed", "said", "line"),
    [
        ("make\r\n\x1b[?2004l\r", "make", "make"),
        ("make\r\n", "make -j", "make"),
        (" secret\r\n\x1b[?2004l\r", "make", "secret"),
        ("a lon \rg line\r\n", "a long line", "a long line"),
        ("ls\r\n", "", "ls"),
    ],
)
def test_a_line_that_the_history_did_not_take_is_what_was_typed(typed: str, said: str, line: str) -> None:
    assert ("runs", line) in read(f"$ {mark('B')}{typed}{mark(f'C;0;{said}')}")


CONTROLS = ["\x1b", "]", "\\", "\x07", "\x18", "\x1b]", "\x1b\\", "[31m", ";", "\r\n"]
NUMBERS = ["633;", "133;", "0;", "2;", "63", "52;", f"{NONCE};"]
WORDS = ["A", "B", "C;1;ls", "C;0;ls", "D;0", "D;", "P;Cwd=/", "x", "é", "🦊", "ls", "y" * 2000]
WHOLE = [mark("A"), mark("B"), mark("C;0;make"), mark("D;1", "\x1b\\")]
PIECES = st.sampled_from(CONTROLS + NUMBERS + WORDS + WHOLE)


@given(st.lists(PIECES, max_size=14).map("".join), st.data())
def test_any_split_of_any_stream_tells_the_same(stream: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert read(*pieces) == read(stream)
    if len(stream) < 200:
        assert read(*stream) == read(stream)
