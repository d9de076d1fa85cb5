from __future__ import annotations

from serai.acp.process.log import StderrTail


def shown(*data: bytes) -> str:
    tail = StderrTail(lambda text: text.replace("hunter2", "***"))
    for each in data:
        tail.feed(each)
    tail.close()
    return str(tail)


def test_lines_may_come_in_pieces_and_without_an_end() -> None:
    assert shown(b"one\ntw", b"o\nth", b"ree") == "one\ntwo\nthree"


def test_secrets_colours_and_what_is_no_text_are_taken_out() -> None:
    assert shown(b"\x1b[31mred\x1b[0m hunter2 \x1b]0;title\x07\x00\xff\r\n\n") == "red *** \ufffd"


def test_a_line_without_an_end_is_kept_only_in_part_and_cut_between_words() -> None:
    tail = shown(b"the secret is " + b"x" * 3_000_000, b"yyy\nnext\n")
    assert tail == "the secret is [...]\nnext"
