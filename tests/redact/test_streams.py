"""Text that comes in pieces: it gives what the whole text gives, and nothing of a secret gets out before."""

from __future__ import annotations

import base64
import json
import string
from collections.abc import Iterable
from itertools import pairwise
from urllib.parse import quote

import pytest
from hypothesis import given, strategies as st

from redact.test_shapes import PEM, PROVIDER_KEYS, rnd
from serai.redact import Redactor
from serai.redact.shapes import LIMIT

# Few letters, so that values overlap each other and the text by chance. No brackets: masks are made of them.
LETTERS = "abAB1-_. "
values = st.text(LETTERS, min_size=8, max_size=24).filter(lambda value: len(value.strip()) >= 8)
known = st.dictionaries(st.sampled_from(["ONE", "TWO", "THREE"]), values, min_size=1)
gaps = st.text(LETTERS + "xyz\n", max_size=20)
cuts = st.lists(st.integers(0, 4000), max_size=60)

SIGNS = 'sk- ghp_ g AK eyJ ----- -- token password secret api_key = " \\ ] > :// @ user: \\n . x a1 %3D'
FRAGMENTS = [
    *PROVIDER_KEYS,
    *(key[: len(key) // 2] for key in PROVIDER_KEYS),
    *(PEM, PEM[:200], "-----BEGIN ", "PRIVATE KEY-----", "-----END X-----", "--token "),
    *(": ", "Bearer ", "basic ", " ", "\n", "words of prose ", "\x1b[1m", rnd(20), rnd(40), "é🙂"),
    *SIGNS.split(),
    *("[secret:ONE]", "[masked:api-key]"),
]
shapely = st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join)


def split(text: str, at: Iterable[int]) -> list[str]:
    places = sorted({0, len(text), *(place % (len(text) + 1) for place in at)})
    return [text[a:b] for a, b in pairwise(places)]


@given(data=st.data(), secrets=known, at=cuts)
def test_known_values_never_get_out_and_all_else_does(
    data: st.DataObject, secrets: dict[str, str], at: list[int]
) -> None:
    embedded = st.lists(st.one_of(gaps, st.sampled_from(sorted(secrets.values()))), max_size=8)
    text = "".join(data.draw(embedded))
    redactor = Redactor(secrets)
    stream = redactor.stream(observed=False)
    out = ""
    read = ""
    for piece in split(text, at):
        out += stream.feed(piece)
        read += piece
        assert stream.held < max(map(len, secrets.values()))
        # All that is out is what the whole text becomes, so no beginning of a value is among it.
        assert redactor.redact(text, observed=False).startswith(out)
        if not redactor.redact(read, observed=False).count("[secret"):
            assert out + read[len(read) - stream.held :] == read
    out += stream.flush()
    assert out == redactor.redact(text, observed=False)
    assert not any(value in out for value in secrets.values())
    assert redactor.redact(out, observed=False) == out
    for label in secrets:
        out = out.replace(f"[secret:{label}]", "")
    assert len(out) <= len(text)


@given(text=shapely, at=cuts, secrets=known)
def test_pieces_give_what_the_whole_gives(text: str, at: list[int], secrets: dict[str, str]) -> None:
    redactor = Redactor(secrets)
    stream = redactor.stream()
    whole = redactor.redact(text)
    out = ""
    for piece in split(text, at):
        out += stream.feed(piece)
        assert whole.startswith(out)
        assert stream.held <= LIMIT + 1024
    assert out + stream.flush() == whole


@given(text=shapely, secrets=known)
def test_redacting_again_changes_nothing(text: str, secrets: dict[str, str]) -> None:
    redactor = Redactor(secrets)
    once = redactor.redact(text)
    assert redactor.redact(once) == once


# -- known values ------------------------------------------------------------------------------------------

VALUE = 'pa"ss wörd/+?&=<x>' + rnd(9)


@pytest.mark.parametrize(
    "text",
    [
        VALUE,
        json.dumps({"a": VALUE}),
        json.dumps({"a": VALUE}, ensure_ascii=False),
        "https://host/?q=" + quote(VALUE, safe=""),
        *(base64.b64encode(b"user:"[:n] + VALUE.encode() + b" and more").decode() for n in range(6)),
        *(base64.urlsafe_b64encode(b"user:"[:n] + VALUE.encode()).decode() for n in range(6)),
    ],
)
def test_a_known_value_is_found_in_its_encodings(text: str) -> None:
    redactor = Redactor({"PASSWORD": VALUE})
    masked = redactor.redact(text, observed=False)
    assert "[secret:PASSWORD]" in masked
    stream = redactor.stream(observed=False)
    assert "".join([*map(stream.feed, text), stream.flush()]) == masked
    # At most the outermost characters of base64, which belong to a neighbour too, are left.
    assert len(masked.replace("[secret:PASSWORD]", "")) <= len(text) - len(VALUE)


def test_a_value_on_several_lines_is_found_as_a_terminal_writes_it() -> None:
    redactor = Redactor({"KEY": "first line\nsecond line"})
    assert redactor.redact("first line\r\nsecond line") == "[secret:KEY]"


def test_a_very_long_value_is_masked_with_a_bounded_tail() -> None:
    value = rnd(3_000)
    redactor = Redactor({"LONG": value})
    stream = redactor.stream()
    out, most = "", 0
    for char in f"a {value} z":
        out += stream.feed(char)
        most = max(most, stream.held)
    out += stream.flush()
    assert out.replace("[secret:LONG]", "") == "a  z"
    assert most <= 1024


def test_a_text_that_breaks_off_within_a_value_does_not_show_most_of_it() -> None:
    redactor = Redactor({"KEY": "abcdefghijklmnopqrst"})
    assert redactor.redact("it is abcdefghijkl", observed=False) == "it is [secret:KEY]"
    assert redactor.redact("it is abcdefghi", observed=False) == "it is abcdefghi"
    stream = redactor.stream()
    assert stream.feed("it is abcdefghijkl") == "it is "
    assert stream.flush() == "[secret:KEY]"


def test_short_and_empty_values_are_not_managed() -> None:
    redactor = Redactor()
    assert not redactor.register("SHORT", "1234567")
    assert not redactor.register("BLANK", " " * 20)
    assert redactor.register("FIT", "12345678")
    assert redactor.redact("1234567 12345678", observed=False) == "1234567 [secret:FIT]"


def test_a_new_value_applies_to_streams_that_are_under_way() -> None:
    redactor = Redactor()
    stream = redactor.stream()
    assert stream.feed("hunter22 and ") == "hunter22 and "
    redactor.register("NEW", "hunter22")
    assert stream.feed("hunter22 again") == "[secret:NEW] again"


def test_a_label_never_shows_a_value() -> None:
    redactor = Redactor({"my_hunter22 [x]": "hunter22"})
    once = redactor.redact("it is hunter22")
    assert once == "it is [secret]"
    assert redactor.redact(once) == once
    assert Redactor({"a b]c": "hunter22"}).redact("hunter22") == "[secret:a_b_c]"


def test_prose_is_hardly_held_back() -> None:
    words = "The session keeps its state; a token or a key is shown as a mask, and people go on talking. "
    stream = Redactor({f"K{n}": rnd(40, string.ascii_letters + string.digits, n) for n in range(50)}).stream()
    held: list[int] = []
    for char in words * 20:
        stream.feed(char)
        held.append(stream.held)
    assert sum(held) / len(held) < 1.5
    assert max(held) <= 7
