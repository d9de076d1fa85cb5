"""How deeply JSON may be nested, and how many values it may have."""

from __future__ import annotations

import time

import pytest

from serai.contract.record import MAX_DEPTH, checked
from serai.errors import ParseError


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]")])
def test_the_bound_is_exact(opening: bytes, closing: bytes) -> None:
    levels = 2 if len(closing) == 2 else 1
    fits = MAX_DEPTH // levels
    assert checked(opening * fits + b"1" + closing * fits)
    with pytest.raises(ParseError):
        checked(opening * (fits + 1) + b"1" + closing * (fits + 1))


def test_brackets_in_strings_do_not_count() -> None:
    text = b'["' + b"[{" * 1000 + b'\\"' + b"[" * 1000 + b'"]'
    assert checked(text) == text


def test_many_brackets_side_by_side_are_not_deep() -> None:
    assert checked(b"[" + b"[]," * 10_000 + b"[]]")


def test_a_reader_may_allow_less() -> None:
    text = b"[" * 101 + b"]" * 101
    assert checked(text)
    with pytest.raises(ParseError, match="100"):
        checked(text, 100)


@pytest.mark.parametrize("value", ["1", "[]", "{}", '""', '{"a":1}'])
def test_the_number_of_values_is_bounded(value: str) -> None:
    few, many = (f"[{','.join([value] * count)}]" for count in (20, 101))
    assert checked(few, max_values=100)
    assert checked(many)
    with pytest.raises(ParseError, match="more than 100 values"):
        checked(many, max_values=100)


def test_what_stands_in_strings_is_one_value() -> None:
    text = b'["' + b"{[,]}" * 1000 + b'"]'
    assert checked(text, max_values=100) == text


@pytest.mark.parametrize(("value", "fits"), [('""', 99), ('{"":""}', 49), ('{"":",,,,,,,,"}', 49)])
def test_strings_count_as_the_values_that_they_are(value: str, fits: int) -> None:
    few, many = (f"[{','.join([value] * count)}]" for count in (fits, 101))
    assert checked(few, max_values=100)
    with pytest.raises(ParseError, match="more than 100 values"):
        checked(many, max_values=100)


@pytest.mark.parametrize("value", [b'""', b'{"":0}', b'",,"'])
def test_too_many_strings_are_refused_without_a_look_at_all_of_them(value: bytes) -> None:
    frame = b"[" + b",".join([value] * 2_000_000) + b"]"
    began = time.perf_counter()
    with pytest.raises(ParseError, match="more than 1,000 values"):
        checked(frame, max_values=1000)
    assert time.perf_counter() - began < 0.3


def test_text_that_is_not_unicode_is_refused() -> None:
    with pytest.raises(ParseError):
        checked('"\ud800"')
