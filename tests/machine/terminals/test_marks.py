"""What a terminal's output says beside its text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serai.machine.terminals import marks
from serai.machine.terminals.marks import (
    CommandFinished,
    Cwd,
    Data,
    Event,
    MarkedCommand,
    Marks,
    PromptEnd,
    PromptStart,
    Title,
)

NONCE = "n0nce"


def mark(rest: str, end: str = "\x07", nonce: str = NONCE) -> str:
    return f"\x1b]633;{nonce};{rest}{end}"


def joined(events: list[Event]) -> list[Event]:
    """Adjacent text in one piece."""
    result: list[Event] = []
    for event in events:
        match result[-1:], event:
            case [Data(before)], Data(after):
                result[-1] = Data(before + after)
            case _:
                result.append(event)
    return result


def read(*pieces: str, nonce: str | None = NONCE) -> list[Event]:
    parser = Marks(nonce)
    return joined([event for piece in pieces for event in parser.feed(piece)] + parser.close())


def shown(*pieces: str) -> str:
    return "".join(event.text for event in read(*pieces) if isinstance(event, Data))


def test_a_round_of_a_shell_is_told_and_its_marks_are_taken_out() -> None:
    stream = (
        mark("D;0") + mark("P;Cwd=/home/a\\x3bb") + mark("A") + "$ " + mark("B") + "ls\r\n" + mark("C;1;ls")
    ) + ("a\r\n" + mark("D;2"))
    assert read(stream) == [
        CommandFinished(0),
        Cwd("/home/a;b"),
        PromptStart(),
        Data("$ "),
        PromptEnd(),
        Data("ls\r\n"),
        MarkedCommand("ls"),
        Data("a\r\n"),
        CommandFinished(2),
    ]


@pytest.mark.parametrize("end", ["\x07", "\x1b\\", "\x9c"])
@pytest.mark.parametrize("opening", ["\x1b]", "\x9d"])
def test_a_mark_is_one_however_it_is_written(opening: str, end: str) -> None:
    assert read(f"a{opening}633;{NONCE};A{end}b") == [Data("a"), PromptStart(), Data("b")]


def test_what_could_divide_a_mark_is_read_back() -> None:
    assert read(mark(r"C;1;a\x3bb\x0ac\\x0ad\x07")) == [MarkedCommand("a;b\nc\\x0ad\x07")]


@pytest.mark.parametrize(
    "forged",
    [
        mark("C;1;rm", nonce="guess"),
        mark("C;1;rm", nonce=""),
        "\x1b]633;C;rm\x07",
        "\x1b]633;E;rm;guess\x07",
        "\x1b]633;\x07",
        "\x1b]133;C\x07",
        "\x9d633;x;A\x9c",
        mark("Q"),
        mark("C;1"),
        mark("A", end="\x18"),
        mark("A", end="\x1a"),
    ],
)
def test_marks_of_others_are_taken_out_and_mean_nothing(forged: str) -> None:
    assert read(f"a{forged}b") == [Data("ab")]


def test_without_a_nonce_there_are_no_marks() -> None:
    assert read("a" + mark("A") + mark("A", nonce="None") + "b", nonce=None) == [Data("ab")]


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[31mred\x1b[0m",
        "\x1b]8;;https://example.org\x07link\x1b]8;;\x07",
        "\x1b]1337;File=:AAAA\x07",
        "\x1b]52;c;AAAA\x1b\\",
        "\x1b]6330;x\x07",
        "\x1bP1$r0m\x1b\\",
        "\x1b(B\x1b=\x1b",
        "\x1b]63",
        "\x1b]633",
        "\x1b]99;\x9d633;x;A\x07",
        "\u009c\u0085",
    ],
)
def test_all_other_escapes_stay_as_they_are(text: str) -> None:
    assert read(text) == [Data(text)]
    assert read(*text) == [Data(text)]


def test_titles_are_told_and_stay() -> None:
    assert read("\x1b]0;one\x07\x1b]2;two;2\x1b\\\x1b]1;icon\x07") == [
        Data("\x1b]0;one\x07"),
        Title("one"),
        Data("\x1b]2;two;2\x1b\\"),
        Title("two;2"),
        Data("\x1b]1;icon\x07"),
    ]
    assert Title("ab") in read("\x1b]0;a\r\nb\x07")


@pytest.mark.parametrize(
    "string", ["\x1b]", "\x1b]8;;\x07", "\x1b]4;1;\x1b\\", "\x1b]6330;x\x07", "\x1b]63\x18"]
)
def test_strings_that_are_none_of_ours_are_text_however_many_they_are(string: str) -> None:
    flood = string * 10_000 + "end"
    assert Marks(NONCE).feed(flood) == [Data(flood)]


@pytest.mark.parametrize("string", ["\x1b]0;t\x07", "\x1b]0;", "\x1b]633;x\x07", "\x9d8;\x07", "\x9d0;t\x07"])
def test_so_many_strings_are_looked_at_in_one_go_and_the_rest_afterwards(string: str) -> None:
    flood = string * 10_000 + "\x1b]2;last\x07end"
    parser = Marks(NONCE)
    told = [parser.feed(flood)]
    while parser.behind:
        told.append(parser.feed(""))
    assert len(told) > 10
    assert max(map(len, told)) <= 2 * marks.STEPS
    events = joined([event for each in told for event in each])
    assert events[-2:] == [Title("last"), Data("end")]
    assert events == read(flood)


def test_huge_titles_pass_and_are_not_told() -> None:
    huge = f"\x1b]0;{'x' * 1_000_000}\x07"
    assert read(huge) == [Data(huge)]
    assert read(*(huge[start : start + 999] for start in range(0, len(huge), 999))) == [Data(huge)]
    (_, title) = read(f"\x1b]0;{'x' * 1000}\x07")
    assert title == Title("x" * marks.TITLE_SHOWN)


def test_a_string_without_an_end_is_held_only_up_to_a_bound() -> None:
    for number in ("0", "633", "133", "52", ""):
        parser = Marks(NONCE)
        for _ in range(1000):
            parser.feed(f"\x1b]{number};" if _ == 0 else "x" * 1000)
            assert len(parser._held) <= marks.MARK_BOUND
        assert (
            joined(parser.feed("\x07after" + mark("A")))[-2:] == [Data("after"), PromptStart()]
            or number != "633"
        )
        assert parser.feed("text") == [Data("text")]


def test_the_next_escape_ends_a_string_that_has_no_end() -> None:
    assert read("\x1b]633;x" + mark("A") + "text") == [PromptStart(), Data("text")]
    assert shown("\x1b]633;" + "x" * 100_000 + "\x1b[32mgreen") == "\x1b[32mgreen"


@pytest.mark.parametrize(
    ("typed", "told", "line"),
    [
        ("make\r\n\x1b[?2004l\r", "make", "make"),
        ("make\r\n", "make -j", "make"),
        (" secret\r\n\x1b[?2004l\r", "make", "secret"),
        ("a lon \rg line\r\n", "a long line", "a long line"),
        ("\x1b[32m ls\x1b[0m\r\n", "ls", "ls"),
        ("", "make", "make"),
        ("ls\r\n", "", "ls"),
    ],
)
def test_a_line_that_the_history_did_not_take_is_what_was_typed(typed: str, told: str, line: str) -> None:
    events = read(f"$ {mark('B')}{typed}{mark(f'C;0;{told}')}")
    assert events[-1] == MarkedCommand(line)


def test_an_old_prompt_is_not_what_was_typed() -> None:
    events = read(mark("B") + "old" + mark("C;0;old") + "output" + mark("C;0;new"))
    assert events[-1] == MarkedCommand("new")


CONTROLS = ["\x1b", "]", "\\", "\x07", "\x9d", "\x9c", "\x18", "\x1b]", "\x1b\\", "[31m", ";", "\r\n"]
NUMBERS = ["633;", "133;", "0;", "2;", "63", "52;", f"{NONCE};"]
WORDS = ["A", "B", "C;1;ls", "C;0;ls", "D;0", "D;", "P;Cwd=/", "x", "é", "🦊", "ls", "y" * 5000, "z" * 70_000]
WHOLE = [mark("A"), mark("B"), mark("C;0;make"), mark("D;1", "\x1b\\")]
PIECES = st.sampled_from(CONTROLS + NUMBERS + WORDS + WHOLE)


@given(st.lists(PIECES, max_size=14).map("".join), st.data())
def test_any_split_of_any_stream_tells_the_same(stream: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    pieces = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert read(*pieces) == read(stream)
    if len(stream) < 200:
        assert read(*stream) == read(stream)


@given(st.lists(PIECES, max_size=14).map("".join), st.integers(0, 5))
def test_to_stop_after_any_step_changes_nothing(stream: str, steps: int) -> None:
    told = read(stream)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(marks, "STEPS", steps + 1)
        assert read(stream) == told
        assert read(stream[: len(stream) // 2], stream[len(stream) // 2 :]) == told


@given(st.text(st.characters(exclude_characters="\x1b\x9d")))
def test_text_without_escapes_is_only_text(text: str) -> None:
    assert shown(text) == text
