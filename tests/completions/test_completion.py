"""What is being written at a place in a text."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from serai.ahp.types import SimpleMessageAttachment
from serai.completions.completion import (
    Candidate,
    Token,
    index_of,
    items,
    token_at,
    units,
)
from serai.errors import InvalidParams

TEXTS = st.text(st.sampled_from('a@/" \n😀é漢(.'), max_size=12)


def split(marked: str) -> tuple[str, int]:
    """A text whose cursor is marked with `|`."""
    before, _, after = marked.partition("|")
    return before + after, units(before)


@pytest.mark.parametrize(
    ("marked", "token"),
    [
        ("@|", Token("@", "", 0, 1)),
        ("look at @src/ma|", Token("@", "src/ma", 8, 15)),
        ('see @"my fi|', Token("@", "my fi", 4, 11)),
        ("(@a|", Token("@", "a", 1, 3)),
        ("请看@a|", Token("@", "a", 2, 4)),
        ("😀@a|", Token("@", "a", 2, 4)),
        ("one\n@a|", Token("@", "a", 4, 6)),
        ("😀 @é|", Token("@", "é", 3, 5)),
        ("/|", Token("/", "", 0, 1)),
        ("/rev|iew", Token("/", "rev", 0, 4)),
        ("one\n/rev|", Token("/", "rev", 4, 8)),
        ("@/etc|", Token("@", "/etc", 0, 5)),
        ("see @icon@2x.p|", Token("@", "icon@2x.p", 4, 14)),
        ("@node_modules/@ty|", Token("@", "node_modules/@ty", 0, 17)),
        ("@漢字@b|", Token("@", "b", 3, 5)),
        (r'@"a \"q\|', Token("@", 'a "q\\', 0, 8)),
        (r'@"back\sl|', Token("@", r"back\sl", 0, 9)),
    ],
)
def test_what_is_begun_is_found_with_its_place(marked: str, token: Token) -> None:
    assert token_at(*split(marked)) == token


@pytest.mark.parametrize(
    "marked",
    [
        "|",
        "word|",
        "me@host|",
        "node_modules/@types|",
        r"\@a|",
        '@"a b" c|',
        "a /review|",
        "/review now|",
        "@a\n|",
    ],
)
def test_what_is_not_begun_is_not_found(marked: str) -> None:
    assert token_at(*split(marked)) is None


# -- offsets -------------------------------------------------------------------------------------------------


def boundaries(text: str) -> dict[int, int]:
    """Which offset in units means which place."""
    places = {0: 0}
    offset = 0
    for place, letter in enumerate(text):
        offset += 2 if ord(letter) > 0xFFFF else 1
        places[offset] = place + 1
    return places


@given(TEXTS, st.integers(-3, 30))
def test_an_offset_means_a_place_between_two_characters_or_is_refused(text: str, offset: int) -> None:
    expected = boundaries(text).get(offset)
    if expected is None:
        for ask in (index_of, token_at):
            with pytest.raises(InvalidParams) as caught:
                ask(text, offset)
            assert caught.value.field == "params.offset"
            assert caught.value.number == -32602
    else:
        assert index_of(text, offset) == expected


@pytest.mark.parametrize("piece", ["@", "(@", '"@', '@"', "@a(", "/", "a@", "@a", "-@a/", '@"\\\\'])
def test_a_long_line_is_read_once(piece: str) -> None:
    text = piece * 100_000  # going back over it would take minutes
    token_at(text, len(text))


# -- offers --------------------------------------------------------------------------------------------------


def candidate(name: str) -> Candidate:
    return Candidate(name, SimpleMessageAttachment(label=name))


def test_an_offer_replaces_the_token_and_carries_what_is_attached() -> None:
    (item,) = items(Token("@", "ma", 8, 11), [candidate("src/main.py")])
    assert (item.insert_text, item.range_start, item.range_end) == ("@src/main.py", 8, 11)
    assert item.attachment == SimpleMessageAttachment(label="src/main.py")


@given(st.text(st.sampled_from('a"\\\\ @é'), min_size=1, max_size=8))
def test_a_name_that_is_put_in_quotes_can_be_found_again_whatever_it_has(name: str) -> None:
    (item,) = items(Token("@", "", 0, 1), [candidate(name)])
    if item.insert_text.startswith('@"'):
        again = token_at(item.insert_text, len(item.insert_text) - 1)
        assert again is not None
        assert again.query == name
    else:
        assert '"' not in name
        assert " " not in name


def test_offers_are_bounded() -> None:
    assert len(items(Token("@", "", 0, 1), [candidate(str(number)) for number in range(90)])) == 50
